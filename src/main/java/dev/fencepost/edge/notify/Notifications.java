package dev.fencepost.edge.notify;

import dev.fencepost.edge.notify.SendQueue.Limits;
import dev.fencepost.edge.notify.SendQueue.Sending;
import dev.fencepost.effect.HttpEndpoint;
import dev.fencepost.effect.HttpSender;
import dev.fencepost.host.Event;
import dev.fencepost.host.Journal;
import dev.fencepost.host.Programs;
import dev.fencepost.host.Spawner;
import dev.fencepost.host.Time;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.LeaseView;
import dev.fencepost.lease.Leases;
import dev.fencepost.lease.StoreException;
import dev.fencepost.run.Classification;
import dev.fencepost.run.Completion;
import dev.fencepost.run.Job;
import dev.fencepost.run.Notices;
import dev.fencepost.run.Notifier;
import dev.fencepost.run.Notifier.Channel;
import dev.fencepost.run.Notifier.Occasion;
import dev.fencepost.run.Outcome;
import dev.fencepost.run.Pause;
import dev.fencepost.run.Told;
import dev.fencepost.schedule.Slot;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SequencedSet;
import java.util.Set;
import java.util.function.IntPredicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Tells the notifiers of a job what becomes of it, from threads of its own.
 *
 * <p><b>Pings</b> are sent for each run. A failure that is tried again is none yet. A run that lost its lease tells so only while nobody
 * else has been granted a newer one: that run's own pings count then. What a person or a stop of the service ended sends nothing.
 *
 * <p><b>Webhooks and mails</b> are sent on a change that the store knows to be new ({@link Told}): after each start and each end of a run,
 * and after the end of an attempt whose holder is dead, the job's ticks are counted, and whoever writes the new count tells it. So it is
 * told at most once; a crash between the two loses that notice.
 *
 * <p><b>Order.</b> Each notifier of a job has a lane of its own in the {@link SendQueue}.
 */
public final class Notifications implements Notices {

    /** What a monitor that keeps the body of a ping takes of it. */
    static final int MOST_BODY_BYTES = 10_000;

    private static final Limits LIMITS = new Limits(1_000, 32, List.of(Duration.ofSeconds(1), Duration.ofSeconds(5)));

    private static final Duration MAIL_LIMIT = Duration.ofSeconds(30);

    /** "Try again later", as sendmail says it. */
    private static final int TEMPORARY_FAILURE = 75;

    /** What sendmail needs; the rest of the runner's environment may hold secrets. */
    private static final Set<String> MAIL_ENVIRONMENT = Set.of("PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ");

    private static final int MOST_EFFECTS_KNOWN = 1_000;
    private static final int HIGHEST_EXIT_CODE = 255;
    private static final int LONGEST_TROUBLE = 300;
    private static final byte[] NOTHING = {};

    private final HttpSender http;
    private final Programs programs;
    private final Map<String, String> mailEnvironment;
    private final Told told;
    private final Leases leases;
    private final Time time;
    private final Journal journal;
    private final String node;
    private final SendQueue queue;
    private final SequencedSet<String> waitingEffects = new LinkedHashSet<>();
    private volatile Map<String, Job> jobs = Map.of();

    /**
     * @param environment of the runner
     * @param node id of this node
     */
    public Notifications(
            HttpSender http,
            Programs programs,
            Map<String, String> environment,
            Told told,
            Leases leases,
            Time time,
            Spawner spawner,
            Journal journal,
            String node) {
        this(http, programs, environment, told, leases, time, spawner, journal, node, LIMITS);
    }

    Notifications(
            HttpSender http,
            Programs programs,
            Map<String, String> environment,
            Told told,
            Leases leases,
            Time time,
            Spawner spawner,
            Journal journal,
            String node,
            Limits limits) {
        this.http = http;
        this.programs = programs;
        this.mailEnvironment = environment.entrySet().stream()
                .filter(each -> MAIL_ENVIRONMENT.contains(each.getKey()))
                .collect(Collectors.toUnmodifiableMap(Map.Entry::getKey, Map.Entry::getValue));
        this.told = told;
        this.leases = leases;
        this.time = time;
        this.journal = journal;
        this.node = node;
        this.queue = new SendQueue(limits, time, spawner, journal);
    }

    /** From here on these are the jobs whose effects and dead runs are told of. */
    public void watch(Collection<Job> watched) {
        Map<String, Job> byId = new HashMap<>();
        watched.forEach(job -> byId.put(job.id(), job));
        jobs = Map.copyOf(byId);
    }

