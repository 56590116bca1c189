package dev.fencepost.edge.notify;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.edge.host.SystemThreads;
import dev.fencepost.edge.host.SystemTime;
import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.edge.notify.SendQueue.Limits;
import dev.fencepost.edge.process.OsPrograms;
import dev.fencepost.edge.sink.HttpNotes;
import dev.fencepost.edge.sink.Receiver;
import dev.fencepost.effect.HttpEndpoint;
import dev.fencepost.effect.TextOrFile;
import dev.fencepost.host.Event;
import dev.fencepost.host.Journal;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.RunId;
import dev.fencepost.run.Action;
import dev.fencepost.run.Completion;
import dev.fencepost.run.Job;
import dev.fencepost.run.Notifier;
import dev.fencepost.run.Notifier.Channel;
import dev.fencepost.run.Notifier.Occasion;
import dev.fencepost.run.Outcome;
import dev.fencepost.run.Pause;
import dev.fencepost.run.Policies;
import dev.fencepost.run.Start;
import dev.fencepost.schedule.CatchUp;
import dev.fencepost.schedule.Every;
import dev.fencepost.schedule.Slot;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.DriverManager;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Notifiers with a real store, a real HTTP server and a real sendmail, which is a script. */
class NotificationsTest {

    private static final Duration LONG = Duration.ofSeconds(20);
    private static final Set<Occasion> RUNS = Set.of(Occasion.START, Occasion.SUCCESS, Occasion.FAILURE);
    private static final Set<Occasion> CHANGES =
            Set.of(Occasion.FAILURE, Occasion.RECOVERY, Occasion.PAUSED, Occasion.WAITING);

    @TempDir
    private Path folder;

    private final SystemTime time = new SystemTime();
    private final List<Event> events = new CopyOnWriteArrayList<>();
    private final SystemThreads threads = new SystemThreads(events::add);
    private final AtomicInteger slots = new AtomicInteger();
    private JdbcStore store;
    private Receiver receiver;
    private Notifications notifications;

    @BeforeEach
    void open() throws IOException {
        store = JdbcStore.sqlite(folder.resolve("store.db"), time, threads);
        store.prepare();
        receiver = Receiver.saying(Receiver.answer(200, "OK"));
        notifications = notifications();
    }

    @AfterEach
    void close() throws IOException {
        receiver.close();
        store.close();
        assertEquals(List.of(), problems());
    }

    private Notifications notifications() {
        return new Notifications(
                new HttpNotes(time, threads),
                new OsPrograms(time, threads),
                Map.of("PATH", "/usr/bin:/bin", "SECRET_TOKEN", "hunter2"),
                store,
                store,
                time,
                threads,
                events::add,
                "node-1",
                new Limits(100, 8, List.of(Duration.ofMillis(10), Duration.ofMillis(10))));
    }

    private List<Event> problems() {
        return events.stream().filter(Event.Problem.class::isInstance).toList();
    }

    private static HttpEndpoint endpoint(String url, Duration limit) {
        return new HttpEndpoint(
                "POST",
                new TextOrFile(url, null),
                Map.of(),
                "text/plain; charset=utf-8",
                limit,
                Set.of("127.0.0.1"),
                false,
                null);
    }

    private Notifier ping(String path) {
        return new Notifier(new Channel.Ping(endpoint(receiver.url(path), LONG)), RUNS, 1);
    }

    private Notifier webhook(int after) {
        return new Notifier(new Channel.Webhook(endpoint(receiver.url("/hook"), LONG)), CHANGES, after);
    }

    private Job job(Notifier... notifiers) {
        Job job = new Job(
                "article",
                new Every(Duration.ofMinutes(1), Instant.EPOCH),
                ZoneOffset.UTC,
                new Action.Command(List.of("true"), null, Map.of(), null, null),
                Set.of(),
                Duration.ofMinutes(10),
                null,
                Duration.ofSeconds(1),
                CatchUp.DEFAULT,
                null,
                2,
                null,
                List.of(),
                Policies.DEFAULT,
                List.of(notifiers));
        store.register(List.of(job));
        notifications.watch(List.of(job));
        return job;
    }

    private Lease claim(Job job, Slot slot) {
        return assertInstanceOf(
                        Start.Started.class,
                        store.start(job, slot, new Owner("me"), new RunId(UUID.randomUUID()), false))
                .lease();
    }

    /** A whole run, as the runner tells of it; what it has to tell is sent when this returns. */
    private Lease run(Job job, Completion completion) throws InterruptedException {
        Slot slot = Slot.manual(store.now(), "run" + slots.incrementAndGet());
        Lease lease = claim(job, slot);
        notifications.started(job, slot, 1, lease);
        store.complete(lease, completion);
        notifications.ended(job, slot, 1, lease, completion);
        notifications.close(LONG);
        return lease;
    }

