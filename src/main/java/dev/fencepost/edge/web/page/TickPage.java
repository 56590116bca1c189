package dev.fencepost.edge.web.page;

import dev.fencepost.effect.EffectState;
import dev.fencepost.effect.EffectView;
import dev.fencepost.lease.Incarnation;
import dev.fencepost.lease.LeaseView;
import dev.fencepost.run.Attempt;
import dev.fencepost.run.History.Kept;
import dev.fencepost.run.History.Place;
import dev.fencepost.run.History.Range;
import dev.fencepost.run.History.WriteEvent;
import dev.fencepost.run.Orders.JobEvent;
import dev.fencepost.run.Outcome;
import dev.fencepost.schedule.Slot;
import io.quarkus.qute.RawString;
import io.quarkus.qute.TemplateInstance;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The parts of a tick's page as HTML. */
final class TickPage {

    /** Where the lines of the output are. */
    static final String LINES = "lines";

    private TickPage() {}

    /**
     * @param name of the tick
     * @param utc of the slot
     * @param previous and {@code next}: addresses, or empty
     */
    record Whole(
            Frame frame,
            String job,
            String jobAddress,
            String name,
            String utc,
            String zone,
            String previous,
            String next,
            String ordered,
            Region state,
            Region lease,
            Region timeline,
            Region attempts,
            Region result,
            Region effects,
            Region writes,
            Region output)
            implements TemplateInstance {}

    /**
     * @param retried whether it is tried again
     * @param again when, or empty
     * @param refused how many writes were refused
     * @param away empty, or since when the store has not answered
     */
    record State(Label told, String why, boolean retried, RawString again, Span range, long refused, String away)
            implements TemplateInstance {}

    /** @param count 0 for a tick that is none of a range */
    record Span(long count, RawString first, RawString last) {
        public boolean isRange() {
            return count > 1;
        }
    }

    /** @param leftMillis how much of it is left */
    record Lease(String owner, long token, RawString until, long untilMillis, long ttlMillis, long leftMillis)
            implements TemplateInstance {}

    record Attempts(List<Try> tries, boolean many) implements TemplateInstance {}

    record Try(
            int number,
            Label told,
            long token,
            String node,
            String owner,
            String runId,
            RawString start,
            RawString end,
            String ran,
            String exit,
            String kind,
            String reason,
            String outputAddress) {
        public boolean hasEnded() {
            return !end.getValue().isEmpty();
        }
    }

    record Sent(List<Shown> effects) implements TemplateInstance {}

    record Shown(
            String name,
            String key,
            String sink,
            Label told,
            List<Effects.Part> receipt,
            int tries,
            String reason,
            RawString changed,
            RawString next,
            boolean waits,
            boolean override) {
        public boolean hasNext() {
            return !next.getValue().isEmpty();
        }
    }

    record Writes(List<Write> writes, long refused) implements TemplateInstance {}

    record Write(RawString at, boolean accepted, String what, String own, String newest, String reason) {}

    /** @param size in bytes, for people */
    record Result(boolean there, boolean isText, String text, String size, boolean cut, String address)
            implements TemplateInstance {}

    /**
     * @param others attempts with an output of their own
     * @param lines null where there is none to be shown
     * @param note what has to be said of it
     * @param whole address of the whole text, or empty
     */
    record Output(
            int attempt,
            List<Other> others,
            @Nullable RawString lines,
            int shown,
            long left,
            String note,
            String whole,
            boolean timed)
            implements TemplateInstance {}

    record Other(int number, String address, boolean current) {}

    /** @param sentence what is known, and what to do */
    record Missing(Frame frame, String sentence, String job, String jobAddress) implements TemplateInstance {}

    static Region state(TickFacts facts, @Nullable Instant awaySince) {
        Instant again = facts.tick().outcome() == null ? facts.tick().notBefore() : null;
        Range range = facts.tick().range();
        return new Region(
                "state",
                new State(
                                told(facts),
                                ShownText.of(facts.why()),
                                again != null,
                                again == null ? none() : Times.element(again, facts.zone()),
                                range == null
                                        ? new Span(0, none(), none())
                                        : new Span(
                                                range.count(),
                                                Times.element(range.first(), facts.zone()),
                                                Times.element(range.last(), facts.zone())),
                                facts.writes().stream()
                                        .filter(write -> !write.accepted())
                                        .count(),
                                awaySince == null ? "" : Times.local(awaySince, ZoneOffset.UTC))
                        .render());
    }

    private static Label told(TickFacts facts) {
        return facts.tick().outcome() != null
                ? Label.of(facts.tick().outcome())
                : new Label(facts.lease() == null ? "waits" : "runs", Label.OPEN.sign(), Label.OPEN.style());
    }

