package dev.fencepost.edge.web.page;

import dev.fencepost.effect.EffectState;
import dev.fencepost.effect.EffectView;
import dev.fencepost.run.Attempt;
import dev.fencepost.run.History.WriteEvent;
import io.quarkus.qute.RawString;
import io.quarkus.qute.TemplateInstance;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A tick along the time: a picture, and the same as a list. In the picture each attempt and each effect has a row with its words above and
 * its marks below, so that the words have the whole width, also that of a phone.
 */
final class Timeline {

    static final int MOST_ATTEMPTS = 12;
    static final int MOST_EFFECTS = 12;

    private static final int TOP = 30;
    private static final int ROW = 46;
    private static final int LINE = 31;

    private final TickFacts facts;
    private final Axis axis;
    private final List<Row> rows = new ArrayList<>();
    private final List<Fact> list = new ArrayList<>();

    /**
     * @param height in pixels
     * @param axisAt where the axis ends, from the top
     * @param left how many rows are left out
     */
    record Picture(
            int height,
            int axisAt,
            String from,
            String to,
            String slotAt,
            List<Break> breaks,
            List<Row> rows,
            int left,
            List<Fact> facts,
            boolean renewals)
            implements TemplateInstance {}

    record Break(String at, String length) {}

    /**
     * @param top of the words, in pixels
     * @param line middle of the marks, in pixels
     */
    record Row(int top, int line, String words, String sign, String style, List<Bar> bars, List<Mark> marks) {
        public int barTop() {
            return line - 5;
        }

        public int signLine() {
            return line + 5;
        }
    }

    record Bar(String at, String width, String style) {}

    /** @param sign empty for a stroke */
    record Mark(String at, String sign, String style, String title) {}

    /** @param at null where nobody knows when */
    record Fact(@Nullable Instant when, RawString at, String sign, String style, String words) {}

    private Timeline(TickFacts facts) {
        this.facts = facts;
        List<Instant> instants = new ArrayList<>();
        List<Axis.Busy> busy = new ArrayList<>();
        instants.add(facts.slot().at());
        for (Attempt attempt : facts.attempts()) {
            Instant end = attempt.endedAt() == null ? facts.now() : attempt.endedAt();
            instants.add(attempt.startedAt());
            busy.add(new Axis.Busy(attempt.startedAt(), later(end, attempt.startedAt())));
        }
        for (EffectView effect : facts.effects()) {
            instants.add(effect.announcedAt());
            instants.add(effect.changedAt());
        }
        facts.writes().forEach(write -> instants.add(write.at()));
        if (facts.tick().endedAt() != null) {
            instants.add(facts.tick().endedAt());
        }
        axis = new Axis(instants, busy);
    }

    static Picture of(TickFacts facts) {
        return new Timeline(facts).picture();
    }

    private static Instant later(Instant one, Instant other) {
        return one.isAfter(other) ? one : other;
    }

    private Picture picture() {
        tell(facts.slot().at(), "◆", "", facts.slot().isManual() ? "Ordered." : "The slot was due.");
        int leftAttempts = Math.max(0, facts.attempts().size() - MOST_ATTEMPTS);
        int leftEffects = Math.max(0, facts.effects().size() - MOST_EFFECTS);
        for (int i = 0; i < facts.attempts().size(); i++) {
            attempt(facts.attempts().get(i), i == 0, i >= leftAttempts);
        }
        for (int i = 0; i < facts.effects().size(); i++) {
            effect(facts.effects().get(i), i < MOST_EFFECTS);
        }
        if (facts.attempts().isEmpty()
                && facts.tick().outcome() != null
                && facts.tick().endedAt() != null) {
            Label told = Label.of(facts.tick().outcome());
            String words = upper(told.word()) + because(facts.tick().reason());
            tell(facts.tick().endedAt(), told.sign(), told.style(), words + ".");
            add(
                    upper(told.word()),
                    told.sign(),
                    told.style(),
                    List.of(),
                    List.of(mark(facts.tick().endedAt(), told.sign(), told.style(), told.word())));
        }
        list.sort(Comparator.comparing(fact -> fact.when() == null ? Instant.MAX : fact.when()));
        int end = TOP + rows.size() * ROW + 4;
        return new Picture(
                end + 20,
                end,
                Times.local(axis.first(), facts.zone()),
                axis.last().equals(axis.first()) ? "" : Times.local(axis.last(), facts.zone()),
                Axis.percent(axis.place(facts.slot().at())),
                axis.cuts().stream()
                        .map(cut -> new Break(Axis.percent(cut.middle()), Times.span(cut.length())))
                        .toList(),
                List.copyOf(rows),
                leftAttempts + leftEffects,
                List.copyOf(list),
                !facts.attempts().isEmpty());
    }

