package dev.fencepost.edge.web.page;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class AxisTest {

    private static final Instant AT = Instant.parse("2026-03-29T04:30:00Z");

    private static Instant after(long seconds) {
        return AT.plusSeconds(seconds);
    }

    @Test
    void aRunFromEdgeToEdgeIsStraight() {
        Axis axis = new Axis(List.of(AT), List.of(new Axis.Busy(AT, after(100))));
        assertEquals(2, axis.place(AT), 0.001);
        assertEquals(50, axis.place(after(50)), 0.001);
        assertEquals(98, axis.place(after(100)), 0.001);
        assertEquals(List.of(), axis.cuts());
    }

    @Test
    void aLongWaitBetweenTwoTriesIsCut() {
        Axis axis =
                new Axis(List.of(AT), List.of(new Axis.Busy(AT, after(60)), new Axis.Busy(after(3_660), after(3_720))));
        assertEquals(1, axis.cuts().size());
        assertEquals(Duration.ofHours(1), axis.cuts().getFirst().length());
        assertEquals(50, axis.cuts().getFirst().middle(), 0.001);
        assertTrue(axis.place(after(60)) > 44, () -> "the first try ends at " + axis.place(after(60)));
    }

    @Test
    void aLongRunIsNeverCut() {
        Axis axis = new Axis(List.of(AT), List.of(new Axis.Busy(after(1), after(86_400))));
        assertEquals(List.of(), axis.cuts());
    }

    @Test
    void whatLiesOutsideIsAtTheEdge() {
        Axis axis = new Axis(List.of(AT, after(10)), List.of());
        assertEquals(2, axis.place(after(-100)), 0.001);
        assertEquals(98, axis.place(after(100)), 0.001);
        assertEquals(2, new Axis(List.of(AT), List.of()).place(AT), 0.001);
    }

    @Test
    void placesNeverFallAndNeverLeaveThePicture() {
        Random random = new Random(7);
        for (int round = 0; round < 500; round++) {
            List<Instant> instants = new ArrayList<>();
            List<Axis.Busy> busy = new ArrayList<>();
            for (int i = 0; i <= random.nextInt(6); i++) {
                Instant from = AT.plusMillis((long) Math.pow(10, random.nextInt(10)) * random.nextInt(10));
                instants.add(from);
                busy.add(new Axis.Busy(from, from.plusMillis(random.nextInt(1_000_000))));
            }
            Axis axis = new Axis(instants, busy);
            double last = 0;
            long whole = Duration.between(axis.first(), axis.last()).toMillis();
            for (int i = 0; i <= 50; i++) {
                double place = axis.place(axis.first().plusMillis(whole * i / 50));
                assertTrue(place >= last && place >= 2 && place <= 98.0001, "place " + place + " after " + last);
                last = place;
            }
        }
    }
}
