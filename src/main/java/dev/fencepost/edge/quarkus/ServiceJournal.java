package dev.fencepost.edge.quarkus;

import dev.fencepost.host.Event;
import dev.fencepost.host.Journal;
import dev.fencepost.run.Job;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import java.util.Collection;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import org.jboss.logging.Logger;
import org.jboss.logging.Logger.Level;
import org.jboss.logging.MDC;
import org.jspecify.annotations.Nullable;

/**
 * Makes log lines and metrics of events. Job, slot and token stand in the line and, for JSON logs, as fields of their own. Labels are
 * bounded: configured jobs, a limited number of queues and fixed words, never a slot, an id or an error's text.
 */
final class ServiceJournal implements Journal {

    private static final Logger LOG = Logger.getLogger("dev.fencepost");

    static final int MOST_QUEUES = 100;
    static final String OTHER_QUEUES = "other";

    private final MeterRegistry meters;
    private final Set<String> queues = new HashSet<>();
    private final AtomicReference<Boolean> storeAvailable = new AtomicReference<>();

    ServiceJournal(MeterRegistry meters, Collection<Job> jobs) {
        this.meters = meters;
        countFor(jobs);
        count("problems", "", 0);
    }

    /** So that a counter is there, at 0, before anything happened. */
    void countFor(Collection<Job> jobs) {
        for (Job job : jobs) {
            count("scheduled.skipped_overlap", job.id(), 0);
            count("scheduled.catchup_dropped", job.id(), 0);
            count("scheduled.catchup_ran", job.id(), 0);
            stale(job.id(), "", 0);
            count("lease.lost", job.id(), 0);
            count("lease.taken_over", job.id(), 0);
            count("lease.renewed", job.id(), 0);
            count("lease.renew_failed", job.id(), 0);
        }
    }

    @Override
    public void record(Event event) {
        switch (event) {
            case Event.SkippedOverlap e -> {
                count("scheduled.skipped_overlap", e.job(), e.count());
                String slots = e.count() == 1
                        ? "slot " + e.firstSlot()
                        : e.count() + " slots from " + e.firstSlot() + " to " + e.lastSlot();
                log(
                        Level.INFO,
                        e.job(),
                        e.lastSlot(),
                        e.heldByFence(),
                        slots + " skipped: the run before still holds the lease");
            }
            case Event.Dropped e -> {
                count("scheduled.catchup_dropped", e.job(), e.count());
                log(
                        Level.WARN,
                        e.job(),
                        null,
                        null,
                        e.count() + (e.count() == 1 ? " slot" : " slots") + " dropped, from " + e.first() + " to "
                                + e.last() + ": " + e.reason());
            }
            case Event.CaughtUp e -> {
                count("scheduled.catchup_ran", e.job(), e.count());
                log(
                        Level.INFO,
                        e.job(),
                        null,
                        null,
                        e.count() + " missed slots will run, from " + e.first() + " to " + e.last());
            }
            case Event.Started e -> {
                meters.timer("tick.lag", "job", e.job()).record(notNegative(e.lag()));
                log(
                        Level.INFO,
                        e.job(),
                        e.slot(),
                        e.fence(),
                        "attempt " + e.attempt() + " started, run " + e.runId() + ", " + seconds(e.lag())
                                + " after the slot");
            }
            case Event.Executed e -> {
                executed(e.job(), e.outcome());
                meters.timer("run.duration", "job", e.job()).record(notNegative(e.ran()));
                log(
                        e.failure() ? Level.WARN : Level.INFO,
                        e.job(),
                        e.slot(),
                        e.fence(),
                        "attempt " + e.attempt() + " ended " + e.outcome() + " after " + seconds(e.ran())
                                + (e.reason() == null ? "" : ": " + e.reason()));
            }
            case Event.StaleTokenRejected e -> {
                stale(e.job(), "", 1);
                log(
                        Level.WARN,
                        e.job(),
                        e.slot(),
                        e.fence(),
                        "completion refused, " + e.reason() + ": nothing of it was stored; the output stays on disk");
            }
            case Event.StaleWorkRejected e -> {
                stale("", label(e.queue()), 1);
                // Not louder: the store has it on record, and whoever holds a token could fill the disk.
                log(
                        Level.DEBUG,
                        null,
                        null,
                        e.fence(),
                        "call of a worker for item " + e.item() + " of queue " + e.queue() + " refused, " + e.reason());
            }
            case Event.Renewed e -> {
                count("lease.renewed", e.job(), 1);
                log(Level.DEBUG, e.job(), e.slot(), e.fence(), "lease renewed");
            }
            case Event.RenewFailed e -> {
                count("lease.renew_failed", e.job(), 1);
                log(Level.WARN, e.job(), e.slot(), e.fence(), "renewal had no answer, trying again: " + e.cause());
            }
            case Event.LeaseLost e -> {
                count("lease.lost", e.job(), 1);
                log(Level.WARN, e.job(), e.slot(), e.fence(), "lease lost, the run is stopped: " + e.reason());
            }
            case Event.TakenOver e -> {
                count("lease.taken_over", e.job(), 1);
                log(
                        Level.WARN,
                        e.job(),
                        null,
                        e.oldFence(),
                        "lease of a dead runner of this host given up for it, " + e.processesKilled()
                                + " of its processes killed; it was " + e.deadOwner());
            }
            case Event.Abandoned e -> {
                executed(e.job(), "ABANDONED");
                log(Level.WARN, e.job(), e.slot(), e.fence(), "attempt " + e.attempt() + " written as ABANDONED");
            }
            case Event.EffectChanged e -> effectChanged(e);
            case Event.JobPaused e ->
                log(
                        Level.WARN,
                        e.job(),
                        null,
                        null,
                        "paused (" + e.cause() + ")" + (e.until() == null ? "" : " until " + e.until())
                                + (e.reason() == null ? "" : ": " + e.reason()) + "; fencepost resume " + e.job()
                                + " lets it run again");
            case Event.JobResumed e -> log(Level.INFO, e.job(), null, null, "the pause has ended at " + e.at());
            case Event.JobDeferred e ->
                log(Level.WARN, e.job(), null, null, "nothing is started before " + e.until() + ": " + e.reason());
            case Event.Notified e -> {
                String outcome = e.trouble() == null ? "sent" : "failed";
                meters.counter("notifications", "channel", e.channel(), "outcome", outcome)
                        .increment();
                log(
                        e.trouble() == null ? Level.DEBUG : Level.WARN,
                        e.job(),
                        null,
                        null,
                        e.channel() + " of " + e.what()
                                + (e.trouble() == null ? " sent" : " could not be sent: " + e.trouble()));
            }
            case Event.StoreAvailable e -> storeAvailable(e);
            case Event.Note e -> log(Level.INFO, e.job(), null, null, e.text());
            case Event.Problem e -> {
                count("problems", "", 1);
                log(
                        Level.ERROR,
                        e.job(),
                        e.slot(),
                        e.fence(),
                        e.where() + ": " + e.text() + (e.cause() == null ? "" : ": " + e.cause()),
                        e.cause());
            }
        }
    }

