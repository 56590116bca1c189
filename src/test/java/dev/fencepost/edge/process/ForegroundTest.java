package dev.fencepost.edge.process;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.edge.host.SystemThreads;
import dev.fencepost.edge.process.OutputLog.Source;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class ForegroundTest {

    private static final byte[] BLOCK = new byte[64 * 1024];

    private final SystemThreads threads = new SystemThreads(event -> {});
    private final ByteArrayOutputStream err = new ByteArrayOutputStream();

    /** A reader that takes nothing until it is let go. */
    private static final class Stuck extends OutputStream {
        private final CountDownLatch go = new CountDownLatch(1);
        private final ByteArrayOutputStream taken = new ByteArrayOutputStream();

        @Override
        public void write(int b) throws IOException {
            write(new byte[] {(byte) b}, 0, 1);
        }

        @Override
        public void write(byte[] bytes, int from, int length) throws IOException {
            try {
                go.await();
            } catch (InterruptedException e) {
                throw new IOException(e);
            }
            taken.write(bytes, from, length);
        }
    }

    @Test
    void aSlowReaderMakesTheChildWaitButNotItsEnd() throws Exception {
        Stuck out = new Stuck();
        Foreground foreground = new Foreground(out, err, threads);
        CompletableFuture<Void> reading = CompletableFuture.runAsync(() -> {
            for (int i = 0; i < 20; i++) {
                foreground.take(Source.STDOUT, BLOCK, BLOCK.length);
            }
        });
        foreground.take(Source.STDERR, "apart".getBytes(), 5);
        assertTrue(Bench.eventually(() -> err.size() == 5), "the other stream goes its own way");
        assertFalse(reading.isDone(), "20 blocks are more than may wait");
        foreground.childEnded();
        reading.get(20, TimeUnit.SECONDS);
        assertEquals(0, out.taken.size());
        out.go.countDown();
        foreground.ended(Source.STDOUT);
        foreground.ended(Source.STDERR);
        foreground.awaitReaders();
        assertEquals(20 * BLOCK.length, out.taken.size(), "nothing is lost");
        assertTrue(foreground.errEndsWithinALine());
    }

    @Test
    void aReaderThatIsGoneHoldsNobodyUp() throws Exception {
        OutputStream gone = new OutputStream() {
            @Override
            public void write(int b) throws IOException {
                throw new IOException("Broken pipe");
            }
        };
        Foreground foreground = new Foreground(gone, err, threads);
        for (int i = 0; i < 100; i++) {
            foreground.take(Source.STDOUT, BLOCK, BLOCK.length);
        }
        foreground.awaitReaders();
        foreground.take(Source.STDERR, new byte[] {0, -1, 27, 10}, 4);
        foreground.awaitReaders();
        assertArrayEquals(new byte[] {0, -1, 27, 10}, err.toByteArray());
        assertFalse(foreground.errEndsWithinALine());
    }

    @Test
    void whoeverWaitsForAReaderThatNeverReadsCanGiveUp() throws Exception {
        Foreground foreground = new Foreground(new Stuck(), err, threads);
        foreground.take(Source.STDOUT, BLOCK, BLOCK.length);
        CompletableFuture<Void> waiting = CompletableFuture.runAsync(() -> {
            try {
                foreground.awaitReaders();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
        assertFalse(waiting.isDone());
        foreground.giveUp();
        waiting.get(20, TimeUnit.SECONDS);
    }
}
