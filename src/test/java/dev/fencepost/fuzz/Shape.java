package dev.fencepost.fuzz;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** What has to be so of a text for people, and other conditions of the targets. */
public final class Shape {

    /** Characters that break lines, or change the direction of what follows. */
    private static final String TURNING =
            "\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069";

    private Shape() {}

    /** Nothing in it that a terminal would obey, or that hides or reorders what stands beside it. */
    public static void isForPeople(String what, @Nullable String text) {
        require(text != null && !text.isBlank(), what + " is empty");
        String shown = Objects.requireNonNull(text);
        int harmful = shown.codePoints()
                .filter(c -> (c != '\n' && c != '\t' && Character.isISOControl(c)) || TURNING.indexOf(c) >= 0)
                .findFirst()
                .orElse(-1);
        require(harmful < 0, what + " has the character U+" + Integer.toHexString(harmful) + ": " + shown);
        require(shown.length() < 20_000, what + " has " + shown.length() + " characters");
    }

    public static void require(boolean holds, String otherwise) {
        if (!holds) {
            throw new AssertionError(otherwise);
        }
    }

    public static void same(String what, @Nullable Object expected, @Nullable Object actual) {
        require(Objects.equals(expected, actual), what + ": " + expected + " expected, is " + actual);
    }

    /** The input as text: as it is decoded where no error is told. */
    public static String text(byte[] input, int from) {
        return from >= input.length ? "" : new String(input, from, input.length - from, StandardCharsets.UTF_8);
    }

    /** A choice by the first byte of the input. */
    public static int choice(byte[] input, int choices) {
        return input.length == 0 ? 0 : Byte.toUnsignedInt(input[0]) % choices;
    }

    /** For the report of a failure. */
    public static String shown(byte[] input) {
        StringBuilder shown = new StringBuilder();
        for (byte b : input) {
            int c = Byte.toUnsignedInt(b);
            shown.append(c >= ' ' && c < 0x7f && c != '\\' ? Character.toString(c) : String.format("\\x%02x", c));
        }
        return shown.length() <= 2_000 ? shown.toString() : shown.substring(0, 2_000) + "…";
    }

    /** The parts of the input that zero bytes separate; as many as are asked for, the missing ones empty. */
    public static List<String> parts(byte[] input, int count) {
        String[] parts = text(input, 0).split("\0", count);
        return IntStream.range(0, count)
                .mapToObj(i -> i < parts.length ? parts[i] : "")
                .toList();
    }
}
