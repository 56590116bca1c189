package dev.fencepost.edge.systemd;

import dev.fencepost.host.Event;
import dev.fencepost.host.Journal;
import dev.fencepost.host.Printable;
import dev.fencepost.host.Programs;
import dev.fencepost.host.Spawner;
import dev.fencepost.host.Time;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * What the service manager is told, in this order of importance: that the service is ready, is reloading, stops; that it is alive, as long as
 * its loops turn; and its status, for people.
 *
 * <p>On a platform thread of its own, which alone waits for the program that sends: with all carriers pinned it goes on, and sees that the looks
 * do not come. What could not be told is told again with growing distance; the first failure is noted, all are counted.
 */
public final class Supervision implements Runnable {

    /** The service that is supervised. Asked often, so each answer has to come at once. */
    public interface Service {

        /** Whether what was planned first runs, or is known to be impossible for now. */
        boolean hasBegun();

        /** Why a loop stands still, or null if all turn. */
        @Nullable
        String standstill();

        /** One line for people. */
        String status();
    }

    /** How often it is looked whether there is something to tell. */
    private static final Duration LOOK = Duration.ofSeconds(1);

    /** A status alone is not told more often; one message costs a process. */
    private static final Duration STATUS_GAP = Duration.ofSeconds(10);

    private static final Duration LONGEST_BACKOFF = Duration.ofSeconds(30);
    private static final int LONGEST_STATUS = 500;

    private final NotifySocket socket;
    private final @Nullable Duration pingEvery;
    private final Service service;
    private final Time time;
    private final LongSupplier monotonicMicros;
    private final Journal journal;
    private final Semaphore bell = new Semaphore(0);

    /** What has to be told in its order; the first is taken away when it has arrived. */
    private final Deque<List<String>> pending = new ArrayDeque<>();

    private volatile boolean ready;
    private volatile boolean over;
    private final AtomicLong failures = new AtomicLong();
    private volatile Spawner.@Nullable Task task;
    private @Nullable String told;
    private long toldAt;
    private long pingedAt;
    private @Nullable String standstill;
    private long silentUntil = Long.MIN_VALUE;
    private Duration backoff = LOOK;

    Supervision(
            NotifySocket socket,
            @Nullable Duration watchdog,
            Service service,
            Time time,
            LongSupplier monotonicMicros,
            Journal journal) {
        this.socket = socket;
        this.pingEvery = watchdog == null ? null : watchdog.dividedBy(3); // so that one lost ping does no harm
        this.service = service;
        this.time = time;
        this.monotonicMicros = monotonicMicros;
        this.journal = journal;
    }

    /**
     * By what the manager says in the environment.
     *
     * @param pid of this process: a watchdog may be meant for another one
     * @param monotonicMicros the host's monotonic clock, which stands still while the machine is suspended
     * @return null where nobody listens
     */
    public static @Nullable Supervision of(
            Map<String, String> environment,
            long pid,
            Service service,
            Programs programs,
            Time time,
            LongSupplier monotonicMicros,
            Journal journal) {
        if (environment.getOrDefault(NotifySocket.VARIABLE, "").isEmpty()) {
            return null;
        }
        NotifySocket socket = new NotifySocket(environment, programs);
        return new Supervision(socket, watchdog(environment, pid), service, time, monotonicMicros, journal);
    }

    /** How long the manager waits for a ping, or null if for none. */
    static @Nullable Duration watchdog(Map<String, String> environment, long pid) {
        String meant = environment.getOrDefault("WATCHDOG_PID", "");
        String micros = environment.getOrDefault("WATCHDOG_USEC", "");
        if ((!meant.isEmpty() && !meant.equals(Long.toString(pid))) || !micros.matches("[0-9]{1,18}")) {
            return null;
        }
        long value = Long.parseLong(micros);
        return value == 0 ? null : Duration.of(value, ChronoUnit.MICROS);
    }

    public void start(Spawner spawner) {
        task = spawner.platformThread("service-manager", this);
    }

    @Override
    public void run() {
        try {
            while (true) {
                boolean last = over;
                turn();
                if (last) {
                    return;
                }
                boolean rung = bell.tryAcquire(pauseMillis(), TimeUnit.MILLISECONDS);
                if (rung) {
                    bell.drainPermits();
                }
            }
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
        }
    }

