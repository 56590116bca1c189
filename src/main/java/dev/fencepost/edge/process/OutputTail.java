package dev.fencepost.edge.process;

import java.nio.charset.StandardCharsets;

/** The end of a clean text, in memory of a fixed size. Not for use by several threads. */
final class OutputTail {

    static final int BYTES = 64 * 1024;

    /** Within this many bytes a broken first line is dropped; a longer one is rather shown without its beginning. */
    private static final int LONGEST_BROKEN_LINE = 8 * 1024;

    private final byte[] ring = new byte[BYTES];
    private long written;

    void add(byte[] bytes) {
        int length = Math.min(bytes.length, BYTES);
        int from = bytes.length - length;
        written += from;
        int at = (int) (written % BYTES);
        int first = Math.min(length, BYTES - at);
        System.arraycopy(bytes, from, ring, at, first);
        System.arraycopy(bytes, from + first, ring, 0, length - first);
        written += length;
    }

    /** At most {@value #BYTES} bytes of UTF-8, from the beginning of a line if there is one near. */
    String text() {
        if (written <= BYTES) {
            return new String(ring, 0, (int) written, StandardCharsets.UTF_8);
        }
        int at = (int) (written % BYTES);
        byte[] last = new byte[BYTES];
        System.arraycopy(ring, at, last, 0, BYTES - at);
        System.arraycopy(ring, 0, last, BYTES - at, at);
        int from = 0;
        while (isInsideCharacter(last[from])) {
            from++;
        }
        for (int i = from; i < LONGEST_BROKEN_LINE; i++) {
            if (last[i] == '\n') {
                from = i + 1;
                break;
            }
        }
        return new String(last, from, BYTES - from, StandardCharsets.UTF_8);
    }

    /** Whether this byte continues a character of UTF-8. */
    static boolean isInsideCharacter(byte b) {
        return (b & 0xc0) == 0x80;
    }
}
