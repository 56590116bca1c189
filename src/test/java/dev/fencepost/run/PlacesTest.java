package dev.fencepost.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.host.ManualTime;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class PlacesTest {

    private final ManualTime time = new ManualTime(Instant.EPOCH);
    private final List<String> told = new ArrayList<>();
    private final Places.Guest a = new Named("a");
    private final Places.Guest b = new Named("b");
    private final Places.Guest c = new Named("c");

    private final class Named implements Places.Guest {
        private final String name;

        Named(String name) {
            this.name = name;
        }

        @Override
        public void placeIsFree() {
            told.add(name);
        }
    }

    @Test
    void withoutALimitThereIsAlwaysAPlace() {
        Places places = new Places(0, time);
        assertTrue(places.take(a) && places.take(b) && places.take(c));
    }

    @Test
    void whoWaitsLongestIsNextWhoeverAsksMeanwhile() {
        Places places = new Places(1, time);
        assertTrue(places.take(a));
        assertFalse(places.take(b));
        assertFalse(places.take(c));
        assertFalse(places.take(b), "asking again moves nobody");
        places.giveBack();
        assertEquals(List.of("b"), told);
        assertFalse(places.take(a), "who had a place goes to the end");
        assertFalse(places.take(c));
        assertTrue(places.take(b));
        places.giveBack();
        assertTrue(places.take(c));
        places.giveBack();
        assertTrue(places.take(a));
        assertEquals(List.of("b", "c", "a"), told);
    }

    @Test
    void whoWantsNoPlaceAnyMoreLetsTheNextOneIn() {
        Places places = new Places(1, time);
        assertTrue(places.take(a));
        assertFalse(places.take(b));
        assertFalse(places.take(c));
        places.giveBack();
        places.leave(b);
        assertEquals(List.of("b", "c"), told);
        assertTrue(places.take(c));
    }

    @Test
    void whoDoesNotTakeAFreePlaceInTimeLosesItsTurn() {
        Places places = new Places(1, time);
        assertTrue(places.take(a));
        assertFalse(places.take(b));
        assertFalse(places.take(c));
        places.giveBack();
        time.pass(Duration.ofSeconds(4));
        assertTrue(places.take(c));
    }

    @Test
    void twoFreePlacesAreOfferedToTwo() {
        Places places = new Places(2, time);
        assertTrue(places.take(a));
        assertTrue(places.take(b));
        Places.Guest d = new Named("d");
        assertFalse(places.take(c));
        assertFalse(places.take(d));
        places.giveBack();
        places.giveBack();
        assertEquals(List.of("c", "d"), told);
        assertTrue(places.take(d));
        assertTrue(places.take(c));
    }

    @Test
    void aNegativeNumberIsNone() {
        assertThrows(IllegalArgumentException.class, () -> new Places(-1, time));
    }
}