    /**
     * The live lease as a bar. The script counts it down; a page without it has it as it was when it was made.
     *
     * @param moving whether the script is there: then only a renewal changes it
     */
    static Region lease(TickFacts facts, boolean moving) {
        LeaseView lease = facts.lease();
        if (lease == null || lease.expiresAt() == null || lease.owner() == null || lease.grantedAt() == null) {
            return new Region("lease", "");
        }
        Instant until = lease.expiresAt();
        RecentRenewals.Known renewals =
                facts.renewals().getOrDefault(String.valueOf(lease.runId()), new RecentRenewals.Known(0, List.of()));
        Instant from = renewals.newest().isEmpty()
                ? lease.grantedAt()
                : renewals.newest().getLast();
        long ttl = Math.max(1, Duration.between(from, until).toMillis());
        long left = moving ? ttl : Duration.between(facts.now(), until).toMillis();
        return new Region(
                "lease",
                new Lease(
                                ShownText.of(facts.node(lease.owner())),
                                lease.fence(),
                                Times.element(until, facts.zone()),
                                until.toEpochMilli(),
                                ttl,
                                Math.clamp(left, 0, ttl))
                        .render());
    }

    static Region timeline(TickFacts facts) {
        return new Region("timeline", Timeline.of(facts).render());
    }

    static Region attempts(TickFacts facts) {
        List<Try> tries = new ArrayList<>();
        for (Attempt attempt : facts.attempts().reversed()) {
            Instant end = attempt.endedAt();
            tries.add(new Try(
                    attempt.number(),
                    Label.of(attempt.outcome()),
                    attempt.fence().value(),
                    ShownText.of(facts.node(attempt.owner())),
                    ShownText.of(attempt.owner().text()),
                    attempt.runId().toString(),
                    Times.element(attempt.startedAt(), facts.zone()),
                    end == null ? none() : Times.element(end, facts.zone()),
                    end == null ? "" : Times.span(Duration.between(attempt.startedAt(), end)),
                    exit(attempt),
                    attempt.classification() == null
                            ? ""
                            : attempt.classification().name().toLowerCase(Locale.ROOT),
                    shown(attempt.reason()),
                    outputOf(facts, attempt)));
        }
        return new Region("attempts", new Attempts(tries, tries.size() > 1).render());
    }

    private static String exit(Attempt attempt) {
        return attempt.signal() != null
                ? "signal " + attempt.signal()
                : attempt.exitCode() != null ? "exit code " + attempt.exitCode() : "";
    }

    private static String outputOf(TickFacts facts, Attempt attempt) {
        return Links.tick(facts.job(), facts.slot().key()) + "?attempt=" + attempt.number() + "#output-title";
    }

    static Region effects(TickFacts facts) {
        List<Shown> shown = new ArrayList<>();
        for (EffectView effect : facts.effects()) {
            boolean next = effect.nextAt() != null && effect.state().isOpen() && !effect.waits();
            shown.add(new Shown(
                    ShownText.of(effect.name()),
                    ShownText.of(effect.key()),
                    ShownText.of(effect.pair().sink()),
                    Effects.told(effect),
                    effect.receipt() == null ? List.of() : Effects.parts(effect.receipt()),
                    effect.tries(),
                    shown(effect.reason()),
                    Times.element(effect.changedAt(), facts.zone()),
                    next ? Times.element(Objects.requireNonNull(effect.nextAt()), facts.zone()) : none(),
                    effect.waits(),
                    effect.override() && effect.state() != EffectState.CONFIRMED));
        }
        return new Region("effects", new Sent(shown).render());
    }

    static Region writes(TickFacts facts) {
        List<Write> writes = new ArrayList<>();
        for (WriteEvent write : facts.writes().reversed()) {
            writes.add(new Write(
                    Times.element(write.at(), facts.zone()),
                    write.accepted(),
                    write.effect() == null ? "completion" : "effect " + ShownText.of(effectName(facts, write.effect())),
                    String.valueOf(write.fence()),
                    newest(facts, write),
                    shown(write.reason())));
        }
        return new Region(
                "writes",
                new Writes(
                                writes,
                                facts.writes().stream()
                                        .filter(write -> !write.accepted())
                                        .count())
                        .render());
    }

    private static String effectName(TickFacts facts, String key) {
        return facts.effects().stream()
                .filter(effect -> effect.key().equals(key))
                .map(EffectView::name)
                .findFirst()
                .orElse(key);
    }

    /** What was known then; where nothing was written down of it, what is known now. */
    private static String newest(TickFacts facts, WriteEvent write) {
        if (write.newestFence() != null) {
            return String.valueOf(write.newestFence());
        }
        return !write.accepted() && facts.newestFence() > 0 ? facts.newestFence() + " (now)" : "";
    }

