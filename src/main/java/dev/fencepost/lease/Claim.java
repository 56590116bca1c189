package dev.fencepost.lease;

/** The answer to a claim of a resource. */
public sealed interface Claim {

    /** The lease is the claimant's, with a token that nobody had before. */
    record Granted(Lease lease) implements Claim {}

    /** Nothing changed: this lease is live. It may be the claimant's own. */
    record Held(Lease by) implements Claim {}
}