    private static Completion ended(
            Outcome outcome,
            @Nullable Integer code,
            @Nullable Integer signal,
            @Nullable String reason,
            @Nullable String tail) {
        return new Completion(outcome, true, true, code, signal, reason, null, tail);
    }

    private static Completion success() {
        return ended(Outcome.SUCCEEDED, 0, null, null, "all is well\n");
    }

    private static Completion failure(int code) {
        return ended(Outcome.FAILED, code, null, "exit code " + code, "it broke\n");
    }

    private List<String> lines() {
        return receiver.requests.stream().map(Receiver.Request::line).toList();
    }

    private List<String> told() {
        return receiver.requests.stream()
                .map(request -> new String(request.body(), StandardCharsets.UTF_8))
                .map(body ->
                        body.replaceAll(".*\"event\":\"([a-z]+)\".*\"failures_in_a_row\":([0-9]+|null).*", "$1 $2"))
                .toList();
    }

    // Pings

    @Test
    void aRunIsPingedAtItsStartAndItsEnd() throws Exception {
        Lease lease = run(job(ping("/ping/abc")), success());
        assertEquals(
                List.of(
                        "POST /ping/abc/start?rid=" + lease.runId() + " HTTP/1.1",
                        "POST /ping/abc?rid=" + lease.runId() + " HTTP/1.1"),
                lines());
        assertEquals("", new String(receiver.requests.get(0).body(), StandardCharsets.UTF_8));
        assertEquals("all is well\n", new String(receiver.requests.get(1).body(), StandardCharsets.UTF_8));
        assertEquals(
                "text/plain; charset=utf-8", receiver.requests.get(1).headers().get("Content-Type"));
        assertEquals(
                List.of(
                        new Event.Notified("article", "ping", "start", null),
                        new Event.Notified("article", "ping", "success", null)),
                events);
    }

    @Test
    void aFailureTellsItsExitCodeAndEverythingElseThatItFailed() throws Exception {
        Job job = job(new Notifier(
                new Channel.Ping(endpoint(receiver.url("/p/?create=1"), LONG)), Set.of(Occasion.FAILURE), 1));
        run(job, failure(3));
        run(job, failure(255));
        run(job, ended(Outcome.FAILED, 137, 9, "signal 9", ""));
        run(job, ended(Outcome.FAILED, 0, null, "the result is empty", "x"));
        run(job, ended(Outcome.FAILED, null, null, "could not be started: no such file", null));
        run(job, ended(Outcome.TIMED_OUT, 143, null, "timeout of 5m passed", ""));
        assertEquals(
                List.of("/p/3", "/p/255", "/p/fail", "/p/fail", "/p/fail", "/p/fail"),
                receiver.requests.stream()
                        .map(request -> request.line().replaceAll("POST (.*)\\?create=1&rid=[0-9a-f-]{36} .*", "$1"))
                        .toList());
        assertEquals(
                "could not be started: no such file",
                new String(receiver.requests.get(4).body(), StandardCharsets.UTF_8),
                "without any output the reason is sent");
    }

    @Test
    void theEndOfALongOutputIsSentFromTheBeginningOfACharacter() throws Exception {
        run(job(ping("/p")), ended(Outcome.SUCCEEDED, 0, null, null, "x" + "ä".repeat(10_000) + "!"));
        String body = new String(receiver.requests.get(1).body(), StandardCharsets.UTF_8);
        assertEquals("ä".repeat(4_999) + "!", body);
    }

    @Test
    void whatAPersonOrAStopEndedAndWhatIsTriedAgainSendsNoFailure() throws Exception {
        Job job = job(new Notifier(
                new Channel.Ping(endpoint(receiver.url("/p"), LONG)), Set.of(Occasion.FAILURE, Occasion.SUCCESS), 1));
        run(job, ended(Outcome.CANCELLED, 143, null, "by a person", "x"));
        run(job, new Completion(Outcome.ABANDONED, false, false, 143, null, "shutdown", null, "x"));
        run(job, new Completion(Outcome.FAILED, false, true, 1, null, "exit code 1", null, "x"));
        assertEquals(List.of(), lines());
    }

