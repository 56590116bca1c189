package dev.fencepost.run;

import dev.fencepost.host.Event;
import dev.fencepost.host.Journal;
import dev.fencepost.host.Time;
import dev.fencepost.lease.StoreException;
import java.time.Duration;
import java.time.Instant;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Lets go of what ended long ago, of one kind: at the start, and every hour from then on, a small number in each transaction, with a pause between
 * two of them for whoever else wants to write. Whatever goes wrong is looked at again a minute later, and told once until it has gone well.
 * Several nodes may do this on one store.
 */
public final class Pruner implements Runnable {

    /** In one transaction: an item of work may have a thousand files on record. */
    public static final int AT_ONCE = 100;

    private static final Duration INTERVAL = Duration.ofHours(1);
    private static final Duration AFTER_FAILURE = Duration.ofMinutes(1);
    private static final Duration LOOK = Duration.ofSeconds(5);
    private static final Duration BETWEEN = Duration.ofMillis(100);

    /** Lets go of what ended before an instant of the store's clock. */
    @FunctionalInterface
    public interface Batch {

        /** @return how many went, at most {@code limit} */
        int prune(Instant endedBefore, int limit);
    }

    private final String what;
    private final Supplier<Duration> keep;
    private final BooleanSupplier ready;
    private final Supplier<Instant> now;
    private final Batch batch;
    private final Time time;
    private final Journal journal;
    private volatile boolean stopping;
    private @Nullable String told;

    /**
     * @param what it is, in words, in the plural
     * @param keep how long it stays after its end
     * @param ready whether the store has been reached and prepared
     * @param now by the store's clock
     */
    public Pruner(
            String what,
            Supplier<Duration> keep,
            BooleanSupplier ready,
            Supplier<Instant> now,
            Batch batch,
            Time time,
            Journal journal) {
        this.what = what;
        this.keep = keep;
        this.ready = ready;
        this.now = now;
        this.batch = batch;
        this.time = time;
        this.journal = journal;
    }

    @Override
    public void run() {
        try {
            long dueBootMillis = time.bootMillis();
            while (!stopping) {
                if (time.bootMillis() >= dueBootMillis && ready.getAsBoolean()) {
                    dueBootMillis = time.bootMillis() + (turn() ? INTERVAL : AFTER_FAILURE).toMillis();
                }
                time.sleep(LOOK);
            }
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
        }
    }

    /** The batch that is under way is the last one. */
    public void stop() {
        stopping = true;
    }

    /** @return whether it went well */
    private boolean turn() throws InterruptedException {
        int gone = 0;
        Duration kept = keep.get();
        try {
            Instant before = now.get().minus(kept);
            int last = AT_ONCE;
            while (last == AT_ONCE && !stopping) {
                if (gone > 0) {
                    time.sleep(BETWEEN);
                }
                last = batch.prune(before, AT_ONCE);
                gone += last;
            }
            told = null;
            return true;
        } catch (StoreException e) {
            if (e.kind() != StoreException.Kind.UNAVAILABLE) { // that is told by those who need the store
                tell(e);
            }
            return false;
        } catch (RuntimeException | Error e) {
            tell(e);
            return false;
        } finally {
            if (gone > 0) {
                journal.record(new Event.Note(
                        null, gone + " " + what + " pruned, which had ended more than " + kept + " ago"));
            }
        }
    }

    private void tell(Throwable e) {
        String text = String.valueOf(e);
        if (!stopping && !text.equals(told)) {
            told = text;
            journal.record(new Event.Problem("prune", null, null, null, what + " are left over; tried again later", e));
        }
    }
}
