package dev.fencepost.fuzz;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

/** Makes inputs of others: valid ones of the corpus, spoilt in the ways that files are spoilt, and in worse ones. */
final class Mutations {

    /** What breaks readers of texts: nothing, ends, huge numbers, halves of characters, and characters that turn lines around. */
    private static final List<byte[]> HARD = List.of(
            bytes("\0"),
            bytes("\r"),
            bytes("\r\n"),
            bytes("\n\n"),
            bytes("\t"),
            bytes("\u202e"),
            bytes("\u2066"),
            bytes("\u2028"),
            bytes("\ufeff"),
            bytes("\u00a0"),
            bytes("\u001b[31m"),
            bytes("\u0085"),
            bytes("e\u0301"),
            bytes("\ud83d\ude00"),
            bytes("\u0130"),
            bytes("\uff11"),
            bytes("\u0663"),
            bytes("-1"),
            bytes("0"),
            bytes("2147483648"),
            bytes("9223372036854775807"),
            bytes("9223372036854775808"),
            bytes("1e999999999"),
            bytes("99999999999999999999999999999999999999999"),
            bytes("\""),
            bytes("'"),
            bytes("\\"),
            bytes("\\u0000"),
            bytes("\\ud800"),
            bytes("../"),
            bytes("/dev/zero"),
            bytes("%00"),
            bytes("{"),
            bytes("}"),
            bytes("["),
            bytes("]"),
            bytes("("),
            bytes("*"),
            bytes("&a "),
            bytes("*a"),
            bytes("#"),
            bytes("!!int "),
            bytes("? "),
            bytes("- "),
            bytes("|\n "),
            new byte[] {(byte) 0xff},
            new byte[] {(byte) 0xed, (byte) 0xa0, (byte) 0x80},
            new byte[] {(byte) 0xc0, (byte) 0x80},
            new byte[] {(byte) 0xf4, (byte) 0x90, (byte) 0x80, (byte) 0x80});

    private final Random random;
    private final List<byte[]> seeds;
    private final List<byte[]> words;

    /** @param words of the target's own language */
    Mutations(long seed, List<byte[]> seeds, List<byte[]> words) {
        this.random = new Random(seed);
        this.seeds = seeds;
        this.words = words;
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    byte[] next() {
        byte[] input = seeds.get(random.nextInt(seeds.size()));
        int changes = 1 + Math.min(random.nextInt(8), random.nextInt(8));
        for (int i = 0; i < changes; i++) {
            input = changed(input);
        }
        return input.length <= Target.MOST_BYTES ? input : Arrays.copyOf(input, Target.MOST_BYTES);
    }

    private byte[] changed(byte[] input) {
        int at = random.nextInt(input.length + 1);
        int end = Math.min(input.length, at + 1 + random.nextInt(12));
        return switch (random.nextInt(12)) {
            case 0 -> joined(input, at, new byte[0], end);
            case 1 -> Arrays.copyOf(input, at);
            case 2, 3 -> joined(input, at, hard(), at);
            case 4 -> joined(input, at, hard(), end);
            case 5, 6 -> joined(input, at, word(), at);
            case 7 -> joined(input, at, word(), end);
            case 8 -> joined(input, at, repeated(Arrays.copyOfRange(input, at, end)), end);
            case 9 -> joined(input, at, repeated(random.nextBoolean() ? hard() : word()), at);
            case 10 -> spliced(input, at);
            default -> flipped(input);
        };
    }

    private byte[] hard() {
        return HARD.get(random.nextInt(HARD.size()));
    }

    private byte[] word() {
        return words.isEmpty() ? hard() : words.get(random.nextInt(words.size()));
    }

    private byte[] repeated(byte[] part) {
        int times = 1 << random.nextInt(15);
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        for (int i = 0; i < times && out.size() < Target.MOST_BYTES; i++) {
            out.writeBytes(part);
        }
        return out.toByteArray();
    }

    private byte[] spliced(byte[] input, int at) {
        byte[] other = seeds.get(random.nextInt(seeds.size()));
        int from = random.nextInt(other.length + 1);
        return joined(input, at, Arrays.copyOfRange(other, from, other.length), input.length);
    }

    private byte[] flipped(byte[] input) {
        byte[] changed = input.clone();
        if (changed.length > 0) {
            changed[random.nextInt(changed.length)] ^= (byte) (1 << random.nextInt(8));
        }
        return changed;
    }

    private static byte[] joined(byte[] input, int keep, byte[] middle, int from) {
        ByteArrayOutputStream out = new ByteArrayOutputStream(input.length + middle.length);
        out.write(input, 0, keep);
        out.writeBytes(middle);
        out.write(input, from, input.length - from);
        return out.toByteArray();
    }
}
