package dev.fencepost.model;

import dev.fencepost.store.Site;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.stream.Stream;

/** The clock of a site, and what a step makes of it: time goes by to just before, at, and just after the instants that matter. */
final class Clockwork {

    private static final int SECOND = 0;
    private static final int STEP = 2;
    private static final int MINUTE = 3;
    private static final int HOURS = 11;

    private final Site site;
    private Instant now;

    Clockwork(Site site) {
        this.site = site;
        this.now = site.store().now();
    }

    Instant now() {
        return now;
    }

    /** @param instants at which something becomes otherwise, past ones among them */
    void pass(Step step, Stream<Instant> instants) {
        switch (step.a()) {
            case SECOND -> pass(Duration.ofSeconds(1));
            case STEP -> pass(site.step());
            case MINUTE -> pass(Duration.ofMinutes(1));
            case HOURS -> pass(Duration.ofHours(2));
            default -> {
                List<Instant> ahead =
                        instants.filter(now::isBefore).distinct().sorted().toList();
                if (!ahead.isEmpty()) {
                    Duration until = Duration.between(now, ahead.get(step.b() % ahead.size()));
                    pass(
                            switch (step.c() % 3) {
                                case 0 -> until;
                                case 1 -> until.minus(site.step());
                                default -> until.plus(site.step());
                            });
                }
            }
        }
    }

    private void pass(Duration time) {
        if (time.isPositive()) {
            site.pass(time);
            now = now.plus(time);
        }
    }
}
