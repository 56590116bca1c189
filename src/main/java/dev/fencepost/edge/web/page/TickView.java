package dev.fencepost.edge.web.page;

import dev.fencepost.edge.web.page.Outputs.Output;
import dev.fencepost.host.Event;
import dev.fencepost.lease.RunId;
import dev.fencepost.lease.StoreException;
import dev.fencepost.run.Attempt;
import dev.fencepost.schedule.Slot;
import java.io.IOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A tick as one visitor follows it. The output is given once, as a region; what comes behind it are additions, no more at a time than a
 * browser can bear. A viewer that comes again begins anew, with the region: so no line is lost or doubled. For one thread.
 */
final class TickView implements Live.View, AutoCloseable {

    private final Page.Open open;
    private final String job;
    private final Slot slot;
    private final @Nullable Integer chosen;
    private final boolean moving;
    private final Outage outage;

    private Regions regions = Regions.NONE;
    private @Nullable TickFacts facts;
    private @Nullable Attempt shown;
    private @Nullable Region output;
    private @Nullable Region result;
    private @Nullable RunId resultOf;
    private @Nullable OutputText text;
    private boolean given;
    private boolean settled;

    /**
     * @param chosen number of the attempt whose output is shown; null for the newest, whichever that will be
     * @param moving whether a script shows it
     */
    TickView(Page.Open open, String job, Slot slot, @Nullable Integer chosen, boolean moving) {
        this.open = open;
        this.job = job;
        this.slot = slot;
        this.chosen = chosen;
        this.moving = moving;
        this.outage = new Outage(open.parts());
    }

    /** As it was at the last look; null where the store knows of no such tick. */
    @Nullable
    TickFacts facts() {
        return facts;
    }

    @Override
    public Regions regions() {
        try {
            TickFacts fresh = TickFacts.read(open, job, slot);
            outage.end();
            facts = fresh;
            settled = fresh == null || !fresh.isOpen();
            regions = regions.with(fresh == null ? List.of() : all(fresh, null));
        } catch (StoreException away) {
            if (facts == null) {
                throw away;
            }
            List<Region> old = new ArrayList<>(regions.all());
            old.set(0, TickPage.state(facts, outage.goesOn(away, job)));
            regions = regions.with(old);
        }
        return regions;
    }

    private List<Region> all(TickFacts fresh, @Nullable Instant away) {
        Attempt attempt = chosen == null ? fresh.newest() : fresh.attempt(chosen);
        return List.of(
                TickPage.state(fresh, away),
                TickPage.lease(fresh, moving),
                TickPage.timeline(fresh),
                TickPage.attempts(fresh),
                result(fresh),
                TickPage.effects(fresh),
                TickPage.writes(fresh),
                output(fresh, attempt));
    }

    /** Read once a run: it may be big, and does not change. */
    private Region result(TickFacts fresh) {
        Attempt newest = fresh.newest();
        RunId done = newest == null || newest.endedAt() == null ? null : newest.runId();
        Region made = result;
        if (made == null || !Objects.equals(done, resultOf)) {
            made = TickPage.result(open, fresh);
            result = made;
            resultOf = done;
        }
        return made;
    }

    /** Made anew when another attempt is to be shown, or this one has ended and its log is not here. */
    private Region output(TickFacts fresh, @Nullable Attempt attempt) {
        Region known = output;
        boolean same = shown != null
                && attempt != null
                && attempt.runId().equals(shown.runId())
                && (text != null || attempt.equals(shown));
        if (known != null && (same || attempt == null)) {
            return known;
        }
        close();
        shown = attempt;
        Region made = attempt == null ? TickPage.noOutput() : output(fresh, attempt, opened(fresh, attempt));
        output = made;
        return made;
    }

    private Region output(TickFacts fresh, Attempt attempt, Opened log) {
        text = log.text();
        if (text == null) {
            return TickPage.tail(open, fresh, attempt, log.trouble());
        }
        try {
            OutputText.Part part = text.end(attempt.endedAt() == null);
            return TickPage.output(fresh, attempt, part, text.isExhausted());
        } catch (IOException e) {
            close();
            return TickPage.tail(open, fresh, attempt, told(attempt, e));
        }
    }

    private record Opened(@Nullable OutputText text, String trouble) {}

    private Opened opened(TickFacts fresh, Attempt attempt) {
        try {
            Output log = open.parts().outputs().open(attempt);
            String whole = Links.output(job, slot.key(), attempt.number());
            return new Opened(
                    log == null
                            ? null
                            : new OutputText(
                                    log, fresh.zone(), whole, open.parts().time()),
                    "");
        } catch (IOException e) {
            return new Opened(null, told(attempt, e));
        }
    }

    private String told(Attempt attempt, IOException e) {
        open.parts()
                .journal()
                .record(new Event.Problem(
                        "page",
                        job,
                        slot.key(),
                        attempt.fence().value(),
                        "the log of attempt " + attempt.number() + " cannot be read",
                        e));
        return "Its log on this node cannot be read; the service's own log says why.";
    }

    @Override
    public Live.Addition addition() {
        OutputText log = text;
        if (log == null || given) {
            given = false;
            return Live.Addition.NONE; // at most once in a step: the rest has to wait, or is left out
        }
        try {
            String more = log.more();
            given = !more.isEmpty();
            return given ? new Live.Addition(TickPage.LINES, more) : Live.Addition.NONE;
        } catch (IOException e) {
            if (shown != null) {
                told(shown, e);
            }
            close();
            return Live.Addition.NONE;
        }
    }

    /** Settled at the last look, and everything that was written was given after it. */
    @Override
    public boolean isOver() {
        return settled && !given && (text == null || text.isExhausted());
    }

    @Override
    public void close() {
        if (text != null) {
            text.close();
            text = null;
        }
    }
}