    private void effectChanged(Event.EffectChanged e) {
        meters.counter("effects", "sink", e.sink(), "state", e.state()).increment();
        boolean bad = e.waits() || e.newestFence() != null;
        log(
                bad ? Level.WARN : Level.INFO,
                e.job(),
                e.slot(),
                e.fence(),
                "effect " + e.key() + " to " + e.sink() + " is " + e.state()
                        + (e.newestFence() == null ? "" : ", the newest token is " + e.newestFence())
                        + (e.reason() == null ? "" : ": " + e.reason())
                        + (e.waits() ? "; it waits for a person, see fencepost effects list --waiting" : ""));
    }

    /** Told by every job that notices; a person is told once. */
    private void storeAvailable(Event.StoreAvailable e) {
        Boolean before = storeAvailable.getAndSet(e.available());
        if (before != null && before == e.available()) {
            return;
        }
        if (e.available()) {
            log(Level.INFO, null, null, null, "store available");
        } else {
            log(Level.WARN, null, null, null, "store not available, trying again: " + e.cause());
        }
    }

    private void executed(String job, String outcome) {
        meters.counter("scheduled.executed", "job", job, "outcome", outcome).increment();
    }

    /** One name has one set of labels; of job and queue the one that does not apply is empty, which Prometheus takes as absent. */
    private void stale(String job, String queue, long by) {
        meters.counter("stale_token_rejected", "job", job, "queue", queue).increment(by);
    }

    /** Queues are named by producers: beyond so many of them the rest have one label. */
    private String label(String queue) {
        synchronized (queues) {
            return queues.contains(queue) || queues.size() < MOST_QUEUES && queues.add(queue) ? queue : OTHER_QUEUES;
        }
    }

    private void count(String name, String job, long by) {
        (job.isEmpty() ? meters.counter(name) : meters.counter(name, "job", job)).increment(by);
    }

    private static Duration notNegative(Duration duration) {
        return duration.isNegative() ? Duration.ZERO : duration;
    }

    private static String seconds(Duration duration) {
        return duration.toMillis() / 1000.0 + " s";
    }

    private static void log(
            Level level, @Nullable String job, @Nullable String slot, @Nullable Long fence, String text) {
        log(level, job, slot, fence, text, null);
    }

    private static void log(
            Level level,
            @Nullable String job,
            @Nullable String slot,
            @Nullable Long fence,
            String text,
            @Nullable Throwable cause) {
        if (!LOG.isEnabled(level)) {
            return;
        }
        StringBuilder line = new StringBuilder();
        put("job", job, line);
        put("slot", slot, line);
        put("token", fence == null ? null : fence.toString(), line);
        try {
            LOG.log(level, line.append(text), LOG.isDebugEnabled() || level == Level.ERROR ? cause : null);
        } finally {
            MDC.remove("job");
            MDC.remove("slot");
            MDC.remove("token");
        }
    }

    private static void put(String field, @Nullable String value, StringBuilder line) {
        if (value != null) {
            MDC.put(field, value);
            line.append(field).append('=').append(value).append(' ');
        }
    }
}
