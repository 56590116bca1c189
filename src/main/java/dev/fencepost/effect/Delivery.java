package dev.fencepost.effect;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** What came of sending once. Reasons are for people and hold no secret. */
public sealed interface Delivery {

    /** It took place, now or at an earlier try with this key. */
    record Confirmed(Receipt receipt) implements Delivery {}

    /**
     * The sink knows a newer token: this try changed nothing.
     *
     * @param newest the token that it knows, if it says so
     */
    record Refused(String reason, @Nullable Long newest) implements Delivery {}

    /**
     * The sink said no for good: this try changed nothing.
     *
     * @param kept where the content was put instead, or null
     */
    record Dead(String reason, @Nullable Receipt kept) implements Delivery {}

    /**
     * This try surely changed nothing, and another may succeed.
     *
     * @param after the sink's own wish, or null for our backoff
     */
    record NotNow(String reason, @Nullable Duration after) implements Delivery {}

    /** It may have taken place. */
    record Unknown(String reason) implements Delivery {}
}
