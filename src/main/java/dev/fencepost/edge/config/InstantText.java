package dev.fencepost.edge.config;

import java.time.DateTimeException;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.format.DateTimeParseException;
import java.time.temporal.ChronoUnit;

/** Instants as people write them: date, time and offset, {@code 2026-03-29T01:00:00Z} or {@code 2026-03-29T03:00:00+02:00}. */
public final class InstantText {

    private static final Instant EARLIEST = Instant.parse("0001-01-01T00:00:00Z");
    private static final Instant LATEST = Instant.parse("9999-12-31T23:59:59Z");
    private static final String FORM = "write date, time and offset, such as 2026-03-29T01:00:00Z";

    private InstantText() {}

    /**
     * Reads an instant of the years 1 to 9999 in whole seconds.
     *
     * @throws BadValueException if the text is anything else; a time without an offset is refused too, since no zone is assumed
     */
    public static Instant parse(String written) {
        Instant instant;
        try {
            instant = OffsetDateTime.parse(written.strip()).toInstant();
        } catch (DateTimeParseException e) {
            throw new BadValueException(Finding.quote(written) + " is no instant", FORM);
        } catch (DateTimeException e) {
            throw new BadValueException(Finding.quote(written) + " is out of range", FORM);
        }
        if (!instant.truncatedTo(ChronoUnit.SECONDS).equals(instant)) {
            throw new BadValueException(Finding.quote(written) + " has a fraction of a second", "write whole seconds");
        }
        if (instant.isBefore(EARLIEST) || instant.isAfter(LATEST)) {
            throw new BadValueException(Finding.quote(written) + " is out of range", "years are 1 to 9999");
        }
        return instant;
    }
}
