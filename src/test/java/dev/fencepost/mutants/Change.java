package dev.fencepost.mutants;

import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Something else in the place of a text of the program. Blanks and line breaks in the text stand for any others, so that a mutant does not
 * fear the formatter.
 */
sealed interface Change {

    String text();

    String instead();

    /**
     * In the texts of class files, where constants are already put together: SQL.
     *
     * @param classes of the package of the statements, by their simple names; empty for all of them
     */
    record Sql(Set<String> classes, String text, String instead) implements Change {}

    /**
     * In a source file, which is compiled anew. Constants of it that others use stay as they are there.
     *
     * @param file below the folder of the program's package
     */
    record Java(String file, String text, String instead) implements Change {}

    /** The whole with the change in it everywhere; the same where it has no place. */
    default String in(String whole) {
        return Lazily.pattern(text()).matcher(whole).replaceAll(Matcher.quoteReplacement(instead()));
    }

    /** Interfaces have no private state of their own, and this is nobody else's affair. */
    final class Lazily {
        private Lazily() {}

        private static Pattern pattern(String text) {
            return Pattern.compile(
                    Stream.of(text.split("\\s+", -1)).map(Pattern::quote).collect(Collectors.joining("\\s+")));
        }
    }
}
