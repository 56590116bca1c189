package dev.fencepost.run;

import java.util.Optional;

/**
 * A regular expression that is looked for in a line of output, in time that grows with the line alone, whatever the expression: both may
 * come from an agent.
 */
public interface LinePattern {

    boolean isFoundIn(String line);

    /** What its group {@code until} holds where it is found; empty if it has no such group, or is not found. */
    Optional<String> until(String line);

    /** As it was written, for people. */
    String text();
}
