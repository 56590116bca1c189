package dev.fencepost.edge.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.fencepost.edge.host.SystemTime;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.concurrent.Semaphore;
import org.junit.jupiter.api.Test;

/** Memory for bodies is bounded, and comes back whatever happens. */
class IntakeTest {

    private final Semaphore room = new Semaphore(1);

    private int roomLeftWhileUsed(int size) {
        InputStream body = new ByteArrayInputStream(new byte[size]);
        return Requests.JSON.whole(body, new SystemTime(), room, bytes -> {
            assertEquals(size, bytes.length);
            return room.availablePermits();
        });
    }

    @Test
    void aLargeBodyTakesRoomUntilItIsUsedAndASmallOneNone() {
        assertEquals(1, roomLeftWhileUsed(Intake.SMALL));
        assertEquals(0, roomLeftWhileUsed(Intake.SMALL + 1));
        assertEquals(1, room.availablePermits());
    }

    @Test
    void theRoomComesBackAfterAFailure() {
        InputStream breaksOff = new InputStream() {
            private int left = Intake.SMALL * 2;

            @Override
            public int read() {
                throw new AssertionError("bodies are read in pieces");
            }

            @Override
            public int read(byte[] buffer, int from, int length) throws IOException {
                if (left == 0) {
                    assertEquals(0, room.availablePermits());
                    throw new IOException("broken off");
                }
                int now = Math.min(left, length);
                left -= now;
                return now;
            }
        };
        assertThrows(
                Problem.class, () -> Requests.JSON.whole(breaksOff, new SystemTime(), room, bytes -> bytes.length));
        assertThrows(Problem.class, () -> roomLeftWhileUsed((int) Requests.JSON.most() + 1));
        assertEquals(1, room.availablePermits());
    }
}
