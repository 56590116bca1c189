package dev.fencepost.schedule;

import java.time.Duration;

/**
 * Places within a span of time, evenly spread over many names and always the same for one name: on every node, after every start. So what
 * would begin at the same instant begins one after the other, and nobody has to remember where.
 */
public final class Spread {

    private static final long FNV_OFFSET = 0xcbf29ce484222325L;
    private static final long FNV_PRIME = 0x100000001b3L;

    private Spread() {}

    /** From 0 up to, but not including, the span; whole milliseconds. */
    public static Duration place(String name, Duration span) {
        long millis = span.toMillis();
        return millis <= 0 ? Duration.ZERO : Duration.ofMillis(Long.remainderUnsigned(hash(name), millis));
    }

    /** FNV-1a with the last step of MurmurHash3, since names differ in their last letters only. */
    private static long hash(String name) {
        long hash = FNV_OFFSET;
        for (int i = 0; i < name.length(); i++) {
            hash = (hash ^ name.charAt(i)) * FNV_PRIME;
        }
        hash = (hash ^ (hash >>> 33)) * 0xff51afd7ed558ccdL;
        hash = (hash ^ (hash >>> 33)) * 0xc4ceb9fe1a85ec53L;
        return hash ^ (hash >>> 33);
    }
}
