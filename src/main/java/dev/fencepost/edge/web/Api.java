package dev.fencepost.edge.web;

import dev.fencepost.host.AddressRange;
import dev.fencepost.host.Entropy;
import dev.fencepost.host.Event;
import dev.fencepost.host.Journal;
import dev.fencepost.host.Spawner;
import dev.fencepost.host.Time;
import dev.fencepost.lease.StoreException;
import dev.fencepost.work.WorkQueue;
import io.vertx.core.http.HttpServerRequest;
import jakarta.inject.Singleton;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The API's door: what stands behind the resources, once the service has opened it. Until then it says "starting"; without a token file it
 * stays off.
 */
@Singleton
public class Api {

    private static final Duration SETTLE_INTERVAL = Duration.ofMinutes(1);
    private static final Duration SWEEP_INTERVAL = Duration.ofHours(1);
    private static final int MOST_UPLOADS = 16;

    /** Large bodies in memory at the same time: each takes some 16 MiB while it is read and parsed, of a heap of 224 MiB. */
    private static final int MOST_BODIES = 6;

    private volatile @Nullable Open open;
    private volatile boolean off;
    private volatile Journal journal = event -> {};
    private volatile boolean stopping;

    /**
     * What the API works with.
     *
     * @param storeClock now, by the store's clock
     * @param ready whether the store has been reached and prepared
     * @param maxArtifactBytes of one artifact
     * @param artifactTypes media types that are taken, such as {@code text/plain} or {@code image/*}; empty for all
     * @param trustedProxies whose word on the address of a client is taken
     */
    public record Parts(
            WorkQueue work,
            Supplier<Instant> storeClock,
            BooleanSupplier ready,
            Tokens tokens,
            Artifacts artifacts,
            long maxArtifactBytes,
            List<String> artifactTypes,
            List<AddressRange> trustedProxies,
            Time time,
            Spawner spawner,
            Entropy entropy,
            Journal journal) {

        public Parts {
            artifactTypes = List.copyOf(artifactTypes);
            trustedProxies = List.copyOf(trustedProxies);
        }
    }

    /**
     * @param waiting how many requests wait for items
     * @param bodies permits for large bodies that are held in memory
     */
    record Open(
            Parts parts,
            Gate gate,
            TrustedProxies proxies,
            QueueCounts counts,
            AtomicInteger waiting,
            Semaphore uploads,
            Semaphore bodies) {

        WorkQueue work() {
            return parts.work();
        }

        Time time() {
            return parts.time();
        }
    }

    /**
     * A request that was let in.
     *
     * @param token the name of its token
     */
    record Call(Open open, String token) {

        WorkQueue work() {
            return open.work();
        }

        Time time() {
            return open.time();
        }

        /** Tells that a person's hand changed something, and by which token. */
        void note(String text) {
            open.parts().journal().record(new Event.Note(null, "api: " + text + ", by " + token));
        }
    }

    /** There is no token file: nobody is let in. @param journal for what goes wrong at the other addresses */
    public void off(Journal journal) {
        this.journal = journal;
        off = true;
    }

    /** From now on requests are answered; what crashes left among the artifacts is settled in the background. */
    public void open(Parts parts) {
        stopping = false;
        off = false;
        journal = parts.journal();
        Gate gate = new Gate(parts.tokens(), new FailedLogins(parts.time()), parts.journal());
        open = new Open(
                parts,
                gate,
                new TrustedProxies(parts.trustedProxies()),
                new QueueCounts(parts.work(), parts.time()),
                new AtomicInteger(),
                new Semaphore(MOST_UPLOADS),
                new Semaphore(MOST_BODIES, true));
        parts.spawner().virtualThread("artifacts", () -> settleArtifacts(parts));
    }

    private void settleArtifacts(Parts parts) {
        try {
            long sweepBootMillis = parts.time().bootMillis();
            while (!stopping) {
                if (parts.ready().getAsBoolean()) {
                    settleOnce(parts);
                    if (parts.time().bootMillis() >= sweepBootMillis && sweepOnce(parts)) {
                        sweepBootMillis = parts.time().bootMillis() + SWEEP_INTERVAL.toMillis();
                    }
                }
                parts.time().sleep(SETTLE_INTERVAL);
            }
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
        }
    }

    private static void settleOnce(Parts parts) {
        try {
            parts.artifacts().settle();
        } catch (IOException | RuntimeException e) { // one bad note must not end the clean-up for good
            parts.journal()
                    .record(new Event.Problem(
                            "artifacts", null, null, null, "files may be left over; looked at again later", e));
        }
    }

    /** @return whether it came to its end */
    private static boolean sweepOnce(Parts parts) {
        try {
            int gone = parts.artifacts().sweep();
            if (gone > 0) {
                parts.journal().record(new Event.Note(null, "artifacts: " + gone + " files of pruned items swept"));
            }
            return true;
        } catch (StoreException away) {
            return false; // told by those who need the store
        } catch (IOException | RuntimeException e) {
            parts.journal()
                    .record(new Event.Problem(
                            "artifacts", null, null, null, "files may be left over; swept again later", e));
            return true;
        }
    }

    /** The service drains: whoever waits for items is answered now. */
    public void stop() {
        stopping = true;
    }

    boolean isStopping() {
        return stopping;
    }

    /**
     * Lets a request in, by its headers alone.
     *
     * @throws Problem if not
     */
    Call admit(HttpServerRequest request, Scope scope) {
        if (off) {
            throw Problem.forbidden("the API is off; to switch it on, name a file of tokens in the jobs file:"
                    + " api: { token-file: FILE }, and start serve anew");
        }
        Open now = open;
        if (now == null) {
            throw Problem.unavailable("the service is starting", 1);
        }
        String token = now.gate().admit(request.headers().getAll("Authorization"), () -> client(now, request), scope);
        if (!now.parts().ready().getAsBoolean()) {
            throw Problem.unavailable("the store has not been reached yet", 2);
        }
        return new Call(now, token);
    }

    private static String client(Open open, HttpServerRequest request) {
        String peer = request.remoteAddress() == null
                ? "unknown"
                : String.valueOf(request.remoteAddress().hostAddress());
        return open.proxies().client(peer, request.headers().getAll(TrustedProxies.HEADER));
    }

    /** The counts of this queue's items that its callers share; null while the API is not open on it. */
    public @Nullable QueueCounts countsOf(WorkQueue work) {
        Open now = open;
        return now != null && now.parts().work() == work ? now.counts() : null;
    }

    void record(Event event) {
        journal.record(event);
    }
}