    private long pauseMillis() {
        return pingEvery != null && pingEvery.compareTo(LOOK) < 0
                ? Math.max(50, pingEvery.toMillis())
                : LOOK.toMillis();
    }

    /** The jobs file is being read anew. Before the service is ready nobody need know. */
    public void reloading() {
        if (ready) {
            tell(List.of("RELOADING=1", "MONOTONIC_USEC=" + monotonicMicros.getAsLong()));
        }
    }

    /** That is done, whatever came of it: the service goes on. */
    public void reloaded() {
        if (ready) {
            tell(List.of("READY=1"));
        }
    }

    /** @param atMost how long it will take; the manager waits at least so long, even if its own limit is shorter */
    public void stopping(Duration atMost) {
        tell(List.of("STOPPING=1", "EXTEND_TIMEOUT_USEC=" + TimeUnit.MILLISECONDS.toMicros(atMost.toMillis())));
    }

    private void tell(List<String> assignments) {
        synchronized (pending) {
            if (pending.size() > 3) { // the manager is away; what comes now says more
                pending.clear();
            }
            pending.add(assignments);
        }
        bell.release();
    }

    /** Tells what is left to be told, and waits for it. */
    public void end(Duration limit) throws InterruptedException {
        over = true;
        bell.release();
        Spawner.Task running = task;
        if (running != null) {
            running.join(limit);
        }
    }

    /** How many messages did not arrive. */
    public long failures() {
        return failures.get();
    }

    /** Tells what there is to tell. */
    void turn() throws InterruptedException {
        if (time.bootMillis() < silentUntil) {
            return;
        }
        for (List<String> next = firstPending(); next != null; next = firstPending()) {
            List<String> message = new ArrayList<>(next);
            String status = status();
            message.add("STATUS=" + status);
            if (!send(message, status)) {
                return;
            }
            synchronized (pending) {
                pending.removeFirstOccurrence(next);
            }
        }
        if (!over) {
            tellState();
        }
    }

    private @Nullable List<String> firstPending() {
        synchronized (pending) {
            return pending.peekFirst();
        }
    }

    private void tellState() throws InterruptedException {
        long now = time.bootMillis();
        List<String> message = new ArrayList<>();
        boolean begins = !ready && service.hasBegun();
        if (begins) {
            message.add("READY=1");
        }
        boolean pings = (ready || begins) && isPingDue(now) && turns();
        if (pings) {
            message.add("WATCHDOG=1");
        }
        if (message.isEmpty() && told != null && now - toldAt < STATUS_GAP.toMillis()) {
            return;
        }
        String status = status();
        if (!status.equals(told)) {
            message.add("STATUS=" + status);
        }
        if (!message.isEmpty() && send(message, status)) {
            ready |= begins;
            pingedAt = pings ? now : pingedAt;
        }
    }

    private boolean isPingDue(long now) {
        return pingEvery != null && (pingedAt == 0 || now - pingedAt >= pingEvery.toMillis());
    }

    private boolean turns() {
        String found = service.standstill();
        if (found != null && !found.equals(standstill)) {
            journal.record(new Event.Problem(
                    "watchdog", null, null, null, "the watchdog of the service manager is not fed: " + found, null));
        }
        standstill = found;
        return found == null;
    }

    private String status() {
        String text = Printable.text(service.status()).replace('\t', ' ');
        return text.length() <= LONGEST_STATUS ? text : text.substring(0, LONGEST_STATUS - 1) + "…";
    }

    private boolean send(List<String> message, String status) throws InterruptedException {
        String failure = socket.send(message);
        if (failure == null) {
            told = status;
            toldAt = time.bootMillis();
            backoff = LOOK;
            return true;
        }
        if (failures.getAndIncrement() == 0) {
            journal.record(new Event.Note(
                    null,
                    "the service manager was not told " + message.getFirst() + ": " + failure
                            + "; tried again, and not noted again"));
        }
        silentUntil = time.bootMillis() + backoff.toMillis();
        Duration doubled = backoff.multipliedBy(2);
        backoff = doubled.compareTo(LONGEST_BACKOFF) > 0 ? LONGEST_BACKOFF : doubled;
        return false;
    }
}
