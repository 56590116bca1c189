package dev.fencepost.edge.sink;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadFeature;
import dev.fencepost.effect.Announcement;
import dev.fencepost.host.Printable;
import dev.fencepost.run.Completion;
import dev.fencepost.run.Publications.Unpublishable;
import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Reads {@code $FENCEPOST_EFFECTS}: JSON objects, one a line; blank lines count for nothing. It is strict, since a mistake that is passed
 * over is an effect that never takes place. Reading costs no more memory than its limits, whatever the file is.
 */
final class EffectLines {

    static final int MAX_LINE_BYTES = 1 << 20;
    static final int MAX_FILE_BYTES = 32 << 20;

    private static final Set<String> FIELDS =
            Set.of("name", "sink", "key", "body", "body_file", "path", "content_type");
    private static final String FORM =
            "{\"name\": \"…\", \"sink\": \"…\", \"body\": \"…\"} with, where wanted, key, body_file, path, content_type";
    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._-]{0,62}");
    private static final Pattern CONTROL = Pattern.compile("\\p{Cntrl}");
    private static final JsonFactory JSON = JsonFactory.builder()
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .build();

    private EffectLines() {}

    /** One line that is well-formed in itself. @param number of the line, from 1 */
    record Line(
            int number,
            String name,
            String sink,
            @Nullable String key,
            @Nullable String body,
            @Nullable String bodyFile,
            @Nullable String path,
            @Nullable String contentType) {

        Unpublishable wrong(String what) {
            return EffectLines.wrong(number, what);
        }
    }

    static Unpublishable wrong(int number, String what) {
        return new Unpublishable("line " + number + " of $FENCEPOST_EFFECTS: " + what, null);
    }

    /** Whether nothing was announced, as far as one can see without reading. */
    static boolean isEmpty(Path file) {
        try {
            return !Files.exists(file, LinkOption.NOFOLLOW_LINKS) || Files.size(file) == 0;
        } catch (IOException inDoubt) {
            return false;
        }
    }

    /** All lines, or an error that names the first wrong one. */
    static List<Line> read(Path file) throws Unpublishable {
        List<Line> lines = new ArrayList<>();
        for (Map.Entry<Integer, byte[]> raw : raw(file, true).entrySet()) {
            lines.add(parsed(raw.getKey(), raw.getValue()));
            if (lines.size() > Completion.MAX_EFFECTS) {
                throw wrong(
                        raw.getKey(), "more than " + Completion.MAX_EFFECTS + " effects of one run; announce fewer");
            }
        }
        return lines;
    }

    /** The lines that are well-formed. */
    static List<Line> readable(Path file) {
        List<Line> lines = new ArrayList<>();
        try {
            for (Map.Entry<Integer, byte[]> raw : raw(file, false).entrySet()) {
                try {
                    lines.add(parsed(raw.getKey(), raw.getValue()));
                } catch (Unpublishable wrong) {
                    continue;
                }
                if (lines.size() >= Completion.MAX_EFFECTS) {
                    break;
                }
            }
        } catch (Unpublishable unreadable) {
            // what was read counts
        }
        return lines;
    }

    /** By their numbers, without the blank ones. @param strict whether what is too long is an error, or only its end */
    private static Map<Integer, byte[]> raw(Path file, boolean strict) throws Unpublishable {
        Map<Integer, byte[]> lines = new LinkedHashMap<>();
        if (!Files.exists(file, LinkOption.NOFOLLOW_LINKS)) {
            return lines;
        }
        if (!Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)) {
            throw new Unpublishable("$FENCEPOST_EFFECTS is not a plain file any more; append lines to it", null);
        }
        try (InputStream in = new BufferedInputStream(Files.newInputStream(file, LinkOption.NOFOLLOW_LINKS))) {
            int number = 1;
            int total = 0;
            ByteArrayOutputStream line = new ByteArrayOutputStream();
            for (int b = in.read(); ; b = in.read()) {
                if (b == '\n' || b < 0) {
                    byte[] bytes = line.toByteArray();
                    if (!isBlank(bytes)) {
                        lines.put(number, bytes);
                    }
                    line.reset();
                    number++;
                    if (b < 0) {
                        return lines;
                    }
                } else {
                    line.write(b);
                }
                if (line.size() > MAX_LINE_BYTES || ++total > MAX_FILE_BYTES) {
                    if (!strict) {
                        return lines;
                    }
                    throw wrong(
                            number,
                            line.size() > MAX_LINE_BYTES
                                    ? "longer than " + MAX_LINE_BYTES
                                            + " bytes; write the content to a file and name it as body_file"
                                    : "the file is longer than " + MAX_FILE_BYTES
                                            + " bytes; write contents to files and name them as body_file");
                }
            }
        } catch (IOException e) {
            throw new Unpublishable("$FENCEPOST_EFFECTS cannot be read: " + e.getMessage(), e);
        }
    }

    private static boolean isBlank(byte[] line) {
        for (byte b : line) {
            if (b != ' ' && b != '\t' && b != '\r') {
                return false;
            }
        }
        return true;
    }

    private static Line parsed(int number, byte[] bytes) throws Unpublishable {
        String text;
        try {
            text = StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(bytes))
                    .toString();
        } catch (CharacterCodingException e) {
            throw wrong(number, "not UTF-8; write it as UTF-8");
        }
        Map<String, String> fields = new HashMap<>();
        try (JsonParser json = JSON.createParser(text)) {
            if (json.nextToken() != JsonToken.START_OBJECT) {
                throw wrong(number, "not a JSON object; write " + FORM);
            }
            while (json.nextToken() == JsonToken.FIELD_NAME) {
                String field = json.currentName();
                if (!FIELDS.contains(field)) {
                    throw wrong(number, "unknown field " + shortened(field) + "; write " + FORM);
                }
                if (json.nextToken() != JsonToken.VALUE_STRING) {
                    throw wrong(number, field + " is not a text; write it in quotation marks, or leave it out");
                }
                fields.put(field, json.getText());
            }
            if (json.nextToken() != null) {
                throw wrong(number, "something follows after the object; write one object a line");
            }
        } catch (JsonProcessingException e) {
            throw wrong(
                    number,
                    "no JSON, at character "
                            + (e.getLocation() == null ? 1 : e.getLocation().getColumnNr()) + ": "
                            + shortened(e.getOriginalMessage()) + "; write " + FORM + ", all on one line");
        } catch (IOException e) {
            throw new IllegalStateException("a text in memory can be read", e);
        }
        return checked(number, fields);
    }

    private static Line checked(int number, Map<String, String> fields) throws Unpublishable {
        for (Map.Entry<String, String> field : fields.entrySet()) {
            if (!StandardCharsets.UTF_8.newEncoder().canEncode(field.getValue())) {
                throw wrong(
                        number, field.getKey() + " has one half of a character (\\ud800 to \\udfff) without the other");
            }
        }
        String name = fields.get("name");
        String sink = fields.get("sink");
        if (name == null || sink == null) {
            throw wrong(number, (name == null ? "name" : "sink") + " is missing; write " + FORM);
        }
        if (!NAME.matcher(name).matches()) {
            throw wrong(
                    number,
                    "name " + shortened(name)
                            + " is not made of 1 to 63 letters, digits, dots, - and _, beginning with a letter or digit");
        }
        String key = fields.get("key");
        if (key != null
                && (key.isBlank()
                        || key.length() > Announcement.MAX_KEY_LENGTH
                        || CONTROL.matcher(key).find())) {
            throw wrong(
                    number,
                    "key is not of 1 to " + Announcement.MAX_KEY_LENGTH
                            + " characters without control characters; write a shorter one, or leave it out");
        }
        for (String field : List.of("path", "content_type", "body_file")) {
            String value = fields.get(field);
            if (value != null && (value.isBlank() || CONTROL.matcher(value).find() || value.length() > 1_000)) {
                throw wrong(number, field + " is empty, too long or has control characters; write a plain text");
            }
        }
        return new Line(
                number,
                name,
                sink,
                key,
                fields.get("body"),
                fields.get("body_file"),
                fields.get("path"),
                fields.get("content_type"));
    }

    private static String shortened(String text) {
        String plain = Printable.text(text);
        return plain.length() <= 120 ? plain : plain.substring(0, 120) + "…";
    }
}
