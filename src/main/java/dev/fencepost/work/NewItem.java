package dev.fencepost.work;

import java.time.Instant;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * An item to be put into a queue.
 *
 * @param id unique in the store, whatever the queue
 * @param priority a higher one is claimed first; of the same the older one
 * @param notBefore by the store's clock; null for at once
 * @param maxAttempts how often it is claimed at most; the last one that ends without a result makes it DEAD
 */
public record NewItem(
        String id,
        String queue,
        @Nullable Body payload,
        int priority,
        @Nullable Instant notBefore,
        int maxAttempts) {

    /** Printable characters without blanks and slashes, so that an id is one part of an address. */
    public static final Pattern ID = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._:@+=-]{0,199}");

    public static final Pattern QUEUE = Pattern.compile("[a-z0-9][a-z0-9._-]{0,62}");
    public static final String DEFAULT_QUEUE = "default";
    public static final int DEFAULT_MAX_ATTEMPTS = 5;
    public static final int MOST_ATTEMPTS = 1_000;
    public static final int MOST_PRIORITY = 1_000_000;

    public NewItem {
        if (!ID.matcher(id).matches()) {
            throw new IllegalArgumentException("the id of an item has 1 to 200 characters of A-Z a-z 0-9 . _ : @ + = -"
                    + " and begins with a letter or digit");
        }
        checkQueue(queue);
        if (Math.abs((long) priority) > MOST_PRIORITY) {
            throw new IllegalArgumentException("a priority lies between -" + MOST_PRIORITY + " and " + MOST_PRIORITY);
        }
        if (maxAttempts < 1 || maxAttempts > MOST_ATTEMPTS) {
            throw new IllegalArgumentException("max-attempts lies between 1 and " + MOST_ATTEMPTS);
        }
    }

    /** @throws IllegalArgumentException if this is no name of a queue */
    public static void checkQueue(String queue) {
        if (!QUEUE.matcher(queue).matches()) {
            throw new IllegalArgumentException(
                    "the name of a queue has 1 to 63 characters of a-z 0-9 . _ - and begins with a letter or digit");
        }
    }
}
