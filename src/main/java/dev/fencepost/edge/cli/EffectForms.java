package dev.fencepost.edge.cli;

import dev.fencepost.effect.EffectView;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** How effects look to scripts. */
final class EffectForms {

    private EffectForms() {}

    static Map<String, @Nullable Object> json(EffectView effect) {
        return Json.object(
                "key", effect.key(),
                "job", effect.job(),
                "slot", HistoryCommand.slot(effect.slotKey()),
                "sink", effect.pair().sink(),
                "state", effect.state(),
                "fence", effect.fence(),
                "attempts", effect.tries(),
                "receipt", effect.receipt(),
                "reason", effect.reason(),
                "run_id", effect.runId(),
                "waits", effect.waits(),
                "announced_at", effect.announcedAt(),
                "expires_at", effect.expiresAt(),
                "next_at", effect.nextAt(),
                "size", effect.size());
    }
}
