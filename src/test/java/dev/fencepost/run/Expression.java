package dev.fencepost.run;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A line pattern for tests, by the expressions of Java. */
public record Expression(String text) implements LinePattern {

    @Override
    public boolean isFoundIn(String line) {
        return Pattern.compile(text).matcher(line).find();
    }

    @Override
    public Optional<String> until(String line) {
        Matcher matcher = Pattern.compile(text).matcher(line);
        return matcher.find() && matcher.namedGroups().containsKey("until")
                ? Optional.ofNullable(matcher.group("until"))
                : Optional.empty();
    }
}