    @Test
    void aLostLeaseIsAFailureOnlyWhileNobodyElseHasTheTurn() throws Exception {
        Job job = job(new Notifier(new Channel.Ping(endpoint(receiver.url("/p"), LONG)), Set.of(Occasion.FAILURE), 1));
        Slot slot = Slot.manual(store.now(), "lost");
        Lease old = claim(job, slot);
        Completion lost = new Completion(Outcome.LEASE_LOST, false, true, 143, null, "lease lost", null, "x");
        notifications.ended(job, slot, 1, old, lost);
        notifications.close(LONG);
        assertEquals(List.of("POST /p/fail?rid=" + old.runId() + " HTTP/1.1"), lines());
        store.breakLease(job.id(), "for the test");
        claim(job, Slot.manual(store.now(), "newer"));
        notifications.ended(job, slot, 1, old, lost);
        notifications.close(LONG);
        assertEquals(1, receiver.requests.size(), "the newer run pings for itself");
    }

    @Test
    void theUrlOfAPingStaysSecret() throws Exception {
        receiver.close();
        receiver = Receiver.saying(Receiver.answer(404, "no /ping/abc here"));
        Path file = Files.writeString(folder.resolve("url"), receiver.url("/ping/abc-from-file"));
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
        HttpEndpoint fromFile = new HttpEndpoint(
                "POST", new TextOrFile(null, file), Map.of(), "text/plain", LONG, Set.of("127.0.0.1"), false, null);
        run(job(ping("/ping/abc"), new Notifier(new Channel.Ping(fromFile), RUNS, 1)), success());
        assertEquals(4, receiver.requests.size(), "a receiver that says no is not asked again");
        assertTrue(lines().stream().anyMatch(line -> line.contains("/ping/abc-from-file")), lines()::toString);
        assertEquals(4, events.size());
        assertTrue(events.toString().contains("HTTP 404 from 127.0.0.1"), events::toString);
        assertFalse(events.toString().contains("ping/abc"), events::toString);
    }

    // What a receiver may do to us

    @ParameterizedTest
    @ValueSource(strings = {"resets", "answers 500", "is busy"})
    void aReceiverInTroubleIsAskedAgainAFewTimes(String how) throws Exception {
        receiver.close();
        receiver = new Receiver((request, out) -> {
            switch (how) {
                case "answers 500" -> write(out, Receiver.answer(500, "oops"));
                case "is busy" -> write(out, Receiver.answer(429, "later"));
                default -> {}
            }
        });
        run(
                job(new Notifier(new Channel.Ping(endpoint(receiver.url("/p"), LONG)), Set.of(Occasion.SUCCESS), 1)),
                success());
        assertEquals(3, receiver.requests.size());
        assertEquals(1, events.size(), events::toString);
        assertFalse(assertInstanceOf(Event.Notified.class, events.getFirst()).trouble() == null);
    }

    @Test
    void aTroubleThatPassesIsNoTrouble() throws Exception {
        receiver.close();
        AtomicInteger asked = new AtomicInteger();
        receiver = new Receiver((request, out) ->
                write(out, Receiver.answer(asked.incrementAndGet() == 1 ? 503 : 200, "")));
        run(job(ping("/p")), success());
        assertEquals(3, receiver.requests.size());
        assertTrue(lines().get(1).contains("/start"), "the start is sent again before the end");
        assertTrue(events.stream().allMatch(event -> ((Event.Notified) event).trouble() == null), events::toString);
    }

    @Test
    void aRedirectIsNotFollowed() throws Exception {
        try (Receiver elsewhere = Receiver.saying(Receiver.answer(200, ""))) {
            receiver.close();
            receiver = Receiver.saying(Receiver.answer(302, "", "Location: " + elsewhere.url("/x")));
            run(job(ping("/p")), success());
            assertEquals(2, receiver.requests.size());
            assertEquals(List.of(), elsewhere.requests);
        }
    }

    @Test
    void aReceiverThatHangsHoldsUpNeitherTheRunNorOthers() throws Exception {
        CountDownLatch end = new CountDownLatch(1);
        try (Receiver hanging = new Receiver((request, out) -> end.await())) {
            Notifier hangs =
                    new Notifier(new Channel.Ping(endpoint(hanging.url("/p"), Duration.ofMillis(200))), RUNS, 1);
            Job job = job(hangs, ping("/good"));
            Slot slot = Slot.manual(store.now(), "x");
            Lease lease = claim(job, slot);
            long began = time.bootMillis();
            notifications.started(job, slot, 1, lease);
            notifications.ended(job, slot, 1, lease, success());
            assertTrue(time.bootMillis() - began < 1_000, "the calls return at once");
            receiver.awaitRequests(2);
            notifications.close(LONG);
            assertEquals(6, hanging.requests.size(), "three tries each, after the time limit");
            assertEquals(
                    2,
                    events.stream()
                            .filter(event -> ((Event.Notified) event).trouble() != null)
                            .count());
        } finally {
            end.countDown();
        }
    }

