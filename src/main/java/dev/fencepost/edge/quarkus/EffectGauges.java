package dev.fencepost.edge.quarkus;

import dev.fencepost.Store;
import dev.fencepost.effect.Outbox.Tally;
import dev.fencepost.host.Event;
import dev.fencepost.host.Journal;
import dev.fencepost.host.Time;
import dev.fencepost.lease.StoreException;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.MultiGauge;
import io.micrometer.core.instrument.MultiGauge.Row;
import io.micrometer.core.instrument.Tags;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * Effects that are open or wait for a person, as the store has them: counted every now and then, since a scrape must not ask the store.
 * While the store does not answer the last numbers stay.
 */
final class EffectGauges implements Runnable {

    private static final Duration INTERVAL = Duration.ofSeconds(15);

    private final Store store;
    private final BooleanSupplier prepared;
    private final Time time;
    private final Journal journal;
    private final MultiGauge open;
    private final MultiGauge waiting;
    private final MultiGauge oldest;

    /** @param store itself: what guards it belongs to the container, which may be gone while a count still waits for its answer */
    EffectGauges(Store store, BooleanSupplier prepared, MeterRegistry meters, Time time, Journal journal) {
        this.store = store;
        this.prepared = prepared;
        this.time = time;
        this.journal = journal;
        this.open = MultiGauge.builder("effects.open")
                .description("effects in a state that may still change, or that wait for a person")
                .register(meters);
        this.waiting = MultiGauge.builder("effects.waiting")
                .description("effects that wait for a person")
                .register(meters);
        this.oldest = MultiGauge.builder("effects.oldest_seconds")
                .description("age of the oldest effect of each sink and state")
                .register(meters);
    }

    /** On a thread of its own, which the end of the service does not wait for. */
    @Override
    public void run() {
        try {
            while (true) {
                if (prepared.getAsBoolean()) {
                    count();
                }
                time.sleep(INTERVAL);
            }
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
        }
    }

    private void count() {
        try {
            register();
        } catch (StoreException away) {
            // Told by those who need the store.
        } catch (RuntimeException | Error e) {
            journal.record(new Event.Problem("count-effects", null, null, null, "they are counted again later", e));
        }
    }

    private void register() {
        List<Tally> tallies = store.tallies();
        Instant now = store.now();
        open.register(tallies.stream().map(t -> Row.of(tags(t), t.count())).toList(), true);
        waiting.register(tallies.stream().map(t -> Row.of(tags(t), t.waiting())).toList(), true);
        oldest.register(
                tallies.stream()
                        .map(t -> Row.of(
                                tags(t),
                                Math.max(0, Duration.between(t.oldest(), now).toSeconds())))
                        .toList(),
                true);
    }

    private static Tags tags(Tally tally) {
        return Tags.of("sink", tally.sink(), "state", tally.state().name());
    }
}
