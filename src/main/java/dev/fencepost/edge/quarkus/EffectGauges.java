package dev.fencepost.edge.quarkus;

import dev.fencepost.Store;
import dev.fencepost.effect.Outbox.Tally;
import dev.fencepost.lease.StoreException;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.MultiGauge;
import io.micrometer.core.instrument.MultiGauge.Row;
import io.micrometer.core.instrument.Tags;
import java.time.Duration;
import java.time.Instant;
import java.util.List;

/**
 * Effects that are open or wait for a person, as the store has them: counted every now and then, since a scrape must not ask the store.
 * While the store does not answer the last numbers stay.
 */
final class EffectGauges {

    private final Store store;
    private final MultiGauge open;
    private final MultiGauge waiting;
    private final MultiGauge oldest;

    EffectGauges(Store store, MeterRegistry meters) {
        this.store = store;
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

    void count() {
        List<Tally> tallies;
        Instant now;
        try {
            tallies = store.tallies();
            now = store.now();
        } catch (StoreException away) {
            return; // told by those who need the store
        }
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
