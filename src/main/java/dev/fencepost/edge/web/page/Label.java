package dev.fencepost.edge.web.page;

import dev.fencepost.run.Outcome;
import org.jspecify.annotations.Nullable;

/**
 * How an outcome is told: by a word, by a sign that needs no colour, and by a class for the colour. Skips and what was given up on purpose
 * are quiet; what went wrong is not.
 *
 * @param style class of the stylesheet
 */
public record Label(String word, String sign, String style) {

    static final Label OPEN = new Label("open", "\u25b7", "live");

    /** @param outcome null while it is open */
    static Label of(@Nullable Outcome outcome) {
        return switch (outcome) {
            case null -> OPEN;
            case SUCCEEDED -> new Label("succeeded", "\u2713", "good");
            case FAILED -> new Label("failed", "\u2717", "bad");
            case TIMED_OUT -> new Label("timed out", "\u25d4", "bad");
            case LEASE_LOST -> new Label("lease lost", "\u26a0", "warn");
            case ABANDONED -> new Label("abandoned", "\u2298", "warn");
            case SKIPPED_OVERLAP -> new Label("skipped", "\u2013", "skip");
            case DROPPED -> new Label("dropped", "\u2193", "skip");
            case CANCELLED -> new Label("cancelled", "\u25a1", "skip");
        };
    }
}
