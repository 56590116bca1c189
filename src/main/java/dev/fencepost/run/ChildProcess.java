package dev.fencepost.run;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * A started child in a session of its own, with everything it has started itself: a port.
 *
 * <p>Safe for use by many threads: one waits, others may stop it at any time.
 */
public interface ChildProcess {

    /** Process id of the main process. */
    long pid();

    /**
     * Waits for the end of the <em>main process</em>, whoever still holds its pipes (semantics 6.1).
     *
     * @return how it ended, or null when it still runs after the limit (boot clock)
     */
    @Nullable
    Exit await(Duration limit) throws InterruptedException;

    /** When it last wrote something that was read, or else was started; of the boot clock. A call writes nothing before its answer. */
    long lastOutputBootMillis();

    /**
     * SIGTERM to the whole tree, and SIGKILL to what is left of it after the grace. Returns at once; the killing goes on by itself, on
     * a platform thread, whatever becomes of the caller. A second call may only make the grace shorter.
     */
    void stop(Duration grace);

    /**
     * To be called once the main process has ended: kills what is left of the tree, reads what is still in the pipes for a short time,
     * and closes the log. Calling it again gives the same answer.
     */
    Output finish() throws InterruptedException;

    /**
     * How the main process ended.
     *
     * @param code exit code, or 128 + signal when a signal ended it
     * @param signal the signal's number if it was surely a signal, else null. Java cannot tell a death by signal from an exit with the
     *     code 128 + n; where the guard's init can, it does
     * @param reason in words, where there is more to say than code and signal
     */
    record Exit(
            int code, @Nullable Integer signal, @Nullable String reason) {

        public Exit(int code, @Nullable Integer signal) {
            this(code, signal, null);
        }
    }

    /**
     * What was captured.
     *
     * @param tail the last lines, at most 64 KiB of UTF-8, NUL and broken bytes already replaced, secrets masked
     * @param totalBytes what the child wrote in all, kept or not
     * @param truncated whether the log lacks a middle part
     * @param leftovers processes of the tree that outlived the main process and were killed
     */
    record Output(String tail, long totalBytes, boolean truncated, int leftovers) {}
}
