package dev.fencepost.run;

import dev.fencepost.host.Time;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * How many runs may be under way on this node at the same time. Fair: who asked first is next. Who gets no place holds nothing meanwhile,
 * neither a lease nor a thread, and is told when one is free. Safe for use by many threads.
 *
 * <p>A free place is offered to who waits longest, for {@value #OFFER_MILLIS} ms of the boot clock: one that has nothing to run any more,
 * or whose store does not answer, must not keep the others waiting.
 */
public final class Places {

    /** Somebody who waits for a place. */
    public interface Guest {

        /** A place is free: ask for it again. Called by any thread; returns at once. */
        void placeIsFree();
    }

    private static final int OFFER_MILLIS = 3_000;
    private static final long NOT_OFFERED = Long.MAX_VALUE;

    private int max;
    private final Time time;
    private final Map<Guest, Long> offeredUntil = new LinkedHashMap<>();
    private int taken;

    /** @param max 0 for any number */
    public Places(int max, Time time) {
        if (max < 0) {
            throw new IllegalArgumentException("max-parallel must not be negative, but it is " + max);
        }
        this.max = max;
        this.time = time;
    }

    /** Another number from now on; runs beyond it end by themselves. @param places 0 for any number */
    public void resize(int places) {
        List<Guest> told;
        synchronized (this) {
            max = places;
            told = offer();
        }
        tell(told);
    }

    /** Whether the guest has a place now, which it has to {@link #giveBack}; else it is told when to ask again. */
    boolean take(Guest guest) {
        List<Guest> told;
        boolean has;
        synchronized (this) {
            offeredUntil
                    .entrySet()
                    .removeIf(entry -> !entry.getKey().equals(guest)
                            && entry.getValue() != NOT_OFFERED
                            && entry.getValue() < time.bootMillis());
            has = max == 0 || ahead(guest) < max - taken;
            if (has) {
                offeredUntil.remove(guest);
                taken++;
            } else {
                offeredUntil.putIfAbsent(guest, NOT_OFFERED);
            }
            told = offer();
        }
        tell(told);
        return has;
    }

    void giveBack() {
        List<Guest> told;
        synchronized (this) {
            taken--;
            told = offer();
        }
        tell(told);
    }

    /** The guest wants no place any more. */
    void leave(Guest guest) {
        List<Guest> told;
        synchronized (this) {
            if (offeredUntil.remove(guest) == null) {
                return;
            }
            told = offer();
        }
        tell(told);
    }

    private int ahead(Guest guest) {
        int ahead = 0;
        Iterator<Guest> waiting = offeredUntil.keySet().iterator();
        while (waiting.hasNext() && !waiting.next().equals(guest)) {
            ahead++;
        }
        return ahead;
    }

    /** Those who are now to be told of a free place. */
    private List<Guest> offer() {
        List<Guest> told = new ArrayList<>();
        int free = max == 0 ? Integer.MAX_VALUE : max - taken;
        for (Map.Entry<Guest, Long> entry : offeredUntil.entrySet()) {
            if (free-- <= 0) {
                break;
            }
            if (entry.getValue() == NOT_OFFERED) {
                entry.setValue(time.bootMillis() + OFFER_MILLIS);
                told.add(entry.getKey());
            }
        }
        return told;
    }

    private static void tell(List<Guest> told) {
        told.forEach(Guest::placeIsFree);
    }
}
