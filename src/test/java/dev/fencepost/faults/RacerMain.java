package dev.fencepost.faults;

import dev.fencepost.edge.host.SystemThreads;
import dev.fencepost.edge.host.SystemTime;
import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.host.Event;
import dev.fencepost.host.Journal;
import dev.fencepost.lease.Claim;
import dev.fencepost.lease.FencingToken;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.RunId;
import dev.fencepost.lease.StoreException;
import dev.fencepost.run.Completed;
import dev.fencepost.run.Completion;
import dev.fencepost.run.Outcome;
import dev.fencepost.run.Start;
import dev.fencepost.schedule.Slot;
import dev.fencepost.work.Body;
import dev.fencepost.work.Grant;
import dev.fencepost.work.NewItem;
import dev.fencepost.work.WorkAnswer;
import dev.fencepost.work.WorkItem;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.locks.LockSupport;

/**
 * One of the processes that {@link RaceIT} lets run against each other, with the production store. It reads one order a line: when to start,
 * on the clock that all processes of the host share, and what to do. It answers with one line: when it had started, and what came of it.
 */
final class RacerMain {

    private static final Duration LONG = Duration.ofMinutes(10);

    private final JdbcStore store;
    private final Owner owner;

    private RacerMain(JdbcStore store, Owner owner) {
        this.store = store;
        this.owner = owner;
    }

    /** Arguments: SQLite file or JDBC address of PostgreSQL, and the owner's name. */
    public static void main(String[] args) throws IOException {
        Journal journal = event -> {
            if (event instanceof Event.Problem problem) {
                System.err.println(problem);
            }
        };
        JdbcStore store = args[0].startsWith("jdbc:")
                ? JdbcStore.postgres(args[0], "postgres", null, "postgres", journal)
                : JdbcStore.sqlite(Path.of(args[0]), new SystemTime(), new SystemThreads(journal));
        RacerMain racer = new RacerMain(store, new Owner(args[1]));
        store.check();
        System.out.println("ready");
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = orders.readLine(); line != null; line = orders.readLine()) {
            String[] words = line.split(" ");
            long startNanos = Long.parseLong(words[0]);
            while (System.nanoTime() < startNanos) {
                LockSupport.parkNanos(startNanos - System.nanoTime());
            }
            long started = System.nanoTime();
            System.out.println(started + " " + racer.answer(words));
        }
        store.close();
        System.exit(0);
    }

    private String answer(String[] words) {
        try {
            return switch (words[1]) {
                case "claim" -> claim(words[2]);
                case "start" -> start(words[2], words[3]);
                case "complete" -> complete(words);
                case "enqueue" -> enqueue(words[2]);
                case "take" -> take(words[2]);
                case "hand-in" -> handIn(words[2], words[3], words[4], words[5]);
                default -> "no order: " + words[1];
            };
        } catch (StoreException e) {
            return "no-answer " + e.kind() + " " + e.getMessage();
        }
    }

    private String claim(String resource) {
        return switch (store.claim(resource, owner, newRun(), LONG)) {
            case Claim.Granted granted -> "won " + shown(granted.lease());
            case Claim.Held held -> "held " + shown(held.by());
        };
    }

    private String start(String job, String slot) {
        return switch (store.start(PlainJob.of(job, LONG), Slot.at(Instant.parse(slot)), owner, newRun(), false)) {
            case Start.Started started -> "won " + shown(started.lease());
            case Start.Held held -> "held " + shown(held.by());
            case Start.Closed closed -> "refused " + closed.reason();
        };
    }

    /** The end of an attempt under the lease that is given. */
    private String complete(String[] words) {
        Lease lease = new Lease(
                words[2],
                new Owner(words[4]),
                new FencingToken(Long.parseLong(words[5])),
                RunId.parse(words[6]),
                words[3],
                Instant.EPOCH,
                Instant.EPOCH);
        Completion end = new Completion(Outcome.SUCCEEDED, true, true, 0, null, owner.text(), null, null);
        return switch (store.complete(lease, end)) {
            case Completed.Stored stored -> "won";
            case Completed.Refused refused -> "refused " + refused.reason();
            case Completed.Conflict conflict -> "conflict";
        };
    }

    private String enqueue(String id) {
        byte[] payload = owner.text().getBytes(StandardCharsets.UTF_8);
        NewItem item = new NewItem(id, "race", new Body(payload, null), 0, null, 5);
        var enqueued = store.enqueue(item);
        Body kept = enqueued.item().payload();
        String by = kept == null ? "nobody" : new String(kept.bytes(), StandardCharsets.UTF_8);
        return (enqueued.created() ? "won " : "held ") + by;
    }

    private String take(String queue) {
        List<WorkItem> items = store.claimAny(queue, owner, List.of(newRun()), LONG);
        if (items.isEmpty()) {
            return "refused";
        }
        WorkItem item = items.getFirst();
        return "won " + item.owner() + " " + item.fence() + " " + item.runId() + " " + item.id();
    }

    private String handIn(String id, String holder, String fence, String run) {
        Grant grant = new Grant(id, new Owner(holder), new FencingToken(Long.parseLong(fence)), RunId.parse(run));
        byte[] result = owner.text().getBytes(StandardCharsets.UTF_8);
        return switch (store.complete(grant, new Body(result, null))) {
            case WorkAnswer.Done done -> "won";
            case WorkAnswer.Refused refused -> "refused " + refused.reason();
        };
    }

    private static String shown(Lease lease) {
        return lease.owner() + " " + lease.fence() + " " + lease.runId();
    }

    private static RunId newRun() {
        return new RunId(UUID.randomUUID());
    }
}
