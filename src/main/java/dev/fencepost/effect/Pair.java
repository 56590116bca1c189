package dev.fencepost.effect;

/**
 * What is sent in order, by one sender at a time: the effects of one resource to one sink.
 *
 * @param resource the resource of the lease under which the effects were announced: the job, or the work item
 */
public record Pair(String sink, String resource) {

    private static final String PREFIX = "sink:";

    /** The resource of the lease that a sender holds. No job's id has a colon in it, and no sink's name. */
    public String leaseResource() {
        return PREFIX + sink + ":" + resource;
    }

    @Override
    public String toString() {
        return sink + " for " + resource;
    }
}
