package dev.fencepost.faults;

import dev.fencepost.edge.host.SystemEntropy;
import dev.fencepost.edge.host.SystemThreads;
import dev.fencepost.edge.host.SystemTime;
import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.edge.process.OsChildren;
import dev.fencepost.effect.Announcement;
import dev.fencepost.effect.Content;
import dev.fencepost.effect.Effect;
import dev.fencepost.effect.EffectState;
import dev.fencepost.effect.Outbox.Begun;
import dev.fencepost.effect.Pair;
import dev.fencepost.effect.Receipt;
import dev.fencepost.effect.Settlement;
import dev.fencepost.history.BootClock;
import dev.fencepost.history.HistoryFile;
import dev.fencepost.host.Event;
import dev.fencepost.host.Journal;
import dev.fencepost.lease.Claim;
import dev.fencepost.lease.FencingToken;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.Renewal;
import dev.fencepost.lease.RunId;
import dev.fencepost.lease.StoreException;
import dev.fencepost.run.Completed;
import dev.fencepost.run.Completion;
import dev.fencepost.run.Job;
import dev.fencepost.run.Outcome;
import dev.fencepost.run.Start;
import dev.fencepost.work.Artifact;
import dev.fencepost.work.Body;
import dev.fencepost.work.Grant;
import dev.fencepost.work.NewItem;
import dev.fencepost.work.WorkAnswer;
import dev.fencepost.work.WorkItem;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.function.Supplier;
import java.util.stream.IntStream;

/**
 * A process that holds leases of all kinds by the production store, and writes a history. It obeys lines of its standard input:
 *
 * <ul>
 *   <li>{@code hold NUMBER ROUND}: claims the job, the item and the turn of this number, says {@code held ROUND}, renews until it is
 *       refused; then, after {@code try NUMBER ROUND}, tries everything that a holder can do, and says {@code tried ROUND}.
 *   <li>{@code take NUMBER ROUND}: claims the same as soon as it can be had, completes it, sends its effects, and says
 *       {@code taken NUMBER ROUND}.
 * </ul>
 */
final class StaleHolderMain {

    static final Duration TTL = Duration.ofSeconds(1);

    private static final Duration PAUSE = Duration.ofMillis(50);
    private static final String SINK = Sinks.CHECKED;

    /** What a call of the store came to. */
    private record Said(boolean accepted, String reason) {
        static final Said YES = new Said(true, "");

        static Said of(Optional<?> refusal) {
            return refusal.isEmpty() ? YES : new Said(false, String.valueOf(refusal.get()));
        }

        static Said of(Renewal renewal) {
            return renewal instanceof Renewal.Lost lost
                    ? new Said(false, lost.reason().name())
                    : YES;
        }

        static Said of(Completed completed) {
            return switch (completed) {
                case Completed.Stored stored -> YES;
                case Completed.Refused refused ->
                    new Said(false, refused.reason().name());
                case Completed.Conflict conflict -> new Said(false, "CONFLICT");
            };
        }

        static Said of(WorkAnswer answer) {
            return answer instanceof WorkAnswer.Refused refused
                    ? new Said(false, refused.reason().name())
                    : YES;
        }
    }

    private final JdbcStore store;
    private final Owner owner;
    private final HistoryFile history;
    private final URI receiver;
    private final HttpClient http = HttpClient.newHttpClient();
    private final SystemEntropy entropy = new SystemEntropy();
    private final Semaphore mayTry = new Semaphore(0);

    private StaleHolderMain(JdbcStore store, Owner owner, HistoryFile history, URI receiver) {
        this.store = store;
        this.owner = owner;
        this.history = history;
        this.receiver = receiver;
    }

