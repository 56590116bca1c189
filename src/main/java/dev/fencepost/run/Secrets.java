package dev.fencepost.run;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;

/**
 * Values that must not leave the runner, and their masking.
 *
 * <p>Of a value of several lines each line counts on its own. What is shorter than {@value #SHORTEST} characters, without the blanks around
 * it, is not masked: it would tear up every text, and the tears would tell the value. Where values overlap, everything that belongs to any
 * of them goes. A value in another form (base64, URL escapes) is not found. Immutable.
 */
public final class Secrets {

    public static final String MASK = "***";
    public static final int SHORTEST = 4;

    private static final byte[] MASK_BYTES = MASK.getBytes(StandardCharsets.US_ASCII);

    private final List<byte[]> values;

    public Secrets(Collection<String> secrets) {
        values = secrets.stream()
                .flatMap(String::lines)
                .map(Secrets::withoutBlanksAround)
                .filter(line -> line.codePointCount(0, line.length()) >= SHORTEST && !line.isBlank())
                .distinct()
                .map(line -> line.getBytes(StandardCharsets.UTF_8))
                .sorted(Comparator.comparingInt((byte[] value) -> value.length).reversed())
                .toList();
    }

    private static String withoutBlanksAround(String line) {
        String stripped = line.strip();
        return stripped.codePointCount(0, stripped.length()) >= SHORTEST ? stripped : line;
    }

    /** What is looked for, the longest first. The arrays are not to be changed. */
    public List<byte[]> values() {
        return values;
    }

    /** Whether the text holds one of them. */
    public boolean isIn(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        return masked(bytes) != bytes;
    }

    /** The text with each of them masked. */
    public String masked(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        byte[] masked = masked(bytes);
        return masked == bytes ? text : new String(masked, StandardCharsets.UTF_8);
    }

    /** The bytes with each of them masked; the very same array if none is in it. */
    public byte[] masked(byte[] bytes) {
        List<int[]> spans = new ArrayList<>();
        for (byte[] value : values) {
            for (int at = 0; at + value.length <= bytes.length; at++) {
                if (bytes[at] == value[0] && Arrays.equals(bytes, at, at + value.length, value, 0, value.length)) {
                    spans.add(new int[] {at, at + value.length});
                }
            }
        }
        if (spans.isEmpty()) {
            return bytes;
        }
        spans.sort(Comparator.comparingInt(span -> span[0]));
        ByteArrayOutputStream out = new ByteArrayOutputStream(bytes.length);
        int copied = 0;
        int maskedUntil = -1;
        for (int[] span : spans) {
            if (span[0] >= maskedUntil) {
                out.write(bytes, copied, span[0] - copied);
                out.writeBytes(MASK_BYTES);
            }
            maskedUntil = Math.max(maskedUntil, span[1]);
            copied = maskedUntil;
        }
        out.write(bytes, copied, bytes.length - copied);
        return out.toByteArray();
    }
}