    private static void write(OutputStream out, String answer) throws IOException {
        out.write(answer.getBytes(StandardCharsets.UTF_8));
    }

    // Webhooks

    @Test
    void aWebhookIsToldOfTheFirstFailureAndOfTheRecovery() throws Exception {
        Job job = job(webhook(1));
        run(job, success());
        Lease failed = run(job, failure(3));
        run(job, failure(4));
        run(job, ended(Outcome.CANCELLED, 143, null, "by a person", "x"));
        run(job, success());
        run(job, success());
        assertEquals(List.of("failure 1", "recovery 0"), told());
        Receiver.Request first = receiver.requests.getFirst();
        assertEquals("POST /hook HTTP/1.1", first.line());
        String body = new String(first.body(), StandardCharsets.UTF_8);
        String at = body.replaceAll(".*\"at\":\"([^\"]*)\".*", "$1");
        assertEquals(
                "{\"event\":\"failure\",\"job\":\"article\",\"slot\":\"" + failed.slotKey()
                        + "\",\"attempt\":1,\"outcome\":\"FAILED\",\"reason\":\"exit code 3\",\"failures_in_a_row\":1,\"at\":\""
                        + Instant.parse(at) + "\",\"node\":\"node-1\"}",
                body);
        assertEquals("failure", first.headers().get("Fencepost-Event"));
        assertTrue(String.valueOf(first.headers().get("Idempotency-Key")).startsWith("article/failure@" + at));
    }

    @Test
    void eachNotifierIsToldAfterItsOwnNumberOfFailures() throws Exception {
        Job job = job(
                new Notifier(new Channel.Webhook(endpoint(receiver.url("/a"), LONG)), CHANGES, 1),
                new Notifier(new Channel.Webhook(endpoint(receiver.url("/b"), LONG)), CHANGES, 3),
                new Notifier(new Channel.Webhook(endpoint(receiver.url("/c"), LONG)), CHANGES, 4));
        for (int i = 0; i < 3; i++) {
            run(job, failure(1));
        }
        assertEquals(List.of("failure 1", "failure 3"), told());
        run(job, success());
        assertEquals(
                List.of("/a", "/a", "/b", "/b"),
                lines().stream().map(line -> line.split(" ")[1]).sorted().toList());
    }

    @Test
    void afterARestartAndOnAnotherNodeNothingIsToldAgain() throws Exception {
        Job job = job(webhook(1));
        run(job, failure(1));
        notifications = notifications();
        notifications.watch(List.of(job));
        run(job, failure(1));
        assertEquals(List.of("failure 1"), told());
        run(job, success());
        assertEquals(List.of("failure 1", "recovery 0"), told());
    }

    @Test
    void anExpiredLoginIsToldAsThePauseThatFollows() throws Exception {
        Notifier failuresAlone = new Notifier(
                new Channel.Webhook(endpoint(receiver.url("/failures"), LONG)), Set.of(Occasion.FAILURE), 1);
        Job job = job(webhook(1), failuresAlone);
        Slot slot = Slot.manual(store.now(), "login");
        Lease lease = claim(job, slot);
        store.complete(lease, failure(1));
        classify(lease);
        notifications.ended(job, slot, 1, lease, failure(1));
        notifications.paused(job, new Pause(store.now(), null, Pause.Cause.AUTH, "login expired", Pause.BY_A_BRAKE));
        notifications.close(LONG);
        List<String> bodies = receiver.requests.stream()
                .filter(request -> request.line().contains("/hook"))
                .map(request -> new String(request.body(), StandardCharsets.UTF_8))
                .toList();
        assertEquals(1, bodies.size(), bodies::toString);
        assertTrue(bodies.getFirst().startsWith("{\"event\":\"paused\""), bodies::toString);
        assertTrue(bodies.getFirst().contains("\"reason\":\"AUTH: login expired\""), bodies::toString);
        assertEquals(2, receiver.requests.size(), "who is not told of pauses is told of the failure");
    }

    private void classify(Lease lease) throws Exception {
        try (var connection = DriverManager.getConnection(
                        "jdbc:sqlite:" + folder.resolve("store.db") + "?busy_timeout=5000");
                var statement = connection.createStatement()) {
            statement.execute("update attempt set classification = 'AUTH' where run_id = '" + lease.runId() + "'");
        }
    }

