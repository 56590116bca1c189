package dev.fencepost.history;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The file that one process writes its history to. Lines of several threads do not mix. */
public final class HistoryFile implements AutoCloseable {

    static final String ENDING = ".jsonl";

    private static final ObjectMapper JSON = new ObjectMapper();

    private final FileChannel channel;
    private final String by;

    /** @param by who writes; also the name of the file */
    public HistoryFile(Path folder, String by) {
        this.by = by;
        try {
            channel = FileChannel.open(
                    folder.resolve(by + ENDING),
                    StandardOpenOption.CREATE,
                    StandardOpenOption.WRITE,
                    StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    /** @param namesAndValues in turn */
    public void write(String what, @Nullable Object... namesAndValues) {
        Map<String, @Nullable Object> more = new LinkedHashMap<>();
        for (int i = 0; i < namesAndValues.length; i += 2) {
            more.put(String.valueOf(namesAndValues[i]), namesAndValues[i + 1]);
        }
        write(what, more);
    }

    public void write(String what, Map<String, ? extends @Nullable Object> more) {
        Map<String, @Nullable Object> line = new LinkedHashMap<>();
        line.put("up", BootClock.millis());
        line.put("by", by);
        line.put("what", what);
        line.putAll(more);
        try {
            byte[] bytes = (JSON.writeValueAsString(line) + "\n").getBytes(StandardCharsets.UTF_8);
            synchronized (channel) {
                // One call: the kernel appends all of it or, to a full disk, a part; a kill cannot come in between.
                int written = channel.write(ByteBuffer.wrap(bytes));
                if (written != bytes.length) {
                    throw new IllegalStateException("only " + written + " of " + bytes.length + " bytes were written");
                }
            }
        } catch (JsonProcessingException e) {
            throw new IllegalArgumentException(e);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void close() {
        try {
            channel.close();
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }
}
