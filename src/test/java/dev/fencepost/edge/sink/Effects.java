package dev.fencepost.edge.sink;

import dev.fencepost.effect.Content;
import dev.fencepost.effect.Effect;
import dev.fencepost.effect.EffectState;
import dev.fencepost.effect.Pair;
import dev.fencepost.lease.FencingToken;
import dev.fencepost.lease.RunId;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.UUID;

/** Effects as a sink is given them. */
final class Effects {

    static final Instant NOW = Instant.parse("2026-03-29T01:00:00Z");
    static final RunId RUN = RunId.parse("11111111-2222-3333-4444-555555555555");
    static final RunId OTHER_RUN = new RunId(new UUID(7, 7));

    private Effects() {}

    static Effect http(String key, String body) {
        return of(key, 7, RUN, new Content(null, null, body.getBytes(StandardCharsets.UTF_8)));
    }

    static Effect file(String key, long fence, RunId run, String target, String text) {
        return of(key, fence, run, new Content(null, target, text.getBytes(StandardCharsets.UTF_8)));
    }

    static Effect of(String key, long fence, RunId run, Content content) {
        return new Effect(
                key,
                "article",
                "2026-03-29T00:45:00Z",
                "announce",
                new Pair("announce", "article"),
                new FencingToken(fence),
                run,
                content,
                NOW.minus(Duration.ofMinutes(5)),
                NOW.plus(Duration.ofHours(1)),
                EffectState.SENDING,
                1,
                false,
                false,
                0,
                NOW.minus(Duration.ofMinutes(1)),
                NOW);
    }

    static Effect overridden(Effect effect) {
        return new Effect(
                effect.key(),
                effect.job(),
                effect.slotKey(),
                effect.name(),
                effect.pair(),
                effect.fence(),
                effect.runId(),
                effect.content(),
                effect.announcedAt(),
                effect.expiresAt(),
                effect.state(),
                effect.tries(),
                effect.mayBeSent(),
                true,
                effect.checks(),
                effect.lastSentAt(),
                effect.now());
    }
}