    /** A journal that passes everything on, and sees what has to be told among it. */
    public Journal watching(Journal next) {
        return event -> {
            next.record(event);
            switch (event) {
                case Event.EffectChanged effect -> safely(effect.job(), () -> effectChanged(effect));
                case Event.Abandoned dead -> {
                    Job job = jobs.get(dead.job());
                    if (job != null) {
                        safely(job.id(), () -> look(job));
                    }
                }
                default -> {}
            }
        };
    }

    /** Sends what waits to be sent, as far as that is possible in this time, and gives up the rest. */
    public void close(Duration patience) throws InterruptedException {
        queue.close(patience);
    }

    @Override
    public void started(Job job, Slot slot, int attempt, Lease lease) {
        safely(job.id(), () -> {
            pings(job, Occasion.START, "/start", NOTHING, lease, false);
            look(job);
        });
    }

    @Override
    public void ended(Job job, Slot slot, int attempt, Lease lease, Completion completion) {
        safely(job.id(), () -> {
            Outcome outcome = completion.outcome();
            boolean isLost = outcome == Outcome.LEASE_LOST;
            boolean isFailure = outcome == Outcome.FAILED || outcome == Outcome.TIMED_OUT;
            if (outcome.isSuccess()) {
                pings(job, Occasion.SUCCESS, "", body(completion), lease, false);
            } else if (isLost || (isFailure && completion.closesTick())) {
                pings(job, Occasion.FAILURE, failurePath(completion), body(completion), lease, isLost);
            }
            look(job);
        });
    }

    @Override
    public void paused(Job job, Pause pause) {
        safely(job.id(), () -> {
            String reason = pause.cause() + (pause.reason() == null ? "" : ": " + pause.reason());
            tell(
                    job,
                    new Notice(Occasion.PAUSED, job.id(), null, null, null, reason, null, pause.since(), node),
                    after -> true);
        });
    }

    /** A run never learns of our errors, and neither does its journal's caller. */
    private void safely(String job, Runnable telling) {
        try {
            telling.run();
        } catch (RuntimeException | Error e) { // not even a thread to be had
            journal.record(new Event.Problem("notifications", job, null, null, "a notice is given up", e));
        }
    }

    private static String failurePath(Completion completion) {
        Integer code = completion.exitCode();
        boolean says = completion.outcome() == Outcome.FAILED
                && completion.signal() == null
                && code != null
                && code > 0
                && code <= HIGHEST_EXIT_CODE;
        return says ? "/" + code : "/fail";
    }

    /** The end of the output, from the beginning of a character; without any output the reason. */
    private static byte[] body(Completion completion) {
        String text = completion.outputTail();
        if (text == null || text.isBlank()) {
            text = completion.reason() == null ? "" : completion.reason();
        }
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        int from = Math.max(0, bytes.length - MOST_BODY_BYTES);
        while (from < bytes.length && (bytes[from] & 0xc0) == 0x80) {
            from++;
        }
        return from == 0 ? bytes : Arrays.copyOfRange(bytes, from, bytes.length);
    }

    private void pings(Job job, Occasion occasion, String morePath, byte[] body, Lease lease, boolean onlyIfNewest) {
        for (int i = 0; i < job.notifiers().size(); i++) {
            Notifier notifier = job.notifiers().get(i);
            if (notifier.channel() instanceof Channel.Ping(HttpEndpoint endpoint)
                    && notifier.on().contains(occasion)) {
                HttpSender.Note note = new HttpSender.Note(
                        morePath, Map.of("rid", lease.runId().toString()), Map.of(), null, body);
                Sending sending = request(job, "ping", occasion, endpoint, note);
                queue.add(lane(job, i), isLast -> (onlyIfNewest && !isNewest(lease)) || sending.attempt(isLast));
            }
        }
    }

    private static String lane(Job job, int notifier) {
        return job.id() + "-" + notifier;
    }

    /** Whether nobody was granted the job since. A store that cannot say is no reason for an alarm: the monitor misses the success anyway. */
    private boolean isNewest(Lease lease) {
        try {
            LeaseView view = leases.inspect(lease.resource());
            return view != null && view.fence() == lease.fence().value();
        } catch (StoreException e) {
            return false;
        }
    }

    private Sending request(Job job, String channel, Occasion occasion, HttpEndpoint endpoint, HttpSender.Note note) {
        return isLast -> {
            HttpSender.Answer answer = http.send(endpoint, note);
            if (answer.isFine()) {
                notified(job, channel, occasion, null);
                return true;
            }
            if (isLast || answer.isFinal()) {
                notified(job, channel, occasion, answer.text());
                return true;
            }
            return false;
        };
    }

