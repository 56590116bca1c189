package dev.fencepost.lease;

/**
 * A positive number of a resource that rises with every grant and never falls. Who shows a smaller one than the newest is late.
 *
 * @see <a href="https://martin.kleppmann.com/2016/02/08/how-to-do-distributed-locking.html">Kleppmann, How to do distributed
 *     locking</a>
 */
public record FencingToken(long value) implements Comparable<FencingToken> {

    public FencingToken {
        if (value <= 0) {
            throw new IllegalArgumentException("a fencing token is positive, not " + value);
        }
    }

    @Override
    public int compareTo(FencingToken other) {
        return Long.compare(value, other.value);
    }

    @Override
    public String toString() {
        return Long.toString(value);
    }
}
