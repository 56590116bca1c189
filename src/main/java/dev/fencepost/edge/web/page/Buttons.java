package dev.fencepost.edge.web.page;

import dev.fencepost.lease.LeaseView;
import dev.fencepost.run.History.JobSummary;
import dev.fencepost.run.History.Mark;
import dev.fencepost.run.Orders;
import dev.fencepost.run.Pause;
import io.quarkus.qute.RawString;
import io.quarkus.qute.TemplateInstance;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** What a visitor may order for a job: forms, each with its token. Only what makes sense as the job stands is offered. */
final class Buttons {

    /** How many of the newest ticks are looked at for one that waits. */
    private static final int TICKS = 50;

    private Buttons() {}

    /** For how long a job is paused by button. Anything else is for the command line. */
    enum Length {
        HOUR("1 hour", Duration.ofHours(1)),
        HALF_DAY("12 hours", Duration.ofHours(12)),
        DAY("1 day", Duration.ofDays(1)),
        WEEK("1 week", Duration.ofDays(7)),
        RESUMED("until it is resumed", null);

        private final String words;
        private final @Nullable Duration duration;

        Length(String words, @Nullable Duration duration) {
            this.words = words;
            this.duration = duration;
        }

        @Nullable
        Duration duration() {
            return duration;
        }

        Choice choice() {
            return new Choice(name(), words);
        }

        /** Null for none of them. */
        static @Nullable Length of(@Nullable String name) {
            for (Length each : values()) {
                if (each.name().equals(name)) {
                    return each;
                }
            }
            return null;
        }
    }

    /** An entry of a list to choose from. */
    public record Choice(String value, String words) {}

    /** @param token that has to come with what is sent to this address */
    public record Form(String address, String token) {}

    /**
     * @param trigger null where it is not offered, as are the others
     * @param cancels what a cancel is about
     */
    record OfJob(
            @Nullable Form trigger,
            @Nullable Form pause,
            @Nullable Form resume,
            @Nullable Form cancel,
            String cancels,
            List<Choice> lengths,
            int longestReason)
            implements TemplateInstance {}

    /**
     * @param summary null for a job that the store does not know yet
     * @return empty for a visitor who may only look, and where nothing can be ordered
     */
    static RawString of(Visit visit, String job, @Nullable JobSummary summary) {
        if (!visit.mayOperate() || summary == null) {
            return new RawString("");
        }
        boolean scheduled = !summary.retired() && summary.scheduleText() != null;
        boolean held = scheduled && isHeld(summary, visit.open().store().now());
        String cancels = whatRuns(summary);
        if (cancels.isEmpty() && waits(visit, job)) {
            cancels = "Ticks that wait to be run end as cancelled.";
        }
        List<@Nullable Form> forms = new ArrayList<>();
        forms.add(scheduled ? form(visit, job, "trigger") : null);
        forms.add(scheduled && !held ? form(visit, job, "pause") : null);
        forms.add(held ? form(visit, job, "resume") : null);
        forms.add(cancels.isEmpty() ? null : form(visit, job, "cancel"));
        if (forms.stream().allMatch(Objects::isNull)) {
            return new RawString("");
        }
        return new RawString(new OfJob(
                        forms.get(0),
                        forms.get(1),
                        forms.get(2),
                        forms.get(3),
                        cancels,
                        lengths(),
                        Orders.LONGEST_REASON)
                .render());
    }

    private static List<Choice> lengths() {
        List<Choice> choices = new ArrayList<>();
        for (Length each : Length.values()) {
            choices.add(each.choice());
        }
        return choices;
    }

    static Form form(Visit visit, String job, String order) {
        String address = Links.job(job) + "/" + order;
        return new Form(address, visit.formToken(address));
    }

    /** Whether something keeps it from running that a resume lifts. */
    private static boolean isHeld(JobSummary summary, Instant now) {
        Pause pause = summary.pause();
        return (pause != null && pause.isInForce(now))
                || (summary.deferral() != null && summary.deferral().until().isAfter(now));
    }

    private static String whatRuns(JobSummary summary) {
        LeaseView lease = summary.lease();
        if (summary.running() != null) {
            return "The run of " + summary.running().slotKey()
                    + " is stopped: its processes get SIGTERM, and after the grace SIGKILL. What waits is cancelled too.";
        }
        return lease != null && lease.isLive() ? "Whoever holds the lease is asked to stop." : "";
    }

    private static boolean waits(Visit visit, String job) {
        Map<String, List<Mark>> newest = visit.open().store().newest(List.of(job), TICKS);
        return newest.getOrDefault(job, List.of()).stream().anyMatch(mark -> mark.outcome() == null);
    }
}
