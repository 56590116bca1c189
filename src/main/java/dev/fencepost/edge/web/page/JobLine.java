package dev.fencepost.edge.web.page;

import dev.fencepost.lease.LeaseView;
import dev.fencepost.run.Attempt;
import dev.fencepost.run.History.Deferral;
import dev.fencepost.run.History.JobSummary;
import dev.fencepost.run.History.LastTick;
import dev.fencepost.run.Job;
import dev.fencepost.run.Pause;
import dev.fencepost.run.Standing;
import dev.fencepost.schedule.Slot;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A job's row of the overview, in texts. It holds instants and never how long ago or ahead they are, so it is the same until something
 * happens; the countdowns are the script's.
 *
 * @param schedule in the words of the jobs file
 * @param warning empty, or what is wrong with the schedule
 * @param is words that the filter goes by
 * @param stopped why its schedule does not run it, or null
 * @param next null where the file has none, and while somebody has to resume the job first
 * @param last null before the first tick has ended
 * @param skips since the last success; empty if there were none
 */
public record JobLine(
        String id,
        String schedule,
        String warning,
        List<String> is,
        Label state,
        @Nullable Run run,
        @Nullable Stop stopped,
        @Nullable Bar lease,
        @Nullable When next,
        @Nullable Last last,
        @Nullable When success,
        String skips,
        Strip strip) {

    /** What runs. @param slot in words, and where its page is */
    public record Run(String slot, String link, int attempt, When since) {}

    /** @param who or what it was; @param reason empty if none was given; @param until null for until somebody resumes it */
    public record Stop(String who, String reason, @Nullable When until) {}

    /** A live lease. @param owner short; @param fullOwner as the store has it; @param token the fencing token */
    public record Bar(String owner, String fullOwner, long token, long ttlMillis, When until) {}

    /** @param link to the tick's page */
    public record Last(Label told, String link, When at) {}

    /**
     * @param isKnown whether the store has answered at all
     * @param configured null for a job that the file does not have
     */
    static JobLine of(Standing standing, @Nullable Configured configured, Strip strip, boolean isKnown) {
        ZoneId zone = standing.zone();
        JobSummary summary = standing.summary();
        LastTick last = summary == null ? null : summary.last();
        Instant success = summary == null ? null : summary.lastSuccessAt();
        long skips = summary == null ? 0 : summary.skippedInARow();
        return new JobLine(
                standing.id(),
                schedule(standing, configured),
                standing.hasOtherSchedule() && summary != null
                        ? "the store goes by " + summary.scheduleText()
                                + ": this file is not in force everywhere yet, or another node has another one"
                        : "",
                words(standing, isKnown),
                state(standing, isKnown),
                run(standing, zone),
                stop(standing, zone),
                bar(standing, zone),
                next(standing, zone),
                last == null
                        ? null
                        : new Last(
                                Label.of(last.outcome()),
                                Links.tick(standing.id(), last.slotKey()),
                                When.of(last.endedAt(), zone)),
                success == null ? null : When.of(success, zone),
                skips == 0 ? "" : skips == 1 ? "1 slot skipped since" : skips + " slots in a row skipped since",
                strip);
    }

    public String link() {
        return Links.job(id);
    }

    public String filterWords() {
        return String.join(" ", is);
    }

    private static String schedule(Standing standing, @Nullable Configured configured) {
        JobSummary summary = standing.summary();
        Job job = standing.job();
        if (configured == null || job == null) {
            return summary == null || summary.scheduleText() == null ? "started by hand" : summary.scheduleText();
        }
        for (Configured.Value value : configured.values()) {
            if (value.key().equals("every")) {
                return "every " + value.text();
            }
            if (value.key().equals("cron")) {
                return value.text() + " " + job.zone();
            }
        }
        return job.schedule().text();
    }

    private static Label state(Standing standing, boolean isKnown) {
        return isKnown ? told(standing) : new Label("not known", "?", "skip");
    }

    /** How it stands, in a word. */
    static Label told(Standing standing) {
        return switch (standing.state()) {
            case RUNNING -> new Label(standing.pause() == null ? "running" : "running, paused", "\u25b7", "live");
            case HELD -> new Label("held", "\u25c6", "live");
            case HOLDER_GONE -> new Label("holder gone", "\u26a0", "warn");
            case RETIRED -> new Label("retired", "\u2205", "skip");
            case BY_HAND -> new Label("by hand", "\u261e", "skip");
            case PAUSED -> new Label("paused", "\u2016", "warn");
            case DEFERRED -> new Label("deferred", "\u21b7", "warn");
            case NOT_IN_THIS_FILE -> new Label("not in this file", "\u2209", "warn");
            case NOT_SEEN_YET -> new Label("not seen yet", "\u2026", "skip");
            case IDLE -> new Label("idle", "\u00b7", "skip");
        };
    }

    private static List<String> words(Standing standing, boolean isKnown) {
        if (!isKnown) {
            return List.of();
        }
        List<String> words = new ArrayList<>();
        words.add(standing.state().name().toLowerCase(Locale.ROOT).replace('_', '-'));
        if (standing.waitsForAPerson() && standing.state() != Standing.State.PAUSED) {
            words.add(Filter.PAUSED);
        }
        JobSummary summary = standing.summary();
        if (summary != null
                && summary.last() != null
                && summary.last().outcome().isFailure()) {
            words.add(Filter.FAILED);
        }
        if (summary != null && summary.skippedInARow() > 0) {
            words.add(Filter.SKIPPING);
        }
        return List.copyOf(words);
    }

    private static @Nullable Run run(Standing standing, ZoneId zone) {
        Attempt running = standing.running();
        if (running == null && standing.state() == Standing.State.HOLDER_GONE) {
            running = Objects.requireNonNull(standing.summary()).running();
        }
        return running == null
                ? null
                : new Run(
                        slot(running.slotKey(), zone),
                        Links.tick(standing.id(), running.slotKey()),
                        running.number(),
                        When.of(running.startedAt(), zone));
    }

    /** An instant of the calendar in the job's zone; a person's order by its instant. */
    private static String slot(String key, ZoneId zone) {
        Slot manual = Slot.ofManualKey(key);
        if (manual != null) {
            return "by hand";
        }
        try {
            return Times.local(Instant.parse(key), zone);
        } catch (DateTimeParseException other) {
            return key; // of a kind that this version does not know
        }
    }

    private static @Nullable When next(Standing standing, ZoneId zone) {
        Pause pause = standing.pause();
        return standing.next() == null || (pause != null && pause.until() == null)
                ? null
                : When.of(standing.next(), zone);
    }

    private static @Nullable Stop stop(Standing standing, ZoneId zone) {
        Pause pause = standing.pause();
        if (pause != null) {
            return new Stop(
                    switch (pause.cause()) {
                        case PERSON -> "paused by " + pause.by();
                        case FAILURES -> "paused after failures";
                        case AUTH -> "paused: its login was refused";
                    },
                    pause.reason() == null ? "" : ShownText.of(pause.reason()),
                    pause.until() == null ? null : When.of(pause.until(), zone));
        }
        Deferral deferral = standing.deferral();
        return deferral == null
                ? null
                : new Stop(
                        "usage limit",
                        deferral.reason() == null ? "" : ShownText.of(deferral.reason()),
                        When.of(deferral.until(), zone));
    }

    private static @Nullable Bar bar(Standing standing, ZoneId zone) {
        LeaseView lease = standing.lease();
        if (lease == null || lease.owner() == null || lease.grantedAt() == null || lease.expiresAt() == null) {
            return null;
        }
        Job job = standing.job();
        // Of a job that this file does not have nothing but the first length is known, or a longer one.
        Duration ttl = job == null ? Duration.between(lease.grantedAt(), lease.expiresAt()) : job.ttl();
        return new Bar(
                lease.owner().brief(),
                lease.owner().text(),
                lease.fence(),
                Math.max(1, ttl.toMillis()),
                When.of(lease.expiresAt(), zone));
    }
}