    /** Arguments: SQLite file or JDBC address of PostgreSQL, node id, name of the history, its folder, receiver, number of jobs. */
    public static void main(String[] args) throws Exception {
        Journal journal = event -> {
            if (event instanceof Event.Problem problem) {
                System.err.println(problem);
            }
        };
        SystemTime time = new SystemTime();
        SystemThreads threads = new SystemThreads(journal);
        JdbcStore store = args[0].startsWith("jdbc:")
                ? JdbcStore.postgres(args[0], "postgres", null, "postgres", journal)
                : JdbcStore.sqlite(Path.of(args[0]), time, threads);
        store.prepare();
        Owner owner =
                OsChildren.thisIncarnation(args[1], time, new SystemEntropy()).owner();
        HistoryFile history = new HistoryFile(Path.of(args[3]), args[2]);
        StaleHolderMain main = new StaleHolderMain(store, owner, history, URI.create(args[4]));
        store.register(IntStream.range(0, Integer.parseInt(args[5]))
                .mapToObj(StaleHolderMain::job)
                .toList());
        say("ready");
        try (ExecutorService turns = Executors.newVirtualThreadPerTaskExecutor();
                BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                String[] words = line.split(" ", -1);
                if (words[0].equals("try")) {
                    main.mayTry.release();
                    continue;
                }
                int number = Integer.parseInt(words[1]);
                int round = Integer.parseInt(words[2]);
                turns.submit(() -> {
                    try {
                        if (words[0].equals("hold")) {
                            main.hold(number, round);
                        } else {
                            main.take(number, round);
                        }
                    } catch (Exception | Error e) {
                        say("broken " + number + " " + round + " " + e);
                        e.printStackTrace();
                    }
                });
            }
        }
        store.close();
        System.exit(0);
    }

    private static void say(String line) {
        synchronized (System.out) {
            System.out.println(line);
            System.out.flush();
        }
    }

    private static Job job(int number) {
        return PlainJob.of("job-" + number, TTL);
    }

    private static String item(int number, int round) {
        return "item-" + number + "-" + round;
    }

    private RunId newRun() {
        return new RunId(entropy.uuid());
    }

    private void granted(String resource, long token, RunId run, long sent) {
        history.write(
                "granted",
                "resource",
                resource,
                "token",
                token,
                "run",
                run.toString(),
                "owner",
                owner.text(),
                "sent",
                sent);
    }

    // ---- the holder that will be stopped

    private void hold(int number, int round) throws Exception {
        Lease lease = claimJob(number, round);
        store.enqueue(new NewItem(item(number, round), "default", null, 0, null, 1_000));
        Grant grant = claimItem(number, round);
        Pair pair = new Pair(SINK, "job-" + number);
        Lease turn = claimTurn(pair);
        Effect effect = store.next(pair);
        say("held " + round);
        while (ask("keep", lease, false, () -> Said.of(store.renew(lease, TTL))).accepted()
                && ask("keep", grant, false, () -> Said.of(store.renew(grant, TTL)))
                        .accepted()) {
            Thread.sleep(PAUSE); // so that all of them get at the one writer of SQLite
        }
        mayTry.acquire();
        ask("renew", lease, true, () -> Said.of(store.renew(lease, TTL)));
        ask("complete", lease, true, () -> Said.of(store.complete(lease, success(number, round, "stale"))));
        ask(
                "end as lost",
                lease,
                true,
                () -> store.endAsLost(lease, "stale") ? Said.YES : new Said(false, "ENDED BEFORE"));
        ask("release", lease, true, () -> Said.of(store.release(lease)));
        ask("work renew", grant, true, () -> Said.of(store.renew(grant, TTL)));
        ask("work complete", grant, true, () -> Said.of(store.complete(grant, new Body(new byte[] {1}, "a/b"))));
        ask("work fail", grant, true, () -> Said.of(store.fail(grant, "stale", Duration.ZERO)));
        ask("work release", grant, true, () -> Said.of(store.release(grant)));
        ask(
                "work check",
                grant,
                true,
                () -> Said.of(store.check(grant).map(refused -> refused.reason().name())));
        ask(
                "work upload",
                grant,
                true,
                () -> Said.of(store.addArtifact(
                        grant,
                        new Artifact(
                                grant.id(), grant.fence().value(), "file", null, 1, "0".repeat(64), Instant.now()))));
        ask("turn renew", turn, true, () -> Said.of(store.renew(turn, TTL)));
        if (effect != null) {
            ask("turn send", turn, true, () -> {
                Begun begun = store.begin(turn, effect);
                return begun instanceof Begun.Sending
                        ? Said.YES
                        : new Said(false, begun.getClass().getSimpleName());
            });
        }
        ask("turn release", turn, true, () -> Said.of(store.release(turn)));
        String key = "job-" + number + "@" + PlainJob.slot(round).key() + "/rogue";
        ask(
                "to the receiver",
                lease,
                true,
                () -> post(lease.resource(), lease.fence().value(), lease.runId(), key, "x")
                        ? Said.YES
                        : new Said(false, "HTTP 409"));
        say("tried " + round);
    }

    // ---- the one that takes over

    private void take(int number, int round) throws Exception {
        Said done;
        do { // a store that is slow may cost it its own lease
            Lease lease = claimJob(number, round);
            done = ask("complete", lease, false, () -> Said.of(store.complete(lease, success(number, round, "good"))));
        } while (!done.accepted());
        do {
            Grant grant = claimItem(number, round);
            done = ask("work complete", grant, false, () -> Said.of(store.complete(grant, null)));
        } while (!done.accepted());
        Pair pair = new Pair(SINK, "job-" + number);
        while (!sendAll(pair, round)) {
            Thread.sleep(PAUSE); // a store that was slow has cost it its turn
        }
        say("taken " + number + " " + round);
    }

    /** All but the last effect of this round. Returns whether that was done within one turn. */
    private boolean sendAll(Pair pair, int round) throws InterruptedException {
        Lease turn = claimTurn(pair);
        while (true) {
            Effect effect = store.next(pair);
            if (effect == null
                    || (effect.slotKey().equals(PlainJob.slot(round).key())
                            && effect.name().equals("later"))) {
                retried(() -> Said.of(store.release(turn)));
                return true;
            }
            if (!send(turn, effect)) {
                return false;
            }
        }
    }

    private boolean send(Lease turn, Effect effect) {
        if (!retried(() -> store.begin(turn, effect) instanceof Begun.Sending ? Said.YES : new Said(false, ""))
                .accepted()) {
            return false;
        }
        boolean taken = post(
                effect.job(),
                effect.fence().value(),
                effect.runId(),
                effect.key(),
                new String(effect.content().bytes(), StandardCharsets.UTF_8));
        Settlement settlement = taken
                ? new Settlement(EffectState.CONFIRMED, new Receipt("HTTP 200"), null, null, false, false, null)
                : new Settlement(EffectState.REFUSED, null, "HTTP 409", null, false, false, null);
        return retried(() -> store.sent(turn, effect, settlement) ? Said.YES : new Said(false, ""))
                .accepted();
    }

    // ---- both

    private Lease claimJob(int number, int round) throws InterruptedException {
        RunId run = newRun();
        while (true) {
            long sent = BootClock.millis();
            Start start;
            try {
                start = store.start(job(number), PlainJob.slot(round), owner, run, false);
            } catch (StoreException e) {
                start = null; // the same claim again, under the same run id
            }
            switch (start) {
                case Start.Started started -> {
                    granted(
                            started.lease().resource(),
                            started.lease().fence().value(),
                            started.lease().runId(),
                            sent);
                    return started.lease();
                }
                case Start.Closed closed -> throw new IllegalStateException("closed: " + closed);
                case null, default -> Thread.sleep(PAUSE); // until the other's lease is over
            }
        }
    }

    private Grant claimItem(int number, int round) throws InterruptedException {
        RunId run = newRun();
        while (true) {
            long sent = BootClock.millis();
            try {
                if (store.claimItem(item(number, round), owner, run, TTL) instanceof WorkAnswer.Done(WorkItem got)) {
                    Grant grant = new Grant(got.id(), owner, new FencingToken(got.fence()), run);
                    granted("work:" + got.id(), got.fence(), run, sent);
                    return grant;
                }
            } catch (StoreException e) {
                // asked again
            }
            Thread.sleep(PAUSE); // until the other's lease is over
        }
    }

    private Lease claimTurn(Pair pair) throws InterruptedException {
        RunId run = newRun();
        while (true) {
            long sent = BootClock.millis();
            try {
                if (store.claim(pair.leaseResource(), owner, run, TTL) instanceof Claim.Granted(Lease lease)) {
                    granted(lease.resource(), lease.fence().value(), run, sent);
                    store.adopt(lease, pair, Duration.ZERO);
                    return lease;
                }
            } catch (StoreException e) {
                // asked again
            }
            Thread.sleep(PAUSE); // until the other's lease is over
        }
    }

    private Completion success(int number, int round, String text) {
        List<Announcement> effects = new ArrayList<>();
        for (String name : List.of("now", "later")) {
            Content content = new Content("text/plain", null, (text + " " + name).getBytes(StandardCharsets.UTF_8));
            effects.add(new Announcement(
                    name,
                    Announcement.keyOf(PlainJob.slot(round).idempotencyKey("job-" + number), name),
                    SINK,
                    content,
                    content.digest(SINK),
                    Duration.ofHours(24)));
        }
        return new Completion(Outcome.SUCCEEDED, true, true, 0, null, null, null, null, effects);
    }

    private Said ask(String operation, Lease lease, boolean stale, Supplier<Said> call) {
        return ask(operation, lease.resource(), lease.fence().value(), lease.runId(), stale, call);
    }

    private Said ask(String operation, Grant grant, boolean stale, Supplier<Said> call) {
        return ask(operation, "work:" + grant.id(), grant.fence().value(), grant.runId(), stale, call);
    }

    private Said ask(String operation, String resource, long token, RunId run, boolean stale, Supplier<Said> call) {
        history.write("try", "operation", operation, "resource", resource, "token", token, "run", run.toString());
        Said said = retried(call);
        history.write(
                "answer",
                "operation",
                operation,
                "resource",
                resource,
                "token",
                token,
                "run",
                run.toString(),
                "accepted",
                said.accepted(),
                "reason",
                said.reason(),
                "stale",
                stale);
        return said;
    }

    /** No answer is no refusal: the same is asked again until there is one. */
    private static Said retried(Supplier<Said> call) {
        while (true) {
            try {
                return call.get();
            } catch (StoreException e) {
                if (e.kind() == StoreException.Kind.BROKEN) {
                    throw e;
                }
            }
        }
    }

    private boolean post(String resource, long token, RunId run, String key, String body) {
        try {
            HttpRequest request = HttpRequest.newBuilder(receiver)
                    .header("Idempotency-Key", key)
                    .header("Fencing-Token", String.valueOf(token))
                    .header("Fencepost-Run-Id", run.toString())
                    .header("Fencepost-Resource", resource)
                    .POST(HttpRequest.BodyPublishers.ofString(body))
                    .build();
            return http.send(request, HttpResponse.BodyHandlers.discarding()).statusCode() == 200;
        } catch (IOException e) {
            throw new IllegalStateException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }
}
