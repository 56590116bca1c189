package dev.fencepost.edge.cli;

import dev.fencepost.effect.EffectView;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** How effects look to scripts. */
final class EffectForms {

    private EffectForms() {}

    static Map<String, @Nullable Object> json(EffectView view) {
        return Json.object(
                "key", view.key(),
                "job", view.job(),
                "slot", view.slotKey(),
                "sink", view.pair().sink(),
                "state", view.state(),
                "fence", view.fence(),
                "attempts", view.tries(),
                "receipt", view.receipt(),
                "reason", view.reason(),
                "run_id", view.runId(),
                "waits", view.waits(),
                "announced_at", view.announcedAt(),
                "expires_at", view.expiresAt(),
                "next_at", view.nextAt(),
                "size", view.size(),
                "name", view.name(),
                "resource", view.pair().resource(),
                "override", view.override(),
                "digest", view.digest(),
                "changed_at", view.changedAt());
    }
}
