package dev.fencepost.edge.quarkus;

import dev.fencepost.Node;
import dev.fencepost.edge.config.DurationText;
import dev.fencepost.effect.EffectView;
import dev.fencepost.effect.Outbox.Filter;
import dev.fencepost.effect.Outbox.Tally;
import dev.fencepost.effect.SinkDefinition;
import dev.fencepost.lease.StoreException;
import dev.fencepost.run.History.Deferral;
import dev.fencepost.run.History.JobSummary;
import dev.fencepost.run.Job;
import dev.fencepost.run.Pause;
import io.smallrye.health.api.HealthGroup;
import jakarta.enterprise.context.ApplicationScoped;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.eclipse.microprofile.health.HealthCheck;
import org.eclipse.microprofile.health.HealthCheckResponse;
import org.eclipse.microprofile.health.HealthCheckResponseBuilder;
import org.eclipse.microprofile.health.Liveness;
import org.eclipse.microprofile.health.Readiness;
import org.jspecify.annotations.Nullable;

/** The three questions of a monitor: does it turn, can it work, does the work get done. */
final class Health {

    private Health() {}

    /** Live: the node is woken, and no look at a job hangs. */
    @Liveness
    @ApplicationScoped
    static class Loops implements HealthCheck {

        private final Service service;

        Loops(Service service) {
            this.service = service;
        }

        @Override
        public HealthCheckResponse call() {
            HealthCheckResponseBuilder answer =
                    HealthCheckResponse.named("loops").up();
            Service.Running running = service.running();
            if (running == null) {
                return answer.withData("state", "starting").build();
            }
            Node node = running.node();
            answer.withData("last_wake_ms", node.sinceLastWake().toMillis());
            String standstill = node.standstill(Service.STANDSTILL);
            if (standstill != null) {
                answer.down().withData("reason", standstill);
            }
            return answer.build();
        }
    }

    /** Ready: the store answers, and planning works. */
    @Readiness
    @ApplicationScoped
    static class StoreAnswers implements HealthCheck {

        private final Service service;

        StoreAnswers(Service service) {
            this.service = service;
        }

        @Override
        public HealthCheckResponse call() {
            HealthCheckResponseBuilder answer = HealthCheckResponse.named("store");
            Service.Running running = service.running();
            if (running == null) {
                return answer.down().withData("reason", "starting").build();
            }
            answer.withData("store", running.store().describe());
            if (!running.node().isPrepared()) {
                String failure = running.node().prepareFailure();
                return answer.down()
                        .withData("reason", failure == null ? "starting" : failure)
                        .build();
            }
            if (running.guarded().isBreakerOpen()) {
                return answer.down()
                        .withData("reason", "so many calls failed that the circuit breaker is open")
                        .build();
            }
            List<Node.FailingJob> failing = running.node().failingJobs();
            try {
                running.guarded().check();
            } catch (StoreException e) {
                return answer.down()
                        .withData("reason", String.valueOf(e.getMessage()))
                        .build();
            }
            if (!failing.isEmpty()) {
                return answer.down()
                        .withData(
                                "reason",
                                "the store refuses planning of " + failing.size() + " jobs, for instance "
                                        + failing.getFirst().job() + ": "
                                        + failing.getFirst().reason())
                        .build();
            }
            return answer.up().build();
        }
    }

    /**
     * Fresh: every job has had a success lately enough, no brake has paused one, and no effect waits for a person. A skip changes nothing,
     * nor does a pause by a person or a usage limit as long as it lasts; after it the time counts anew.
     */
    @HealthGroup("fresh")
    @ApplicationScoped
    static class Fresh implements HealthCheck {

        private static final int MOST_NAMED = 20;
        private static final Duration STRANDED = Duration.ofMinutes(15);
        private static final Filter WAITING = new Filter(null, List.of(), true);

        private final Service service;

        Fresh(Service service) {
            this.service = service;
        }

