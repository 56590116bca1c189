package dev.fencepost.schedule;

import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.time.temporal.ChronoUnit;
import org.jspecify.annotations.Nullable;

/**
 * What a tick is for: an instant of the job's calendar, or a person's order.
 *
 * @param key what tells it apart within its job: the instant in ISO-8601 ({@code 2026-03-29T01:00:00Z}), or {@code manual:…}; together
 *     with the job it is the idempotency key {@code job@key}
 * @param at when it is due, UTC; for a manual tick the instant of the order
 */
public record Slot(String key, Instant at) {

    private static final String MANUAL = "manual:";

    /** What the suffix of {@link #once} begins with; stores know it as {@link #ONCE_PATTERN}. */
    private static final String ONCE = "exec-";

    /** Keys of {@link #once}, for the operator {@code like} of SQL. */
    public static final String ONCE_PATTERN = MANUAL + "%/" + ONCE + "%";

    /** The calendar's slot at this instant, cut to whole seconds. */
    public static Slot at(Instant instant) {
        Instant whole = instant.truncatedTo(ChronoUnit.SECONDS);
        return new Slot(whole.toString(), whole);
    }

    /** A person's order; it eats no slot (semantics 3.1). The suffix tells apart orders within one second. */
    public static Slot manual(Instant instant, String suffix) {
        Instant whole = instant.truncatedTo(ChronoUnit.SECONDS);
        return new Slot(MANUAL + whole + "/" + suffix, whole);
    }

    /** The order of this key, or null where the text is none. */
    public static @Nullable Slot ofManualKey(String key) {
        int end = key.indexOf('/');
        if (!key.startsWith(MANUAL) || end < 0) {
            return null;
        }
        try {
            return new Slot(key, Instant.parse(key.substring(MANUAL.length(), end)));
        } catch (DateTimeParseException e) {
            return null; // as for any other text
        }
    }

    /** The order or the calendar's slot of this key, or null where the text is neither. */
    public static @Nullable Slot ofKey(String key) {
        Slot order = ofManualKey(key);
        if (order != null) {
            return order;
        }
        try {
            Instant at = Instant.parse(key);
            return at.getNano() == 0 ? at(at) : null;
        } catch (DateTimeParseException e) {
            return null;
        }
    }

    /**
     * An order whose command only the caller knows: there is no second attempt at it. Its tick ends with its attempt, however that ends.
     */
    public static Slot once(Instant instant, String suffix) {
        return manual(instant, ONCE + suffix);
    }

    public boolean isManual() {
        return key.startsWith(MANUAL);
    }

    /** {@code job@key}: the same for every attempt at this slot, live, caught up or tried again. */
    public String idempotencyKey(String job) {
        return job + "@" + key;
    }
}