    @Test
    void anEffectThatWaitsIsToldOnceUntilItMoves() throws Exception {
        job(webhook(1));
        List<Event> passed = new CopyOnWriteArrayList<>();
        Journal journal = notifications.watching(passed::add);
        Event waiting = new Event.EffectChanged(
                "article", "s1", 7, "announce", "article@s1/http", "UNKNOWN", "no answer", null, true);
        Event moving = new Event.EffectChanged(
                "article", "s1", 7, "announce", "article@s1/http", "PENDING", null, null, false);
        journal.record(moving);
        journal.record(waiting);
        journal.record(waiting);
        notifications.close(LONG);
        assertEquals(List.of("waiting null"), told());
        assertTrue(new String(receiver.requests.getFirst().body(), StandardCharsets.UTF_8)
                .contains(
                        "\"slot\":\"s1\",\"attempt\":null,\"outcome\":\"UNKNOWN\",\"reason\":\"effect article@s1/http to"
                                + " announce: no answer\""));
        journal.record(moving);
        journal.record(waiting);
        notifications.close(LONG);
        assertEquals(2, receiver.requests.size());
        assertEquals(List.of(moving, waiting, waiting, moving, waiting), passed);
    }

    @Test
    void aTickThatADeadNodeLeftIsToldWhenItsEndIsFound() throws Exception {
        Job job = job(webhook(1));
        Slot slot = Slot.manual(store.now(), "dead");
        Lease lease = claim(job, slot);
        store.complete(lease, failure(9));
        notifications.watching(event -> {}).record(new Event.Abandoned("article", slot.key(), 1, 1));
        notifications.close(LONG);
        assertEquals(List.of("failure 1"), told());
    }

    @Test
    void aStoreThatIsAwayEndsInANoteAndTheNextRunMakesUpForIt() throws Exception {
        Job job = job(webhook(1));
        Slot slot = Slot.manual(store.now(), "x");
        Lease lease = claim(job, slot);
        store.complete(lease, failure(1));
        JdbcStore away = store;
        store.close();
        notifications.ended(job, slot, 1, lease, failure(1));
        notifications.close(LONG);
        assertEquals(List.of(), told());
        assertInstanceOf(Event.Note.class, events.getFirst());
        store = JdbcStore.sqlite(folder.resolve("store.db"), time, threads);
        assertTrue(store != away);
        notifications = notifications();
        run(job, failure(2));
        assertEquals(List.of("failure 2"), told());
    }

    // Mails

    @Test
    void aMailGoesOutBySendmail() throws Exception {
        Job job = job(mail("cat > '" + folder.resolve("mail") + "'; echo \"$@ $SECRET_TOKEN\" >> '"
                + folder.resolve("mail") + "'"));
        run(job, failure(3));
        String mail = Files.readString(folder.resolve("mail"));
        assertTrue(mail.startsWith("To: ops@example.org, root\nSubject: [fencepost] article has failed\n"), mail);
        assertTrue(mail.contains("Auto-Submitted: auto-generated\n"), mail);
        assertTrue(mail.contains("\n\narticle has failed.\n\njob: article\n"), mail);
        assertTrue(mail.contains("reason: exit code 3\n"), mail);
        assertTrue(mail.endsWith("-t -i \n"), "options, and no secret of the runner: " + mail);
        assertEquals(List.of(new Event.Notified("article", "mail", "failure", null)), events);
    }

    @Test
    void aSendmailThatFailsIsToldAndOneThatIsBusyIsAskedAgain() throws Exception {
        run(job(mail("echo no such relay >&2; exit 1")), failure(3));
        String trouble =
                assertInstanceOf(Event.Notified.class, events.getFirst()).trouble();
        assertTrue(String.valueOf(trouble).endsWith("sendmail: exit code 1 no such relay"), trouble);
        Job busy = job(mail("echo x >> '" + folder.resolve("count") + "'; exit 75"));
        run(busy, success());
        assertEquals(3, Files.readAllLines(folder.resolve("count")).size(), "the recovery");
        assertEquals(2, events.size());
    }

    @Test
    void withoutASendmailTheRunGoesOn() throws Exception {
        Notifier missing = new Notifier(new Channel.Mail(List.of("root"), folder.resolve("no-sendmail")), CHANGES, 1);
        run(job(missing), failure(3));
        assertTrue(events.toString().contains("no-sendmail"), events::toString);
    }

    private Notifier mail(String script) throws IOException {
        Path sendmail = folder.resolve("sendmail");
        Files.writeString(sendmail, "#!/bin/sh\n" + script + "\n");
        Files.setPosixFilePermissions(sendmail, PosixFilePermissions.fromString("rwx------"));
        return new Notifier(new Channel.Mail(List.of("ops@example.org", "root"), sendmail), CHANGES, 1);
    }
}
