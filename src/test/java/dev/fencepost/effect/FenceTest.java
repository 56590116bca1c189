package dev.fencepost.effect;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.lease.FencingToken;
import dev.fencepost.lease.RunId;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class FenceTest {

    private static final RunId RUN = new RunId(new UUID(1, 1));
    private static final RunId TWIN = new RunId(new UUID(2, 2));

    private static FencingToken token(long value) {
        return new FencingToken(value);
    }

    @Test
    void aHigherTokenPassesAndALowerOneDoesNot() {
        Fence five = new Fence(5, RUN);
        assertTrue(five.lets(token(6), TWIN));
        assertFalse(five.lets(token(4), RUN));
        assertTrue(Fence.NONE.lets(token(1), RUN));
    }

    @Test
    void theSameTokenPassesForItsOwnRunAlone() {
        Fence five = new Fence(5, RUN);
        assertTrue(five.lets(token(5), RUN));
        assertFalse(five.lets(token(5), TWIN));
        assertFalse(new Fence(5, null).lets(token(5), RUN));
    }

    @Test
    void aFenceNeverFalls() {
        Fence five = new Fence(5, RUN);
        assertEquals(five, five.advancedBy(token(4), TWIN));
        assertEquals(five, five.advancedBy(token(5), TWIN));
        assertEquals(new Fence(6, TWIN), five.advancedBy(token(6), TWIN));
    }
}
