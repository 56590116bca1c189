package dev.fencepost.schedule;

import java.time.ZoneId;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Reads the name of a zone. Only names of the IANA time zone database count, because only they say when the clock changes; old names
 * that the database still knows (Europe/Kiev) are good. An unknown name is refused and never becomes UTC in silence.
 */
public final class Zones {

    private static final int LONGEST_NAME = 60;
    private static final Pattern OFFSET =
            Pattern.compile("(?:UTC|GMT|UT|Z)?\\s*[+-]\\s*[0-9].*", Pattern.CASE_INSENSITIVE);
    private static final Pattern ABBREVIATION = Pattern.compile("[A-Za-z]{1,5}");

    /** What people most likely mean; the same letters are used in several countries, so it can only be an example. */
    private static final Map<String, String> PLACES = Map.ofEntries(
            Map.entry("CEST", "Europe/Berlin"),
            Map.entry("MESZ", "Europe/Berlin"),
            Map.entry("MEZ", "Europe/Berlin"),
            Map.entry("BST", "Europe/London"),
            Map.entry("EST", "America/New_York"),
            Map.entry("EDT", "America/New_York"),
            Map.entry("MST", "America/Denver"),
            Map.entry("HST", "Pacific/Honolulu"),
            Map.entry("CDT", "America/Chicago"),
            Map.entry("CST", "America/Chicago"),
            Map.entry("MDT", "America/Denver"),
            Map.entry("PDT", "America/Los_Angeles"),
            Map.entry("PST", "America/Los_Angeles"),
            Map.entry("IST", "Asia/Kolkata"),
            Map.entry("JST", "Asia/Tokyo"),
            Map.entry("KST", "Asia/Seoul"),
            Map.entry("AEST", "Australia/Sydney"),
            Map.entry("Z", "Etc/UTC"));

    private Zones() {}

    /**
     * The zone of this name.
     *
     * @throws ScheduleException when the database has no such name; the message says which name comes nearest
     */
    public static ZoneId parse(String name) {
        Set<String> known = new TreeSet<>(ZoneId.getAvailableZoneIds());
        // Java's own invention, not of the database.
        known.removeIf(id -> id.startsWith("SystemV/"));
        if (known.contains(name)) {
            return ZoneId.of(name);
        }
        throw new ScheduleException(refusal(name, known));
    }

    private static String refusal(String name, Set<String> known) {
        if (name.isBlank()) {
            return "zone is empty: write an IANA name such as Europe/Berlin, or Etc/UTC";
        }
        String quoted = "zone " + CronText.quote(name);
        if (OFFSET.matcher(name.strip()).matches()) {
            return quoted
                    + " is an offset, which knows no daylight saving: write an IANA name such as Europe/Berlin, or"
                    + " Etc/UTC and the hours in UTC";
        }
        if (name.length() > LONGEST_NAME) {
            return quoted + " is not in the IANA time zone database: write a name such as Europe/Berlin";
        }
        String nearest = nearest(name.strip(), known);
        if (nearest != null) {
            return quoted + " is not in the IANA time zone database: did you mean " + nearest + "?";
        }
        if (ABBREVIATION.matcher(name).matches()) {
            return quoted + " is an abbreviation, not a place with rules: write an IANA name such as "
                    + PLACES.getOrDefault(name.toUpperCase(Locale.ROOT), "Europe/Berlin");
        }
        return quoted + " is not in the IANA time zone database: write a name such as Europe/Berlin";
    }

    /** Another spelling first, then the bare name of the city, then few wrong letters. */
    private static @Nullable String nearest(String name, Set<String> known) {
        String wanted = name.replace(' ', '_').toLowerCase(Locale.ROOT);
        String ending = "/" + wanted.substring(wanted.lastIndexOf('/') + 1);
        String city = null;
        String close = null;
        // Short names are all within a few letters of each other: no guess there.
        int closeness = wanted.length() < 6 ? 0 : Math.min(3, wanted.length() / 4);
        for (String candidate : known) {
            String lower = candidate.toLowerCase(Locale.ROOT);
            if (lower.equals(wanted)) {
                return candidate;
            }
            if (city == null && lower.endsWith(ending)) {
                city = candidate;
            }
            int distance = distance(wanted, lower, closeness + 1);
            if (distance <= closeness) {
                close = candidate;
                closeness = distance - 1;
            }
        }
        return close != null ? close : city;
    }

    /** The Levenshtein distance, or the bound when it is not below that. */
    private static int distance(String a, String b, int bound) {
        if (Math.abs(a.length() - b.length()) >= bound) {
            return bound;
        }
        int[] row = new int[b.length() + 1];
        for (int j = 0; j <= b.length(); j++) {
            row[j] = j;
        }
        for (int i = 1; i <= a.length(); i++) {
            int diagonal = row[0];
            row[0] = i;
            for (int j = 1; j <= b.length(); j++) {
                int replaced = diagonal + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
                diagonal = row[j];
                row[j] = Math.min(replaced, 1 + Math.min(row[j], row[j - 1]));
            }
        }
        return Math.min(bound, row[b.length()]);
    }
}
