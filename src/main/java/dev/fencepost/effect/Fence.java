package dev.fencepost.effect;

import dev.fencepost.lease.FencingToken;
import dev.fencepost.lease.RunId;
import org.jspecify.annotations.Nullable;

/**
 * The highest token that a sink has accepted for a resource, and the run that it was given to. Pure; it is the rule of semantics 5.5.
 *
 * @param fence 0 if none was accepted yet
 * @param runId null if none was accepted yet
 */
public record Fence(long fence, @Nullable RunId runId) {

    public static final Fence NONE = new Fence(0, null);

    /**
     * Whether this token may pass: a higher one, or the same of the same run. A second effect of a run and a second try pass, a twin
     * with the same number does not.
     */
    public boolean lets(FencingToken token, RunId run) {
        return token.value() > fence || (token.value() == fence && run.equals(runId));
    }

    /** The fence after this token was accepted; never lower. */
    public Fence advancedBy(FencingToken token, RunId run) {
        return token.value() > fence ? new Fence(token.value(), run) : this;
    }
}
