package dev.fencepost.edge.config;

import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Texts in which {@code {job}}, {@code {slot}}, {@code {attempt}} and {@code {fence}} are filled in for each run. */
final class Template {

    private static final Set<String> NAMES = Set.of("job", "slot", "attempt", "fence");
    private static final Pattern PLACE = Pattern.compile("\\{([A-Za-z_][A-Za-z0-9_-]*)}");
    static final String HINT = "known are {job}, {slot}, {attempt} and {fence}";

    private Template() {}

    /** The first place that nothing fills in, with its braces, or null. */
    static @Nullable String unknownPlace(String text) {
        Matcher m = PLACE.matcher(text);
        while (m.find()) {
            if (!NAMES.contains(m.group(1))) {
                return m.group();
            }
        }
        return null;
    }

    /** The text, or an error if a place in it is unknown. */
    static String strict(String text) {
        String unknown = unknownPlace(text);
        if (unknown != null) {
            throw new BadValueException("nothing is known to fill in for " + Finding.quote(unknown), HINT);
        }
        return text;
    }
}
