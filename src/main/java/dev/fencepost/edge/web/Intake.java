package dev.fencepost.edge.web;

import dev.fencepost.host.Time;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;

/**
 * Reads the body of a request for as long as it keeps to its limits. How long one read may wait is the server's read timeout.
 *
 * @param most bytes
 * @param longest for all of it, whatever its size
 * @param patience until the rate counts
 * @param leastPerSecond bytes a second, on average since the begin; who is slower only keeps a connection busy
 */
record Intake(long most, Duration longest, Duration patience, long leastPerSecond) {

    static final int SMALL = 32 << 10;

    private static final int CHUNK = 16 << 10;

    /** Where the bytes go. */
    @FunctionalInterface
    interface Target {
        void write(byte[] buffer, int length) throws IOException;
    }

    /**
     * @return how many bytes there were
     * @throws Problem 413 if there are more than may be, 408 if they come too slowly, 400 if the connection breaks off
     * @throws IOException of the target alone
     */
    long pass(InputStream body, Time time, Target target) throws IOException {
        byte[] buffer = new byte[CHUNK];
        long begin = time.bootMillis();
        long total = 0;
        while (true) {
            int length = read(body, buffer);
            long took = time.bootMillis() - begin;
            if (length < 0) {
                return total;
            }
            total += length;
            if (total > most) {
                throw tooLarge();
            }
            if (took > longest.toMillis()) {
                throw Problem.tooSlow("the body took longer than " + longest.toSeconds() + " s");
            }
            if (took > patience.toMillis() && total * 1_000 / took < leastPerSecond) {
                throw Problem.tooSlow("the body came with less than " + leastPerSecond + " bytes a second");
            }
            target.write(buffer, length);
        }
    }

    /**
     * Reads a body into memory, and makes something of it.
     *
     * @param room permits for bodies that are not small; one that finds none waits, and so does its sender. So many slow senders of large
     *     bodies cannot use up the memory
     */
    <T> T whole(InputStream body, Time time, Semaphore room, Function<byte[], T> use) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        AtomicBoolean isLarge = new AtomicBoolean();
        try {
            pass(body, time, (buffer, length) -> {
                if (bytes.size() + length > SMALL && !isLarge.get()) {
                    room.acquireUninterruptibly();
                    isLarge.set(true);
                }
                bytes.write(buffer, 0, length);
            });
            return use.apply(bytes.toByteArray());
        } catch (IOException e) {
            throw new IllegalStateException("memory has no errors of this kind", e);
        } finally {
            if (isLarge.get()) {
                room.release();
            }
        }
    }

    Problem tooLarge() {
        return Problem.tooLarge("the body has more than " + most + " bytes, which is the limit here");
    }

    private static int read(InputStream body, byte[] buffer) {
        try {
            return body.read(buffer);
        } catch (IOException e) {
            throw Problem.tooSlow("the body stood still or broke off before its end");
        }
    }
}