    private void attempt(Attempt attempt, boolean first, boolean shown) {
        Label told = Label.of(attempt.outcome());
        Instant start = attempt.startedAt();
        Instant end = attempt.endedAt();
        String name = "Attempt " + attempt.number();
        tell(
                start,
                "▷",
                "live",
                name + " claimed the lease with token " + attempt.fence() + " on " + facts.node(attempt.owner())
                        + (first
                                ? ", "
                                        + Times.span(
                                                Duration.between(facts.slot().at(), start)) + " after the slot"
                                : "")
                        + ".");
        List<Mark> marks = new ArrayList<>();
        RecentRenewals.Known renewals =
                facts.renewals().getOrDefault(attempt.runId().toString(), new RecentRenewals.Known(0, List.of()));
        for (Instant at : renewals.newest()) {
            marks.add(mark(at, "", "renewal", "lease renewed " + Times.local(at, facts.zone())));
        }
        if (renewals.count() > 0) {
            Instant last = renewals.newest().getLast();
            tell(
                    last,
                    "↻",
                    "live",
                    name + ": lease renewed "
                            + (renewals.count() == 1
                                    ? "once."
                                    : renewals.count() + " times, first known at "
                                            + clock(renewals.newest().getFirst()) + ", last at " + clock(last) + "."));
        }
        List<WriteEvent> writes = facts.writes().stream()
                .filter(write -> attempt.runId().toString().equals(write.runId()) && write.effect() == null)
                .toList();
        for (WriteEvent write : writes) {
            if (!write.accepted()) {
                marks.add(mark(write.at(), "✗", "bad", "write refused" + because(write.reason())));
                tell(
                        write.at(),
                        "✗",
                        "bad",
                        name + ": a write with token " + write.fence() + " was refused" + because(write.reason())
                                + newest(write) + ".");
            }
        }
        String ran = Times.span(Duration.between(start, end == null ? facts.now() : end));
        String words;
        if (end == null) {
            words = facts.lease() != null
                            && attempt.runId().equals(facts.lease().runId())
                    ? "running for " + ran
                    : "has no end yet";
        } else {
            words = told.word() + " after " + ran;
            tell(end, told.sign(), told.style(), name + " " + words + because(attempt.reason()) + ".");
            marks.add(mark(end, told.sign(), told.style(), name + " " + told.word()));
        }
        if (shown) {
            List<Bar> bars = new ArrayList<>();
            if (first && start.isAfter(facts.slot().at())) {
                bars.add(bar(facts.slot().at(), start, "lag"));
            }
            bars.add(bar(start, end == null ? facts.now() : end, told.style()));
            add(name + " · token " + attempt.fence() + " · " + words, told.sign(), told.style(), bars, marks);
        }
    }

    private void effect(EffectView effect, boolean shown) {
        Label told = Effects.told(effect);
        String name = ShownText.of(effect.name());
        tell(
                effect.announcedAt(),
                "○",
                "",
                "Effect " + name + " announced to " + effect.pair().sink() + ".");
        boolean moved = effect.state() != EffectState.PENDING || effect.tries() > 0;
        if (moved) {
            tell(
                    effect.changedAt(),
                    told.sign(),
                    told.style(),
                    "Effect " + name + " " + told.word() + because(effect.reason()) + ".");
        }
        List<Mark> marks = new ArrayList<>();
        marks.add(mark(effect.announcedAt(), "○", "", "announced"));
        facts.writes().stream()
                .filter(write -> effect.key().equals(write.effect()) && !write.accepted())
                .forEach(write -> {
                    marks.add(mark(write.at(), "✗", "bad", "write refused" + because(write.reason())));
                    tell(
                            write.at(),
                            "✗",
                            "bad",
                            "Effect " + name + ": a write with token " + write.fence() + " was refused"
                                    + because(write.reason()) + newest(write) + ".");
                });
        if (moved) {
            marks.add(mark(effect.changedAt(), told.sign(), told.style(), told.word()));
        }
        if (shown) {
            Instant to = effect.state().isOpen() && !effect.waits() ? axis.last() : effect.changedAt();
            add(
                    name + " · " + told.word(),
                    told.sign(),
                    told.style(),
                    List.of(bar(effect.announcedAt(), later(to, effect.announcedAt()), "effect")),
                    marks);
        }
    }

    private static String newest(WriteEvent write) {
        return write.newestFence() == null ? "" : "; the newest was " + write.newestFence();
    }

    private void add(String words, String sign, String style, List<Bar> bars, List<Mark> marks) {
        int top = TOP + rows.size() * ROW;
        rows.add(new Row(top + 14, top + LINE, words, sign, style, bars, marks));
    }

    private Bar bar(Instant from, Instant to, String style) {
        double start = axis.place(from);
        return new Bar(Axis.percent(start), Axis.percent(Math.max(0.5, axis.place(to) - start)), style);
    }

    private Mark mark(Instant at, String sign, String style, String title) {
        return new Mark(Axis.percent(axis.place(at)), sign, style, title);
    }

    private void tell(Instant at, String sign, String style, String words) {
        list.add(new Fact(at, Times.element(at, facts.zone()), sign, style, words));
    }

    private String clock(Instant at) {
        return Times.local(at, facts.zone()).substring("2026-03-29 ".length());
    }

    private static String because(@Nullable String reason) {
        return reason == null ? "" : ": " + ShownText.of(reason);
    }

    private static String upper(String text) {
        return Character.toUpperCase(text.charAt(0)) + text.substring(1);
    }
}
