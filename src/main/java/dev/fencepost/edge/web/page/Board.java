package dev.fencepost.edge.web.page;

import dev.fencepost.lease.StoreException;
import dev.fencepost.run.History.JobSummary;
import io.quarkus.qute.RawString;
import io.quarkus.qute.TemplateInstance;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The overview as all visitors see it: read from the store at most once a second, and only while somebody looks. While the store is away
 * the last rows stay, and a line says since when. Safe for use by many threads.
 */
final class Board {

    private static final long FRESH_MILLIS = 1_000;

    private final Page.Parts parts;
    private Regions regions = Regions.NONE;
    private long readAt;
    private boolean everRead;
    private @Nullable Instant awaySince;
    private volatile long waiting;

    Board(Page.Parts parts) {
        this.parts = parts;
    }

    /** @param trouble empty, or why this is not how it is now */
    record State(String trouble) implements TemplateInstance {}

    /** @param next the next slot, or empty */
    record Row(String id, String schedule, RawString next) implements TemplateInstance {}

    /** How many things wait for a person, as of the last look. */
    long waiting() {
        return waiting;
    }

    synchronized Regions regions() {
        long now = parts.time().bootMillis();
        if (everRead && now - readAt < FRESH_MILLIS) {
            return regions;
        }
        try {
            regions = regions.with(read());
            awaySince = null;
        } catch (StoreException away) {
            if (awaySince == null) {
                awaySince = parts.time().wallClock();
            }
            List<Region> old = new ArrayList<>(regions.all());
            Region state = state("The store has not answered since " + Times.local(awaySince, ZoneOffset.UTC)
                    + " UTC; below is what was known then.");
            if (old.isEmpty()) {
                old.add(state);
            } else {
                old.set(0, state);
            }
            regions = regions.with(old);
        }
        everRead = true;
        readAt = now;
        return regions;
    }

    private static Region state(String trouble) {
        return new Region("state", new State(trouble).render());
    }

    private List<Region> read() {
        Map<String, JobSummary> stored = new LinkedHashMap<>();
        parts.store().jobs().forEach(summary -> stored.put(summary.id(), summary));
        Instant now = parts.store().now();
        List<Region> fresh = new ArrayList<>();
        fresh.add(state(""));
        for (Configured each : parts.jobs().get()) {
            Instant next = each.job().schedule().next(now);
            Row row = new Row(
                    each.job().id(),
                    each.job().schedule().text(),
                    next == null
                            ? new RawString("")
                            : Times.element(next, each.job().zone()));
            fresh.add(new Region("job-" + each.job().id(), row.render()));
        }
        return fresh;
    }
}
