package dev.fencepost.edge.process;

import java.util.Map;

/**
 * What a runner in this environment would guard its children with, for people.
 *
 * @param words which guard it is, and why no stronger one
 */
public record GuardInForce(Reach reach, String words) {

    /** What dies with a runner that is killed. */
    public enum Reach {
        /** Everything that a run started. */
        ALL,
        /** The child alone. */
        CHILD,
        NOTHING,
        /** No run can be started at all: {@code setsid} is missing. */
        CANNOT_START
    }

    /**
     * Tries what the host allows. Starts a few processes that end at once.
     *
     * @throws IllegalArgumentException if {@code FENCEPOST_GUARD} names no guard
     */
    public static GuardInForce find(Map<String, String> environment) {
        Guard guard = Guard.detect(environment);
        Reach reach = switch (guard.kind()) {
            case NAMESPACE, CONTROL_GROUP -> Reach.ALL;
            case PARENT_DEATH -> Reach.CHILD;
            case NONE -> guard.canStart() ? Reach.NOTHING : Reach.CANNOT_START;
        };
        return new GuardInForce(reach, guard.toString());
    }
}
