package dev.fencepost.edge.web.page;

import dev.fencepost.edge.web.Problem;
import dev.fencepost.host.Printable;
import dev.fencepost.lease.Incarnation;
import dev.fencepost.lease.Owner;
import dev.fencepost.run.Attempt;
import dev.fencepost.run.History;
import dev.fencepost.run.History.Entry;
import dev.fencepost.run.History.Place;
import dev.fencepost.run.History.Range;
import dev.fencepost.run.Outcome;
import dev.fencepost.schedule.Slot;
import io.quarkus.qute.RawString;
import io.quarkus.qute.TemplateInstance;
import java.time.Duration;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** A page of a job's history, newest first: each tick with its attempts. */
final class JobHistory {

    /** Ticks on a page. */
    static final int TICKS = 50;

    private static final int LONGEST_REASON = 240;
    private static final int SHOWN_OF_REASON = 160;
    private static final int LONGEST_NAME = 24;

    private JobHistory() {}

    /**
     * @param newest address of the first page; empty where this is it
     * @param older address of the next page; empty at the end
     * @param nothing what to say where there are no ticks
     */
    record Rows(List<Tick> ticks, String newest, String older, String nothing) implements TemplateInstance {}

    /**
     * A tick, or a range of them.
     *
     * @param slot a time element, or the words for a range
     * @param link empty for a range, which has no page
     * @param told of the tick; with a range its count
     */
    public record Tick(
            RawString slot, String link, String ordered, Label told, String count, List<Try> tries, Reason reason) {

        /** For the cell that spans them: one for each attempt, and one for each reason. */
        public int rows() {
            long reasons =
                    tries.stream().filter(each -> each.reason().isThere()).count();
            return tries.size() + (int) reasons + (reason.isThere() ? 1 : 0);
        }

        public boolean isTried() {
            return !tries.isEmpty();
        }

        public boolean isTriedOften() {
            return tries.size() > 1;
        }
    }

    /** An attempt. @param exit {@code 0}, {@code signal 9}, or empty */
    public record Try(
            int number,
            Label told,
            RawString started,
            String took,
            String exit,
            String token,
            String owner,
            String ownerInFull,
            Reason reason,
            boolean first) {}

    /** @param rest the whole of a long one; empty for one that is shown as it is */
    public record Reason(String shown, String rest) {

        static final Reason NONE = new Reason("", "");

        static Reason of(@Nullable String text) {
            if (text == null || text.isBlank()) {
                return NONE;
            }
            String printable = text.lines().map(Printable::text).collect(Collectors.joining("\n"));
            if (printable.length() <= LONGEST_REASON && printable.indexOf('\n') < 0) {
                return new Reason(printable, "");
            }
            String first = printable.lines().findFirst().orElse("");
            return new Reason(
                    first.length() <= SHOWN_OF_REASON ? first + " \u2026" : cut(first, SHOWN_OF_REASON), printable);
        }

        public boolean isThere() {
            return !shown.isEmpty();
        }

        public boolean isLong() {
            return !rest.isEmpty();
        }
    }

    /** An outcome that one may ask for. */
    public record Choice(String word, String value, Label told, boolean chosen) {}

    static List<Choice> choices(Collection<Outcome> chosen) {
        return Arrays.stream(Outcome.values())
                .map(outcome -> new Choice(
                        Label.of(outcome).word(), value(outcome), Label.of(outcome), chosen.contains(outcome)))
                .toList();
    }

    private static String value(Outcome outcome) {
        return outcome.name().toLowerCase(Locale.ROOT);
    }

    /** @throws Problem 400 for a word that is none */
    static EnumSet<Outcome> outcomes(@Nullable Collection<String> words) {
        EnumSet<Outcome> outcomes = EnumSet.noneOf(Outcome.class);
        if (words == null) {
            return outcomes;
        }
        for (String word : words) {
            outcomes.add(Arrays.stream(Outcome.values())
                    .filter(outcome -> value(outcome).equals(word.replace('-', '_')))
                    .findFirst()
                    .orElseThrow(() -> Problem.badRequest("outcome=" + cut(Printable.text(word), 40)
                            + " is none; write one of "
                            + Arrays.stream(Outcome.values())
                                    .map(JobHistory::value)
                                    .collect(Collectors.joining(", ")))));
        }
        return outcomes;
    }

