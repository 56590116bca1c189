package dev.fencepost.run;

import dev.fencepost.host.Event;
import dev.fencepost.host.Journal;
import dev.fencepost.run.Orders.Answer;
import dev.fencepost.run.Policies.Brakes;
import dev.fencepost.run.Ticks.BrakeCounts;
import java.time.Instant;
import java.time.LocalDate;
import org.jspecify.annotations.Nullable;

/**
 * The limits of one job that no agent can lift (semantics 6.4). What counts is read from the store, so every node sees the same; of the
 * nodes that see a limit reached at the same time, only the one whose pause was accepted tells it.
 */
final class JobBrakes {

    private final Job job;
    private final Brakes brakes;
    private final boolean looksForLogins;
    private final Ticks ticks;
    private final Orders orders;
    private final Notices notices;
    private final Journal journal;

    JobBrakes(Job job, Ticks ticks, Orders orders, Notices notices, Journal journal) {
        this.job = job;
        this.brakes = job.policies().brakes();
        this.looksForLogins = job.policies().classify().stream().anyMatch(rule -> rule.kind() == Classification.AUTH);
        this.ticks = ticks;
        this.orders = orders;
        this.notices = notices;
        this.journal = journal;
    }

    /** Pauses the job if a limit is reached. Returns whether it is paused now, by this call or another one. */
    boolean pauseIfReached() {
        if (brakes.pauseAfterFailures() == 0 && !looksForLogins) {
            return false;
        }
        BrakeCounts counts = ticks.brakeCounts(job.id(), brakes.pauseAfterFailures(), null);
        if (looksForLogins && counts.authFailure() != null) {
            return pause(Pause.Cause.AUTH, counts.authFailure());
        }
        if (brakes.pauseAfterFailures() > 0 && counts.failuresInARow() >= brakes.pauseAfterFailures()) {
            String last = counts.lastFailure() == null ? "" : ", the last: " + counts.lastFailure();
            return pause(Pause.Cause.FAILURES, counts.failuresInARow() + " failures in a row" + last);
        }
        return false;
    }

    private boolean pause(Pause.Cause cause, String reason) {
        Answer answer = orders.pause(job.id(), null, cause, reason, Pause.BY_A_BRAKE);
        if (answer == Answer.DONE) {
            journal.record(new Event.JobPaused(job.id(), cause.name(), reason, null));
            notices.paused(job, new Pause(ticks.now(), null, cause, reason, Pause.BY_A_BRAKE));
        }
        return answer == Answer.DONE || answer == Answer.ALREADY;
    }

    /** Why no slot of the schedule may be run for the rest of the day, or null. */
    @Nullable
    String dayLimit(Instant now, @Nullable Instant brakesSince) {
        Integer most = brakes.maxRunsPerDay();
        if (most == null) {
            return null;
        }
        Instant midnight =
                LocalDate.ofInstant(now, job.zone()).atStartOfDay(job.zone()).toInstant();
        Instant since = brakesSince != null && brakesSince.isAfter(midnight) ? brakesSince : midnight;
        return ticks.brakeCounts(job.id(), 0, since).runs() < most ? null : "max-runs-per-day " + most + " reached";
    }
}
