package dev.fencepost.edge.quarkus;

import dev.fencepost.host.Event;
import dev.fencepost.host.Journal;
import dev.fencepost.host.Time;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.StoreException;
import dev.fencepost.run.Job;
import dev.fencepost.run.Nodes;
import dev.fencepost.run.Nodes.NodeView;
import dev.fencepost.run.Nodes.State;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.Collection;
import java.util.HexFormat;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/** Tells the others that this node is alive, and with which jobs. For people alone: leases decide who may run. */
final class Heartbeat implements Runnable {

    private static final Duration INTERVAL = Duration.ofSeconds(NodeView.BEAT_SECONDS);
    private static final Duration UNTIL_PREPARED = Duration.ofSeconds(1);
    private static final int HASH_CHARACTERS = 12;

    private final Nodes nodes;
    private final Owner owner;
    private final BooleanSupplier prepared;
    private final Supplier<State> state;
    private final Time time;
    private final Journal journal;

    Heartbeat(Nodes nodes, Owner owner, BooleanSupplier prepared, Supplier<State> state, Time time, Journal journal) {
        this.nodes = nodes;
        this.owner = owner;
        this.prepared = prepared;
        this.state = state;
        this.time = time;
        this.journal = journal;
    }

    @Override
    public void run() {
        try {
            while (true) {
                beat();
                time.sleep(prepared.getAsBoolean() ? INTERVAL : UNTIL_PREPARED);
            }
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
        }
    }

    /** Also between two beats, when something has changed. */
    void beat() {
        if (!prepared.getAsBoolean()) {
            return;
        }
        try {
            nodes.seen(owner, state.get());
        } catch (StoreException e) {
            // The loops of the jobs tell of a store that is away; the next beat tries again.
        } catch (RuntimeException | Error e) {
            journal.record(new Event.Problem("heartbeat", null, null, null, "the next beat tries again", e));
        }
    }

    /** The node ends in order. */
    void end() {
        try {
            nodes.stopped(owner);
        } catch (StoreException e) {
            // Then its last sign of life says as much.
        }
    }

    /** Nodes with the same jobs and schedules have the same hash, whatever the order in their files. */
    static String hash(Collection<Job> jobs) {
        String text = jobs.stream()
                .map(job -> job.id() + '\n' + job.schedule().text() + '\n')
                .sorted()
                .collect(Collectors.joining());
        try {
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
            return HexFormat.of().formatHex(digest).substring(0, HASH_CHARACTERS);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }
}
