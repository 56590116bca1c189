package dev.fencepost.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import dev.fencepost.history.Checker;
import dev.fencepost.history.Figures;
import dev.fencepost.history.Violation;
import dev.fencepost.store.Postgres;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Three services on one PostgreSQL, with a job every second and effects of each run, while faults befall them at random: S1 to S9, S15, S17,
 * L1 by the histories of all that take part. {@code -Dchaos.seconds} is how long each kind takes, {@code -Dchaos.faults} how often services
 * are killed or stopped meanwhile, {@code -Dchaos.restarts} and {@code -Dchaos.promotions} how often the database is, {@code -Dchaos.seed}
 * draws them. Tables and histories are left in {@code target/chaos}.
 */
@Tag("faults")
class ChaosIT {

    private static final Duration LENGTH = Duration.ofSeconds(Long.getLong("chaos.seconds", 25));
    private static final int FAULTS = Integer.getInteger("chaos.faults", (int) (LENGTH.toSeconds() / 5));
    private static final int RESTARTS = Integer.getInteger("chaos.restarts", 2);
    private static final int PROMOTIONS = Integer.getInteger("chaos.promotions", 1);
    private static final long SEED = Long.getLong("chaos.seed", System.nanoTime() % 1_000_000);

    /** Of services, beside the faults of the database. */
    private static final int FEW_FAULTS = Math.max(1, FAULTS / 4);

    /** So that what a promotion takes away runs again, however much it is. */
    private static final int MOST_TO_CATCH_UP = 1_000;

    @Test
    void servicesAreKilled() {
        Postgres.Database database = Postgres.newDatabase();
        try (ChaosWorld world = new ChaosWorld("kill", SEED)) {
            world.start(Rows.of(database), url(database.port(), database.name()), 1);
            long end = System.nanoTime() + LENGTH.toNanos();
            for (long moment : world.moments(FAULTS, LENGTH)) {
                ChaosWorld.sleepUntil(moment);
                world.killOne();
            }
            ChaosWorld.sleepUntil(end);
            world.settle();
            check(world.judge("kill -9 of one of three services within " + LENGTH.toSeconds() + " s"));
        }
    }

    @Test
    void servicesAreStoppedPastTheirLeases() {
        Postgres.Database database = Postgres.newDatabase();
        try (ChaosWorld world = new ChaosWorld("stop", SEED)) {
            world.start(Rows.of(database), url(database.port(), database.name()), 1);
            long end = System.nanoTime() + LENGTH.toNanos();
            for (long moment : world.moments(FAULTS, LENGTH)) {
                ChaosWorld.sleepUntil(moment);
                world.freezeOne();
            }
            ChaosWorld.sleepUntil(end);
            world.settle();
            check(world.judge("SIGSTOP of one of three services for longer than its leases, within "
                    + LENGTH.toSeconds() + " s"));
        }
    }

    @Test
    void theDatabaseIsRestarted() {
        try (ChaosWorld world = new ChaosWorld("restart", SEED);
                PostgresServer server = PostgresServer.start(world.folder().resolve("database"))) {
            Postgres.Database database = server.database("chaos");
            world.start(Rows.of(database), url(database.port(), database.name()), 1);
            long end = System.nanoTime() + LENGTH.toNanos();
            List<Long> kills = world.moments(FEW_FAULTS, LENGTH);
            List<Long> restarts = world.moments(RESTARTS, LENGTH);
            List<Long> all =
                    Stream.concat(kills.stream(), restarts.stream()).sorted().toList();
            for (long moment : all) {
                ChaosWorld.sleepUntil(moment);
                if (kills.contains(moment)) {
                    world.killOne();
                } else {
                    restart(world, server);
                }
            }
            ChaosWorld.sleepUntil(end);
            world.settle();
            check(world.judge(
                    RESTARTS + " restarts of PostgreSQL, some of them crashes, within " + LENGTH.toSeconds() + " s"));
        }
    }

    private static void restart(ChaosWorld world, PostgresServer server) {
        String how = List.of("fast", "immediate", "kill").get(world.random().nextInt(3));
        world.driver().write("database", "state", "down", "how", how);
        if (how.equals("kill")) {
            server.kill();
        } else {
            server.down(how);
        }
        Wait.sleep(world.between(100, 6_000));
        server.up();
        world.driver().write("database", "state", "up");
    }

    /**
     * The standby is cut off for a while before the primary dies, so it lacks the newest of what was acknowledged. What only the lost
     * primary had is done again, under tokens that were never given before; where somebody checks, its effects take place once all the
     * same.
     */
    @Test
    void aStandbyThatLagsIsPromoted() {
        try (ChaosWorld world = new ChaosWorld("promotion", SEED);
                Cluster cluster = new Cluster(world, "chaos")) {
            world.start(cluster.rows(), cluster.url(), MOST_TO_CATCH_UP);
            Duration part = LENGTH.dividedBy(PROMOTIONS);
            for (int i = 0; i < PROMOTIONS; i++) {
                long begin = System.nanoTime();
                for (long moment : world.moments(Math.max(1, FEW_FAULTS / PROMOTIONS), part.dividedBy(3))) {
                    ChaosWorld.sleepUntil(moment);
                    world.killOne();
                }
                ChaosWorld.sleepUntil(begin + part.toNanos() * 2 / 5);
                cluster.loseThePrimary(i + 1 < PROMOTIONS);
                ChaosWorld.sleepUntil(begin + part.toNanos());
            }
            world.settle();
            cluster.dumpLostOnes();
            check(world.judge(PROMOTIONS + " promotions of a standby that lags, within " + LENGTH.toSeconds() + " s"));
            assertFalse(Figures.lostSuccesses(world.history()).isEmpty(), "nothing was lost: the standby did not lag");
        }
    }

    private static String url(int port, String database) {
        return "postgresql://postgres@127.0.0.1:" + port + "/" + database;
    }

    private static void check(List<Violation> violations) {
        assertEquals(0, violations.size(), () -> Checker.words(violations));
    }
}