    static Rows of(String job, History.Page page, @Nullable Place before, Collection<Outcome> outcomes, ZoneId zone) {
        Map<String, List<Entry>> byTick = new LinkedHashMap<>();
        page.entries()
                .forEach(entry -> byTick.computeIfAbsent(entry.slotKey(), key -> new ArrayList<>())
                        .add(entry));
        Place next = page.next();
        String nothing = byTick.isEmpty() ? nothing(before, outcomes, next) : "";
        return new Rows(
                byTick.values().stream()
                        .map(entries -> tick(job, entries, zone))
                        .toList(),
                before == null ? "" : address(job, null, outcomes),
                next == null ? "" : address(job, next, outcomes),
                nothing);
    }

    private static String nothing(@Nullable Place before, Collection<Outcome> outcomes, @Nullable Place next) {
        if (next != null) {
            return "None among the " + String.format(Locale.ROOT, "%,d", History.MOST_LOOKED_AT)
                    + " ticks that were looked at.";
        }
        return before == null && outcomes.isEmpty() ? "No tick so far." : "No such tick.";
    }

    static String address(String job, @Nullable Place before, Collection<Outcome> outcomes) {
        List<String> query = new ArrayList<>();
        outcomes.forEach(outcome -> query.add("outcome=" + value(outcome)));
        if (before != null) {
            query.add("before=" + Links.encoded(Before.text(before)));
        }
        return Links.job(job) + (query.isEmpty() ? "" : "?" + String.join("&", query)) + "#history";
    }

    private static Tick tick(String job, List<Entry> entries, ZoneId zone) {
        Entry entry = entries.getFirst();
        Range range = entry.range();
        List<Try> tries = new ArrayList<>();
        for (Entry each : entries) {
            if (each.attempt() != null) {
                tries.add(attempt(each.attempt(), tries.isEmpty(), zone));
            }
        }
        Label told = Label.of(entry.tickOutcome());
        if (range != null) {
            RawString slots =
                    new RawString(Times.element(range.first(), zone) + " to " + Times.element(range.last(), zone));
            return new Tick(
                    slots,
                    "",
                    "",
                    told,
                    String.format(Locale.ROOT, "\u00d7 %,d", range.count()),
                    tries,
                    Reason.of(entry.tickReason()));
        }
        Slot slot = Slot.ofKey(entry.slotKey());
        // The tick's reason is that of the attempt that closed it, and stands there.
        boolean said = tries.stream().anyMatch(each -> each.reason().equals(Reason.of(entry.tickReason())));
        return new Tick(
                slot == null ? new RawString("") : Times.element(slot.at(), zone),
                Links.tick(job, entry.slotKey()),
                slot == null ? Printable.text(entry.slotKey()) : slot.isManual() ? "by order" : "",
                told,
                "",
                tries,
                said ? Reason.NONE : Reason.of(entry.tickReason()));
    }

    private static Try attempt(Attempt attempt, boolean first, ZoneId zone) {
        String exit = attempt.signal() != null
                ? "signal " + attempt.signal()
                : attempt.exitCode() != null ? String.valueOf(attempt.exitCode()) : "";
        String reason = attempt.classification() == null
                ? attempt.reason()
                : attempt.classification().name().toLowerCase(Locale.ROOT)
                        + (attempt.reason() == null ? "" : ": " + attempt.reason());
        return new Try(
                attempt.number(),
                attempt.outcome() == null
                        ? new Label("running", Label.OPEN.sign(), Label.OPEN.style())
                        : Label.of(attempt.outcome()),
                Times.element(attempt.startedAt(), zone),
                took(attempt),
                exit,
                attempt.fence().toString(),
                shortOwner(attempt.owner()),
                Printable.text(attempt.owner().text()),
                Reason.of(reason),
                first);
    }

    private static String took(Attempt attempt) {
        if (attempt.endedAt() == null) {
            return "";
        }
        Duration took = Duration.between(attempt.startedAt(), attempt.endedAt());
        return took.isNegative() ? "clock set back" : Times.span(took);
    }

    /** For a runner the beginning of its node's id and its pid; for others their name, cut to a readable length. */
    static String shortOwner(Owner owner) {
        Incarnation start = Incarnation.of(owner);
        return start != null
                ? start.nodeId().substring(0, 8) + "/" + start.pid()
                : cut(Printable.text(owner.text()), LONGEST_NAME);
    }

    /** Never through the middle of a character. */
    private static String cut(String text, int length) {
        if (text.length() <= length) {
            return text;
        }
        int end = Character.isHighSurrogate(text.charAt(length - 1)) ? length - 1 : length;
        return text.substring(0, end) + "\u2026";
    }
}