        @Override
        public HealthCheckResponse call() {
            HealthCheckResponseBuilder answer =
                    HealthCheckResponse.named("fresh").up();
            Service.Running running = service.running();
            if (running == null || !running.node().isPrepared()) {
                return answer.down()
                        .withData("reason", "the store has not been reached yet")
                        .build();
            }
            try {
                List<JobSummary> summaries = running.guarded().jobs();
                Instant now = running.guarded().now();
                List<String> stale = new ArrayList<>();
                for (JobSummary summary : summaries) {
                    Job job = running.file().job(summary.id()).orElse(null);
                    if (job != null) { // ours, even if a node with another file has retired it
                        judge(job, summary, now, answer, stale);
                    }
                }
                List<EffectView> waiting = running.guarded().effects(WAITING, MOST_NAMED);
                waiting.forEach(effect -> answer.withData(
                        effect.key(),
                        "effect to " + effect.pair().sink() + " is " + effect.state() + " since " + effect.changedAt()
                                + " and waits for a person: fencepost effects show"));
                boolean stranded = namesStranded(running, now, answer);
                return stale.isEmpty() && waiting.isEmpty() && !stranded
                        ? answer.build()
                        : answer.down().build();
            } catch (StoreException e) {
                return answer.down()
                        .withData("reason", String.valueOf(e.getMessage()))
                        .build();
            }
        }

        /** Effects to a sink that this node's file does not name: another node may know it, and would have sent them by now. */
        private static boolean namesStranded(Service.Running running, Instant now, HealthCheckResponseBuilder answer) {
            Set<String> known =
                    running.file().allSinks().stream().map(SinkDefinition::name).collect(Collectors.toSet());
            boolean any = false;
            for (Tally tally : running.guarded().tallies()) {
                boolean old = Duration.between(tally.oldest(), now).compareTo(STRANDED) > 0;
                if (tally.state().isOpen() && !known.contains(tally.sink()) && old) {
                    any = true;
                    answer.withData(
                            "sink " + tally.sink(),
                            tally.count() + " effects " + tally.state() + " since " + tally.oldest()
                                    + ", and this jobs file names no such sink: put it back, or give them up");
                }
            }
            return any;
        }

        private static void judge(
                Job job, JobSummary summary, Instant now, HealthCheckResponseBuilder answer, List<String> stale) {
            Pause pause = summary.pause();
            if (pause != null && pause.isInForce(now)) {
                if (pause.cause() != Pause.Cause.PERSON) {
                    stale.add(job.id());
                    answer.withData(job.id(), brake(job, pause));
                }
                return;
            }
            Duration limit = job.freshAfter();
            if (limit == null) {
                return;
            }
            Instant success = summary.lastSuccessAt();
            boolean none = success == null || success.isBefore(summary.registeredSince()); // removed, and now back
            Instant since = success == null || none ? summary.registeredSince() : success;
            Instant kept = keptUntil(summary);
            Instant counted = kept != null && kept.isAfter(since) ? kept : since;
            if (Duration.between(counted, now).compareTo(limit) <= 0) {
                return;
            }
            stale.add(job.id());
            answer.withData(
                    job.id(),
                    (none ? "no success since it was registered at " : "last success at ") + since + ", allowed "
                            + DurationText.format(limit) + ", skips in a row " + summary.skippedInARow());
        }

        private static String brake(Job job, Pause pause) {
            String brake = pause.cause() == Pause.Cause.AUTH
                    ? "for a missing or expired login (classify.auth)"
                    : "by the brake pause-after-failures";
            return "paused " + brake + " since " + pause.since() + ": " + pause.reason() + "; fencepost resume "
                    + job.id() + " lets it run again";
        }

        /** Until when a pause or a usage limit has kept the job from a success; may lie ahead. */
        private static @Nullable Instant keptUntil(JobSummary summary) {
            Instant resumed = summary.brakesSince();
            Deferral deferral = summary.deferral();
            if (deferral == null) {
                return resumed;
            }
            return resumed != null && resumed.isAfter(deferral.until()) ? resumed : deferral.until();
        }
    }
}