    private void notified(Job job, String channel, Occasion occasion, @Nullable String trouble) {
        journal.record(new Event.Notified(job.id(), channel, occasion.name().toLowerCase(Locale.ROOT), trouble));
    }

    private void effectChanged(Event.EffectChanged effect) {
        String key = effect.sink() + " " + effect.key();
        synchronized (waitingEffects) {
            if (!effect.waits()) {
                waitingEffects.remove(key);
                return;
            }
            if (!waitingEffects.add(key)) {
                return;
            }
            if (waitingEffects.size() > MOST_EFFECTS_KNOWN) {
                waitingEffects.removeFirst();
            }
        }
        Job job = jobs.get(effect.job());
        if (job != null) {
            String reason = "effect " + effect.key() + " to " + effect.sink()
                    + (effect.reason() == null ? "" : ": " + effect.reason());
            tell(
                    job,
                    new Notice(
                            Occasion.WAITING,
                            job.id(),
                            effect.slot(),
                            null,
                            effect.state(),
                            reason,
                            null,
                            time.wallClock(),
                            node),
                    after -> true);
        }
    }

    /** Looks whether the job does better or worse than was told, if anybody wants to know. */
    private void look(Job job) {
        if (job.notifiers().stream().allMatch(each -> each.channel() instanceof Channel.Ping)) {
            return;
        }
        queue.add(job.id(), isLast -> {
            Told.Change change;
            try {
                change = told.change(job.id());
            } catch (StoreException e) {
                if (isLast) {
                    journal.record(new Event.Note(
                            job.id(),
                            "whether notifiers are to be told is looked at again with the next run: "
                                    + e.getMessage()));
                }
                return false;
            }
            tell(job, change);
            return true;
        });
    }

    private void tell(Job job, Told.Change change) {
        Told.Last last = change.last();
        if (last == null) {
            return;
        }
        boolean isOver = change.now() == 0;
        Notice notice = new Notice(
                isOver ? Occasion.RECOVERY : Occasion.FAILURE,
                job.id(),
                last.slotKey(),
                last.attempt() == 0 ? null : last.attempt(),
                last.outcome().name(),
                last.reason(),
                change.now(),
                last.endedAt(),
                node);
        boolean isPausedNext = !isOver && last.classification() == Classification.AUTH;
        tell(job, notice, after -> isOver ? change.isRecoveryAfter(after) : change.isFailureAfter(after), isPausedNext);
    }

    private void tell(Job job, Notice notice, IntPredicate isDue) {
        tell(job, notice, isDue, false);
    }

    /** @param isPausedNext whether the job is paused for the same reason: who is told of that needs no second notice */
    private void tell(Job job, Notice notice, IntPredicate isDue, boolean isPausedNext) {
        for (int i = 0; i < job.notifiers().size(); i++) {
            Notifier notifier = job.notifiers().get(i);
            boolean isToldAnyway = isPausedNext && notifier.on().contains(Occasion.PAUSED);
            if (!notifier.on().contains(notice.occasion()) || !isDue.test(notifier.after()) || isToldAnyway) {
                continue;
            }
            switch (notifier.channel()) {
                case Channel.Ping ping -> {}
                case Channel.Webhook(HttpEndpoint endpoint) -> {
                    HttpSender.Note note = new HttpSender.Note("", Map.of(), notice.headers(), null, notice.json());
                    queue.add(lane(job, i), request(job, "webhook", notice.occasion(), endpoint, note));
                }
                case Channel.Mail mail -> queue.add(lane(job, i), mail(job, mail, notice));
            }
        }
    }

    /** Once, unless sendmail itself says that another try may help: what was cut off may have gone out. */
    private Sending mail(Job job, Channel.Mail mail, Notice notice) {
        return isLast -> {
            String trouble;
            boolean isFinal = true;
            try {
                Programs.Ended ended = programs.run(
                        List.of(mail.sendmail().toString(), "-t", "-i"),
                        mailEnvironment,
                        null,
                        notice.mail(mail.to()),
                        MAIL_LIMIT);
                trouble = ended.isFine()
                        ? null
                        : mail.sendmail() + ": " + ended + " " + ended.err().strip();
                isFinal = ended.timedOut() || ended.code() != TEMPORARY_FAILURE;
            } catch (IOException e) {
                trouble = String.valueOf(e.getMessage());
            }
            if (trouble == null || isLast || isFinal) {
                notified(job, "mail", notice.occasion(), trouble == null ? null : shortened(trouble));
                return true;
            }
            return false;
        };
    }

    private static String shortened(String text) {
        String line = text.replaceAll("\\s+", " ").strip();
        return line.length() <= LONGEST_TROUBLE ? line : line.substring(0, LONGEST_TROUBLE) + "…";
    }
}