    static Region result(Page.Open open, TickFacts facts) {
        Attempt last = facts.newest();
        byte[] result = last == null || facts.tick().outcome() != Outcome.SUCCEEDED
                ? null
                : open.store().result(facts.job(), last.runId());
        if (last == null || result == null) {
            return new Region("result", new Result(false, false, "", "", false, "").render());
        }
        ResultText text = ResultText.of(result);
        return new Region(
                "result",
                new Result(
                                true,
                                text.isText(),
                                text.text(),
                                size(text.bytes()),
                                text.cut(),
                                Links.result(facts.job(), facts.slot().key(), last.number()))
                        .render());
    }

    private static String size(long bytes) {
        return bytes < 1_024 ? bytes + " bytes" : (bytes + 1_023) / 1_024 + " KiB";
    }

    /**
     * Of an attempt whose log this node has.
     *
     * @param whole whether it was read to its end
     */
    static Region output(TickFacts facts, Attempt attempt, OutputText.Part part, boolean whole) {
        String none = attempt.endedAt() == null ? "Nothing was written so far." : "It wrote nothing.";
        String late = whole ? "" : "It writes faster than it can be read here; this is not its end yet.";
        return output(facts, attempt, part, part.lines() > 0 ? late : none, true, true);
    }

    /** Of an attempt whose log is elsewhere, or gone. */
    static Region tail(Page.Open open, TickFacts facts, Attempt attempt, String trouble) {
        Kept kept = open.store().kept(facts.job(), attempt.runId());
        String tail = kept == null ? null : kept.outputTail();
        Incarnation start = Incarnation.of(attempt.owner());
        boolean here = start != null && start.nodeId().equals(open.parts().nodeId());
        String where = !trouble.isEmpty()
                ? trouble
                : here
                        ? "Its log on this node is gone; it may have been cleaned up."
                        : "Its log is on the node " + ShownText.of(facts.node(attempt.owner()))
                                + "; fencepost logs shows it there.";
        if (tail == null || tail.isEmpty()) {
            return output(
                    facts,
                    attempt,
                    new OutputText.Part("", 0, 0),
                    (attempt.endedAt() == null
                                    ? "The store gets the end of the output when the attempt ends. "
                                    : "The store has no output of it. ")
                            + where,
                    false,
                    false);
        }
        return output(
                facts,
                attempt,
                OutputText.ofTail(tail),
                "This is the end of both streams, as the store has it. " + where,
                false,
                true);
    }

    static Region noOutput() {
        return new Region(
                "output", new Output(0, List.of(), null, 0, 0, "Nothing has run for this tick.", "", false).render());
    }

    private static Region output(
            TickFacts facts, Attempt attempt, OutputText.Part part, String note, boolean timed, boolean whole) {
        boolean lines = timed || part.lines() > 0;
        return new Region(
                "output",
                new Output(
                                attempt.number(),
                                facts.attempts().size() < 2
                                        ? List.of()
                                        : facts.attempts().reversed().stream()
                                                .map(each -> new Other(
                                                        each.number(), outputOf(facts, each), each.equals(attempt)))
                                                .toList(),
                                lines ? new RawString(part.html()) : null,
                                part.lines(),
                                part.left(),
                                note,
                                whole ? Links.output(facts.job(), facts.slot().key(), attempt.number()) : "",
                                timed)
                        .render());
    }

    /** @param name of the tick, as a title */
    static String name(TickFacts facts) {
        Slot slot = facts.slot();
        return (slot.isManual() ? "order of " : "") + Times.local(slot.at(), facts.zone());
    }

    static String ordered(TickFacts facts) {
        if (!facts.tick().ordered() && !facts.slot().isManual()) {
            return "";
        }
        JobEvent order = facts.order();
        return order == null
                ? "By a person's order."
                : "Ordered by " + ShownText.of(order.by())
                        + (order.reason() == null ? "" : ": " + ShownText.of(order.reason())) + ".";
    }

    /** The tick before this one; empty if there is none. */
    static String previous(Page.Open open, TickFacts facts) {
        Range range = facts.tick().range();
        Place place = new Place(
                range == null ? facts.slot().at() : range.first(),
                range == null ? facts.slot().key() : Slot.at(range.first()).key());
        return open.store().page(facts.job(), place, List.of(), 1).entries().stream()
                .map(entry -> entry.range() == null
                        ? entry.slotKey()
                        : Slot.at(entry.range().last()).key())
                .findFirst()
                .map(key -> Links.tick(facts.job(), key))
                .orElse("");
    }

    /** The tick of the next slot of the schedule; empty if it has not been handled yet. */
    static String next(Page.Open open, TickFacts facts) {
        Range range = facts.tick().range();
        Instant next = facts.schedule() == null
                ? null
                : facts.schedule().next(range == null ? facts.slot().at() : range.last());
        if (next == null || next.isAfter(facts.now())) {
            return "";
        }
        Slot slot = Slot.at(next);
        return open.store().slot(facts.job(), slot).tick() == null ? "" : Links.tick(facts.job(), slot.key());
    }

    private static String shown(@Nullable String text) {
        return text == null ? "" : ShownText.of(text);
    }

    private static RawString none() {
        return new RawString("");
    }
}
