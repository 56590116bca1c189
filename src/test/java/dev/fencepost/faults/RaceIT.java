package dev.fencepost.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import dev.fencepost.edge.host.SystemThreads;
import dev.fencepost.edge.host.SystemTime;
import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.lease.FencingToken;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.RunId;
import dev.fencepost.run.Start;
import dev.fencepost.schedule.Slot;
import dev.fencepost.store.Postgres;
import dev.fencepost.work.NewItem;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * S12: sixteen processes that start in the same millisecond, over and over; of each race exactly one is the winner, and the others are told
 * who. {@code -Dstress.rounds=} says how often they claim; the other races have a quarter of it.
 */
@Tag("faults")
class RaceIT {

    private static final int RACERS = 16;
    private static final int ROUNDS = 100;

    /** From the order to the start: by then all have read it. */
    private static final Duration RUN_UP = Duration.ofMillis(25);

    /** Long enough to be told of before it ends, even on a busy machine. */
    private static final Duration SHORT_LEASE = Duration.ofMillis(120);

    @TempDir
    Path folder;

    /** A process, and both ends of its line. */
    private record Racer(Process process, PrintStream orders, BufferedReader answers) {

        String read() throws IOException {
            String line = answers.readLine();
            if (line == null) {
                throw new AssertionError("a racer has died");
            }
            return line;
        }
    }

    /** @param words after the instant of the start: what it has to tell */
    private record Told(int racer, long startedNanos, List<String> words) {

        boolean hasWon() {
            return words.getFirst().equals("won");
        }

        boolean isHeld() {
            return words.getFirst().equals("held");
        }

        /** Owner, token and run id. */
        String grant() {
            return String.join(" ", words.subList(1, 4));
        }

        long fence() {
            return Long.parseLong(words.get(2));
        }
    }

    /** What came of all rounds of a race. */
    private static final class Tally {
        private final String race;
        private final List<String> violations = new ArrayList<>();
        private final List<Long> spreads = new ArrayList<>();
        private final long since = System.nanoTime();
        private long until = since;
        private int rounds;
        private int winners;
        private int refused;
        private int withoutAnswer;

        private Tally(String race) {
            this.race = race;
        }

        private void add(List<Told> told) {
            rounds++;
            winners += (int) told.stream().filter(Told::hasWon).count();
            for (Told each : told) {
                switch (each.words().getFirst()) {
                    case "won" -> {}
                    case "held", "refused" -> refused++;
                    default -> {
                        withoutAnswer++;
                        violations.add("round " + rounds + ": " + each);
                    }
                }
            }
            long first = told.stream().mapToLong(Told::startedNanos).min().orElseThrow();
            long last = told.stream().mapToLong(Told::startedNanos).max().orElseThrow();
            spreads.add((last - first) / 1_000);
            until = System.nanoTime();
        }

        private void require(boolean holds, String what, Object evidence) {
            if (!holds) {
                violations.add("round " + rounds + ": " + what + ": " + evidence);
            }
        }

        private String row(String store) {
            long median = spreads.stream()
                    .sorted()
                    .skip(spreads.size() / 2)
                    .findFirst()
                    .orElse(0L);
            return String.format(
                    "| %s | %s | %d | %d | %d | %d | %d | %d µs | %.1f s |",
                    store,
                    race,
                    rounds,
                    winners,
                    refused,
                    withoutAnswer,
                    violations.size(),
                    median,
                    (until - since) / 1e9);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"sqlite", "postgresql"})
    void ofSixteenThatStartInTheSameMillisecondOneWins(String kind) throws Exception {
        Postgres.Database database = kind.equals("sqlite") ? null : Postgres.newDatabase();
        String place = database == null
                ? folder.resolve("store.db").toString()
                : database.url().replaceFirst("\\?.*", "");
        int rounds = Integer.getInteger("stress.rounds", ROUNDS);
        List<Racer> racers = new ArrayList<>();
        List<Tally> tallies = new ArrayList<>();
        try (JdbcStore store = open(place)) {
            store.prepare();
            for (int i = 0;
                    i < RACERS;
                    i++) { // one after the other: sixteen JVMs that start at once take each other's time
                racers.add(newRacer(place, "racer-" + i));
                assertEquals("ready", racers.getLast().read());
            }
            tallies.add(claims(store, racers, rounds));
            tallies.add(leasesThatAreJustOver(store, racers, rounds / 4));
            tallies.add(completionsOfOneAttempt(store, racers, rounds / 4));
            tallies.add(enqueuesOfOneKey(store, racers, rounds / 4));
            tallies.add(claimsOfTheQueue(store, racers, rounds / 4));
        } finally {
            racers.forEach(racer -> racer.process().destroyForcibly());
        }
        System.out.println(
                "| store | race | rounds | winners | refused | without an answer | violations | starts within"
                        + " (median) | time |");
        tallies.forEach(tally -> System.out.println(tally.row(kind)));
        assertEquals(
                List.of(),
                tallies.stream().flatMap(tally -> tally.violations.stream()).toList());
    }

