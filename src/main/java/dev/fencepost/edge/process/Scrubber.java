package dev.fencepost.edge.process;

import dev.fencepost.run.Secrets;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;

/**
 * Turns the raw bytes of one output stream into text that can be stored anywhere: valid UTF-8 without NUL, and without secrets.
 *
 * <p>A byte that is no part of valid UTF-8 becomes U+FFFD, one for each sequence that breaks off (Unicode standard, section 3.9); NUL becomes
 * the visible sign U+2400. Everything else stays, terminal escapes and carriage returns included: who shows the text must escape it.
 *
 * <p>Secrets: each value, and of a value of several lines each line, is masked by {@value Secrets#MASK} if it has at least
 * {@value Secrets#SHORTEST} characters without the blanks around it. Shorter ones are not masked: they would tear up every text, and
 * the tears would tell the value. Where values overlap, everything that belongs to any of them goes, so the longest wins. A value that the child
 * writes in another form (base64, URL escapes, split by colour codes) is not found.
 *
 * <p>What could be the beginning of a secret or of a character is kept back until the next bytes come. Not for use by several threads.
 */
final class Scrubber {

    private static final byte[] MASK_BYTES = Secrets.MASK.getBytes(StandardCharsets.US_ASCII);
    private static final byte[] BAD = "\uFFFD".getBytes(StandardCharsets.UTF_8);
    private static final byte[] NUL = "\u2400".getBytes(StandardCharsets.UTF_8);

    /** For each first byte the values that begin with it, the longest first. */
    private final byte[][][] secretsByFirstByte = new byte[256][][];

    private final boolean anySecret;

    /** Raw bytes that may be the beginning of a secret; the first {@link #covered} of them are already known to be masked. */
    private byte[] undecided = {};

    private int covered;

    /** The beginning of a character whose other bytes have not come yet; at most three bytes. */
    private byte[] halfCharacter = {};

    Scrubber(Collection<String> secrets) {
        List<byte[]> values = new Secrets(secrets).values();
        anySecret = !values.isEmpty();
        for (int first = 0; first < 256; first++) {
            List<byte[]> withIt = new ArrayList<>();
            for (byte[] value : values) {
                if ((value[0] & 0xff) == first) {
                    withIt.add(value);
                }
            }
            secretsByFirstByte[first] = withIt.toArray(byte[][]::new);
        }
    }

    /** The clean text of the next bytes, as far as it is decided. */
    byte[] next(byte[] bytes, int length) {
        return clean(bytes, length, false);
    }

    /** The clean text of what was kept back; to be called once, after the last bytes. */
    byte[] end() {
        return clean(new byte[0], 0, true);
    }

    private byte[] clean(byte[] bytes, int length, boolean last) {
        if (!anySecret) {
            return decoded(bytes, length, last);
        }
        Bytes masked = masked(bytes, length, last);
        return decoded(masked.array, masked.size, last);
    }

    private Bytes masked(byte[] bytes, int length, boolean last) {
        byte[] in = bytes;
        int end = length;
        if (undecided.length > 0) {
            in = Arrays.copyOf(undecided, undecided.length + length);
            System.arraycopy(bytes, 0, in, undecided.length, length);
            end = in.length;
        }
        Bytes out = new Bytes(end + 16);
        int maskedUntil = covered;
        int plainFrom = covered;
        int at = 0;
        scan:
        for (; at < end; at++) {
            byte[][] candidates = secretsByFirstByte[in[at] & 0xff];
            for (byte[] secret : candidates) {
                int available = Math.min(secret.length, end - at);
                if (!Arrays.equals(in, at, at + available, secret, 0, available)) {
                    continue;
                }
                if (available < secret.length) {
                    if (last) {
                        continue;
                    }
                    break scan;
                }
                if (at >= maskedUntil) {
                    out.write(in, plainFrom, at - plainFrom);
                    out.write(MASK_BYTES, 0, MASK_BYTES.length);
                }
                maskedUntil = Math.max(maskedUntil, at + secret.length);
                plainFrom = maskedUntil;
                break;
            }
        }
        if (plainFrom < at) {
            out.write(in, plainFrom, at - plainFrom);
        }
        undecided = Arrays.copyOfRange(in, at, end);
        covered = Math.max(0, maskedUntil - at);
        return out;
    }

    private byte[] decoded(byte[] bytes, int length, boolean last) {
        byte[] in = bytes;
        int end = length;
        if (halfCharacter.length > 0) {
            in = Arrays.copyOf(halfCharacter, halfCharacter.length + length);
            System.arraycopy(bytes, 0, in, halfCharacter.length, length);
            end = in.length;
            halfCharacter = new byte[0];
        }
        Bytes out = new Bytes(end + 16);
        int good = 0;
        int at = 0;
        while (at < end) {
            if (in[at] > 0) {
                at++;
                continue;
            }
            int size = in[at] == 0 ? 0 : characterSize(in, at, end);
            if (size > 0) {
                at += size;
                continue;
            }
            out.write(in, good, at - good);
            if (in[at] == 0) {
                out.write(NUL, 0, NUL.length);
                at++;
            } else if (size == INCOMPLETE && !last) {
                halfCharacter = Arrays.copyOfRange(in, at, end);
                return out.toByteArray();
            } else {
                out.write(BAD, 0, BAD.length);
                at += size == INCOMPLETE ? end - at : -size;
            }
            good = at;
        }
        out.write(in, good, at - good);
        return out.toByteArray();
    }

    private static final int INCOMPLETE = Integer.MIN_VALUE;

    /**
     * Bytes of the character of two or more bytes that begins here; if it is broken, the number of bytes up to the break as a negative
     * number; {@link #INCOMPLETE} if the bytes end before the character does. (The Unicode standard, table 3-7.)
     */
    private static int characterSize(byte[] in, int at, int end) {
        int first = in[at] & 0xff;
        int size;
        int lowest = 0x80;
        int highest = 0xbf;
        if (first >= 0xc2 && first <= 0xdf) {
            size = 2;
        } else if (first >= 0xe0 && first <= 0xef) {
            size = 3;
            lowest = first == 0xe0 ? 0xa0 : 0x80;
            highest = first == 0xed ? 0x9f : 0xbf;
        } else if (first >= 0xf0 && first <= 0xf4) {
            size = 4;
            lowest = first == 0xf0 ? 0x90 : 0x80;
            highest = first == 0xf4 ? 0x8f : 0xbf;
        } else {
            return -1;
        }
        for (int i = 1; i < size; i++) {
            if (at + i == end) {
                return INCOMPLETE;
            }
            int next = in[at + i] & 0xff;
            if (next < lowest || next > highest) {
                return -i;
            }
            lowest = 0x80;
            highest = 0xbf;
        }
        return size;
    }

    /** A growing array: what {@link java.io.ByteArrayOutputStream} is, without its lock and its copy at the end. */
    private static final class Bytes {
        private byte[] array;
        private int size;

        Bytes(int capacity) {
            array = new byte[capacity];
        }

        void write(byte[] from, int at, int length) {
            if (length > array.length - size) {
                array = Arrays.copyOf(array, Math.max(2 * array.length, size + length));
            }
            System.arraycopy(from, at, array, size, length);
            size += length;
        }

        byte[] toByteArray() {
            return Arrays.copyOf(array, size);
        }
    }
}
