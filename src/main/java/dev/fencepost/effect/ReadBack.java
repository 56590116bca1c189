package dev.fencepost.effect;

/** What the sink itself shows of an effect whose outcome is unknown. Reasons are for people and hold no secret. */
public sealed interface ReadBack {

    /** It took place. */
    record Found(Receipt receipt) implements ReadBack {}

    /** It surely did not take place, and no try that is still under way can make it. */
    record Absent(String reason) implements ReadBack {}

    /** No answer yet; ask again. */
    record NoAnswer(String reason) implements ReadBack {}

    /**
     * The sink cannot tell.
     *
     * @param later whether asking again may help
     */
    record CannotTell(String reason, boolean later) implements ReadBack {}
}