    private static JdbcStore open(String place) {
        return place.startsWith("jdbc:")
                ? JdbcStore.postgres(place, "postgres", null, "postgres", event -> {})
                : JdbcStore.sqlite(Path.of(place), new SystemTime(), new SystemThreads(event -> {}));
    }

    private static Racer newRacer(String place, String name) throws IOException {
        Process process = new ProcessBuilder(
                        ProcessHandle.current().info().command().orElseThrow(),
                        "--enable-native-access=ALL-UNNAMED",
                        "-XX:TieredStopAtLevel=1",
                        "-XX:+UseSerialGC",
                        "-Xmx48m",
                        "-Djava.util.logging.manager=org.jboss.logmanager.LogManager",
                        "-cp",
                        System.getProperty("java.class.path"),
                        RacerMain.class.getName(),
                        place,
                        name)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        return new Racer(
                process,
                new PrintStream(process.getOutputStream(), true, StandardCharsets.UTF_8),
                process.inputReader(StandardCharsets.UTF_8));
    }

    /** Lets all start at once, each with an order of its own, and reads what they tell. */
    private static List<Told> race(List<Racer> racers, long startNanos, List<String> orders) throws IOException {
        for (int i = 0; i < racers.size(); i++) {
            racers.get(i).orders().println(startNanos + " " + orders.get(i % orders.size()));
        }
        List<Told> told = new ArrayList<>();
        for (int i = 0; i < racers.size(); i++) {
            List<String> words = List.of(racers.get(i).read().split(" "));
            told.add(new Told(i, Long.parseLong(words.getFirst()), words.subList(1, words.size())));
        }
        return told;
    }

    private static List<Told> race(List<Racer> racers, List<String> orders) throws IOException {
        return race(racers, System.nanoTime() + RUN_UP.toNanos(), orders);
    }

    private static Lease lease(String resource, String grant, String slot) {
        String[] words = grant.split(" ");
        return new Lease(
                resource,
                new Owner(words[0]),
                new FencingToken(Long.parseLong(words[1])),
                RunId.parse(words[2]),
                slot,
                Instant.EPOCH,
                Instant.EPOCH);
    }

    /** All claim a free resource. */
    private static Tally claims(JdbcStore store, List<Racer> racers, int rounds) throws IOException {
        Tally tally = new Tally("claim of a free resource");
        long newest = 0;
        Set<String> grants = new HashSet<>();
        for (int i = 0; i < rounds; i++) {
            List<Told> told = race(racers, List.of("claim gate"));
            tally.add(told);
            List<Told> won = told.stream().filter(Told::hasWon).toList();
            tally.require(won.size() == 1, "not one winner", told);
            if (won.isEmpty()) {
                continue;
            }
            Told winner = won.getFirst();
            tally.require(winner.fence() > newest, "the token has not risen above " + newest, winner);
            tally.require(
                    grants.add(winner.words().get(2) + " " + winner.words().get(3)), "granted twice", winner);
            tally.require(
                    told.stream()
                            .filter(Told::isHeld)
                            .allMatch(each -> each.grant().equals(winner.grant())),
                    "told of another holder than " + winner,
                    told);
            newest = winner.fence();
            tally.require(
                    store.release(lease("gate", winner.grant(), null)).equals(Optional.empty()),
                    "the winner does not hold it",
                    winner);
        }
        return tally;
    }

    /** The holder of a lease completes at its end, and the others start the same slot: either it is done, or one of them runs. */
    private static Tally leasesThatAreJustOver(JdbcStore store, List<Racer> racers, int rounds) throws IOException {
        Tally tally = new Tally("completion against take-over at the end of a lease");
        String job = "short";
        store.register(List.of(PlainJob.of(job, SHORT_LEASE)));
        Instant slot = Instant.parse("2026-01-01T00:00:00Z");
        for (int i = 0; i < rounds; i++) {
            slot = slot.plusSeconds(60);
            long granted = System.nanoTime();
            Start.Started first = assertInstanceOf(
                    Start.Started.class,
                    store.start(
                            PlainJob.of(job, SHORT_LEASE),
                            Slot.at(slot),
                            new Owner("first"),
                            new RunId(UUID.randomUUID()),
                            false));
            Lease lease = first.lease();
            String grant = lease.owner() + " " + lease.fence() + " " + lease.runId();
            List<String> orders = new ArrayList<>();
            orders.add("complete " + job + " " + slot + " " + grant);
            for (int racer = 1; racer < RACERS; racer++) {
                orders.add("start " + job + " " + slot);
            }
            long around = granted + SHORT_LEASE.toNanos() + (i % 5) * 1_000_000L;
            List<Told> told = race(racers, around, orders);
            tally.add(told);
            boolean completed = told.getFirst().hasWon();
            List<Told> won = told.stream().skip(1).filter(Told::hasWon).toList();
            tally.require(won.size() + (completed ? 1 : 0) <= 1, "more than one winner", told);
            for (Told winner : won) {
                tally.require(winner.fence() > lease.fence().value(), "the token has not risen", winner);
            }
            tally.require(
                    told.stream()
                            .filter(Told::isHeld)
                            .allMatch(each -> each.grant().equals(grant)
                                    || (!won.isEmpty()
                                            && each.grant()
                                                    .equals(won.getFirst().grant()))),
                    "told of another holder",
                    told);
            for (Told winner : won) {
                store.release(lease(job, winner.grant(), slot.toString()));
            }
            store.abandon(lease, true); // where all came too early, it is still there
        }
        tally.require(tally.winners > 0, "nobody ever won: this shows nothing", tally.rounds);
        return tally;
    }

