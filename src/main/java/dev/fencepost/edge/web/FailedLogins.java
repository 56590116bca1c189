package dev.fencepost.edge.web;

import dev.fencepost.host.Time;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Counts failed logins by address: after {@value #MOST} within a minute its further failures only wait until the minute is over. Of IPv6
 * the first 64 bits are the address, since one machine has all the rest.
 *
 * <p>The table is bounded; the address that has been there the longest goes first. Safe for use by many threads.
 */
public final class FailedLogins {

    public static final int MOST = 10;
    static final long WINDOW_MILLIS = 60_000;

    private static final int MOST_ADDRESSES = 10_000;

    private final Time time;
    private final Map<String, Address> addresses = new LinkedHashMap<>();

    public FailedLogins(Time time) {
        this.time = time;
    }

    private static final class Address {
        private long since;
        private int failures;
    }

    /** How long this address still has to wait, in milliseconds; 0 if it need not. */
    public synchronized long waitMillis(String address) {
        Address known = addresses.get(network(address));
        if (known == null || known.failures < MOST) {
            return 0;
        }
        return Math.max(0, known.since + WINDOW_MILLIS - time.bootMillis());
    }

    /** @return whether this one made the address wait */
    public synchronized boolean failed(String address) {
        Address known = entry(address);
        long now = time.bootMillis();
        if (known.failures == 0 || now - known.since >= WINDOW_MILLIS) {
            known.since = now;
            known.failures = 0;
        }
        known.failures = Math.min(MOST + 1, known.failures + 1);
        return known.failures == MOST;
    }

    private Address entry(String address) {
        Address known = addresses.computeIfAbsent(network(address), unknown -> new Address());
        if (addresses.size() > MOST_ADDRESSES) {
            Iterator<Address> eldest = addresses.values().iterator();
            eldest.next();
            eldest.remove();
        }
        return known;
    }

    /** The first four groups of an IPv6 address, which comes in its full form (eight groups); any other text as it is. */
    private static String network(String address) {
        String[] groups = address.split(":", -1);
        return groups.length == 8 ? String.join(":", groups[0], groups[1], groups[2], groups[3]) : address;
    }
}
