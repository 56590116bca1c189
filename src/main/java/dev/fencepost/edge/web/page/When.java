package dev.fencepost.edge.web.page;

import io.quarkus.qute.RawString;
import java.time.Instant;
import java.time.ZoneId;

/**
 * An instant of the store's clock for a template: as an element for people, and as a number from which the script tells how far away it
 * is.
 */
public record When(long millis, RawString time) {

    static When of(Instant at, ZoneId zone) {
        return new When(at.toEpochMilli(), Times.element(at, zone));
    }

    /** By the element's text: a raw string is equal to itself alone. */
    @Override
    public boolean equals(Object other) {
        return other instanceof When when
                && millis == when.millis
                && time.toString().equals(when.time.toString());
    }

    @Override
    public int hashCode() {
        return Long.hashCode(millis);
    }
}
