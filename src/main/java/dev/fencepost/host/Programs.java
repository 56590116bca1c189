package dev.fencepost.host;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Runs small programs of this host to their end, such as git: a port. Safe for use by many threads. */
public interface Programs {

    /**
     * Runs one in a session of its own, without a terminal, with exactly this environment. After the limit its whole tree is killed.
     *
     * @param stdin what it reads; empty for nothing
     * @throws IOException if it could not be started; the message names the program and the cause
     */
    Ended run(
            List<String> command,
            Map<String, String> environment,
            @Nullable Path workingDir,
            byte[] stdin,
            Duration limit)
            throws IOException, InterruptedException;

    /**
     * @param code its exit code; meaningless where it was killed for the limit
     * @param out what it wrote to stdout, whole up to 32 MiB; a program that writes more is killed, and nothing of it is given
     * @param err the end of what it wrote to stderr, at most 8 KiB
     * @param timedOut whether the limit passed
     */
    record Ended(int code, byte[] out, String err, boolean timedOut) {

        public boolean isFine() {
            return code == 0 && !timedOut;
        }

        public String text() {
            return new String(out, StandardCharsets.UTF_8);
        }

        @Override
        public String toString() {
            return timedOut ? "timed out" : "exit code " + code;
        }
    }
}
