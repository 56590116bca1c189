package dev.fencepost.host;

/**
 * Where the core tells what happened: log lines and counters are made of it at the edge. Recording never throws and never blocks
 * on a store. Safe for use by many threads.
 */
@FunctionalInterface
public interface Journal {
    void record(Event event);
}
