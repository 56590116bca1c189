package dev.fencepost.faults;

import dev.fencepost.store.Postgres;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** A primary and a standby that follows it through a wire which can be cut. When the primary is lost the standby takes its place. */
final class Cluster implements AutoCloseable {

    private final ChaosWorld world;
    private final Path folder;
    private final String database;
    private final List<PostgresServer> lost = new ArrayList<>();
    private final int onePort;
    private final int otherPort;
    private PostgresServer primary;
    private PostgresServer standby;
    private Proxy wire;
    private int copies;

    Cluster(ChaosWorld world, String database) {
        this.world = world;
        this.database = database;
        folder = world.folder();
        primary = PostgresServer.start(folder.resolve("database-0"));
        primary.database(database);
        onePort = primary.port();
        otherPort = ServeProcess.freePort();
        follow(otherPort);
    }

    private void follow(int port) {
        wire = new Proxy(primary.port());
        standby = primary.standby(folder.resolve("database-" + ++copies), port, wire.port());
    }

    private String hosts() {
        return "127.0.0.1:" + onePort + ",127.0.0.1:" + otherPort + "/" + database;
    }

    /** The address for services: whichever of the two is the primary. */
    String url() {
        return "postgresql://postgres@" + hosts();
    }

    Rows rows() {
        return Rows.at("jdbc:postgresql://" + hosts() + "?user=postgres&targetServerType=primary&connectTimeout=2");
    }

    /** @param another whether a new standby is to follow the new primary */
    void loseThePrimary(boolean another) {
        Wait.until(
                Duration.ofSeconds(30),
                "the standby has followed so far",
                () -> primary.written() - standby.received() < 100_000);
        wire.mode(Proxy.Mode.CUT);
        world.driver().write("cut");
        Wait.sleep(world.between(2_500, 5_000));
        world.exchangeStore(() -> {
            long written = primary.written();
            long received = standby.received();
            primary.kill();
            world.driver().write("database", "state", "down", "how", "kill");
            Wait.sleep(world.between(0, 2_000));
            world.driver().write("promoted", "lost bytes", written - received);
            standby.promote();
            world.driver().write("database", "state", "up");
        });
        wire.close();
        int port = primary.port();
        lost.add(primary.elsewhere());
        primary = standby;
        standby = null;
        if (another) {
            follow(port);
        }
    }

    /** What the lost primaries had on their disks. */
    void dumpLostOnes() {
        for (int i = 0; i < lost.size(); i++) {
            PostgresServer server = lost.get(i);
            server.up();
            world.dump(
                    "lost-" + (i + 1), Rows.of(new Postgres.Database(database, server.url(database), server.port())));
            server.down("fast");
        }
    }

    @Override
    public void close() {
        wire.close();
        lost.forEach(PostgresServer::close);
        if (standby != null) {
            standby.close();
        }
        primary.close();
    }
}
