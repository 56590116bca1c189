package dev.fencepost.edge.sink;

import static dev.fencepost.fuzz.Shape.isForPeople;
import static dev.fencepost.fuzz.Shape.require;
import static dev.fencepost.fuzz.Shape.same;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import dev.fencepost.run.Publications.Unpublishable;
import java.io.IOException;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Files that a run writes, or that lie beside what it writes. */
public final class FuzzedFiles {

    private FuzzedFiles() {}

    /** All lines are read, or the first wrong one is named; and what was read is read the same again. */
    public static void effectLines(byte[] input, Path folder) throws IOException {
        Path file = folder.resolve("effects.jsonl");
        Files.write(file, input);
        List<EffectLines.Line> readable = EffectLines.readable(file);
        List<EffectLines.Line> lines;
        try {
            lines = EffectLines.read(file);
        } catch (Unpublishable refused) {
            isForPeople("message", refused.getMessage());
            require(String.valueOf(refused.getMessage()).contains("$FENCEPOST_EFFECTS"), "no place: " + refused);
            return;
        }
        same("the readable lines", lines, readable);
        StringBuilder written = new StringBuilder();
        for (EffectLines.Line line : lines) {
            written.append("\n"
                    .repeat(line.number()
                            - 1
                            - (int) written.chars().filter(c -> c == '\n').count()));
            written.append(json(line)).append('\n');
        }
        Files.writeString(file, written, StandardCharsets.UTF_8);
        try {
            same("read again", lines, EffectLines.read(file));
        } catch (Unpublishable e) {
            throw new AssertionError("not read again: " + written, e);
        }
    }

    private static String json(EffectLines.Line line) throws IOException {
        StringWriter out = new StringWriter();
        try (JsonGenerator json = new JsonFactory().createGenerator(out)) {
            json.writeStartObject();
            field(json, "name", line.name());
            field(json, "sink", line.sink());
            field(json, "key", line.key());
            field(json, "body", line.body());
            field(json, "body_file", line.bodyFile());
            field(json, "path", line.path());
            field(json, "content_type", line.contentType());
            json.writeEndObject();
        }
        return out.toString();
    }

    private static void field(JsonGenerator json, String name, @Nullable String value) throws IOException {
        if (value != null) {
            json.writeStringField(name, value);
        }
    }

    /** It is a fence file, and is written the same again, or nothing may be placed. */
    public static void fenceFile(byte[] input, Path folder) {
        FileFence fence;
        try {
            fence = FileFence.parse(input);
        } catch (IOException refused) {
            isForPeople("message", refused.getMessage());
            return;
        }
        try {
            same("read again", fence, FileFence.parse(fence.bytes()));
        } catch (IOException e) {
            throw new AssertionError("not read again", e);
        }
    }
}
