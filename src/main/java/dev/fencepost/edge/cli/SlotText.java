package dev.fencepost.edge.cli;

import java.time.Instant;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.time.temporal.ChronoUnit;
import java.util.Locale;

/** A slot as a person in its zone reads it. */
final class SlotText {

    private static final DateTimeFormatter LOCAL =
            DateTimeFormatter.ofPattern("EEE uuuu-MM-dd HH:mm:ss xxx", Locale.ENGLISH);

    private SlotText() {}

    /** {@code 2026-03-29T03:00:00+02:00}. */
    static String iso(Instant slot, ZoneId zone) {
        return DateTimeFormatter.ISO_OFFSET_DATE_TIME.format(slot.atZone(zone));
    }

    /** {@code Sun 2026-03-29 03:00:00 +02:00}. */
    static String local(Instant slot, ZoneId zone) {
        return LOCAL.format(slot.atZone(zone));
    }

    /** Whole seconds in UTC: {@code 2026-03-29T01:00:00Z}. */
    static String utc(Instant instant) {
        return instant.truncatedTo(ChronoUnit.SECONDS).toString();
    }
}
