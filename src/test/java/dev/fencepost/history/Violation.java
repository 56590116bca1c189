package dev.fencepost.history;

import java.util.List;
import java.util.stream.Collectors;

/**
 * Something that may not be.
 *
 * @param rule the row of the contract, such as {@code S5}
 * @param evidence the lines that show it
 */
public record Violation(String rule, String text, List<Line> evidence) {

    @Override
    public String toString() {
        return rule + ": " + text
                + evidence.stream().map(line -> "\n    " + line).collect(Collectors.joining());
    }
}