    /** All hand in the end of the same attempt. */
    private static Tally completionsOfOneAttempt(JdbcStore store, List<Racer> racers, int rounds) throws IOException {
        Tally tally = new Tally("completion of one attempt");
        String job = "twins";
        store.register(List.of(PlainJob.of(job, Duration.ofMinutes(10))));
        Instant slot = Instant.parse("2026-01-01T00:00:00Z");
        for (int i = 0; i < rounds; i++) {
            slot = slot.plusSeconds(60);
            Lease lease = assertInstanceOf(
                            Start.Started.class,
                            store.start(
                                    PlainJob.of(job, Duration.ofMinutes(10)),
                                    Slot.at(slot),
                                    new Owner("first"),
                                    new RunId(UUID.randomUUID()),
                                    false))
                    .lease();
            List<Told> told = race(
                    racers,
                    List.of("complete " + job + " " + slot + " " + lease.owner() + " " + lease.fence() + " "
                            + lease.runId()));
            tally.add(told);
            List<Told> won = told.stream().filter(Told::hasWon).toList();
            tally.require(won.size() == 1, "not one winner", told);
            tally.require(
                    told.stream()
                            .filter(each -> !each.hasWon())
                            .allMatch(each -> each.words().equals(List.of("refused", "ALREADY_DONE"))),
                    "refused for another reason",
                    told);
            var attempt = store.attempt(job, lease.runId());
            tally.require(
                    attempt != null
                            && won.size() == 1
                            && ("racer-" + won.getFirst().racer()).equals(attempt.reason()),
                    "what is stored is not the winner's",
                    attempt + " " + won);
        }
        return tally;
    }

    /** All put an item of the same id into a queue. */
    private static Tally enqueuesOfOneKey(JdbcStore store, List<Racer> racers, int rounds) throws IOException {
        Tally tally = new Tally("enqueue of one id");
        for (int i = 0; i < rounds; i++) {
            List<Told> told = race(racers, List.of("enqueue item-" + i));
            tally.add(told);
            List<Told> won = told.stream().filter(Told::hasWon).toList();
            tally.require(won.size() == 1, "not one winner", told);
            tally.require(
                    won.size() == 1
                            && told.stream()
                                    .allMatch(each -> each.words()
                                            .get(1)
                                            .equals("racer-" + won.getFirst().racer())),
                    "somebody else's payload is shown",
                    told);
        }
        return tally;
    }

    /** All claim from a queue with three items, then hand in the result of the first of them. */
    private static Tally claimsOfTheQueue(JdbcStore store, List<Racer> racers, int rounds) throws IOException {
        Tally tally = new Tally("claim of a queue with 3 items, then one result");
        int items = 3;
        for (int i = 0; i < rounds; i++) {
            for (int item = 0; item < items; item++) {
                store.enqueue(new NewItem("q" + i + "-" + item, "few", null, 0, null, 5));
            }
            List<Told> told = race(racers, List.of("take few"));
            tally.add(told);
            List<Told> won = told.stream().filter(Told::hasWon).toList();
            Set<String> taken = new HashSet<>();
            won.forEach(each -> taken.add(each.words().get(4)));
            tally.require(won.size() == items, "not each item has one holder", told);
            tally.require(taken.size() == won.size(), "an item has two holders", told);
            tally.require(
                    won.stream().allMatch(each -> each.words().get(1).equals("racer-" + each.racer())),
                    "given to another",
                    told);
            if (won.isEmpty()) {
                continue;
            }
            Told holder = won.getFirst();
            List<Told> results =
                    race(racers, List.of("hand-in " + holder.words().get(4) + " " + holder.grant()));
            List<Told> stored = results.stream().filter(Told::hasWon).toList();
            tally.require(stored.size() == 1, "not one result", results);
            var item = store.item(holder.words().get(4));
            var body = item == null ? null : item.result();
            tally.require(
                    body != null
                            && stored.size() == 1
                            && new String(body.bytes(), StandardCharsets.UTF_8)
                                    .equals("racer-" + stored.getFirst().racer()),
                    "what is stored is not the winner's result",
                    stored);
        }
        return tally;
    }
}
