package dev.fencepost.host;

import java.util.UUID;

/** Randomness. The simulation gives one that is drawn from its seed. Safe for use by many threads. */
public interface Entropy {

    /** A random (version 4) UUID, for a run id or an incarnation. */
    UUID uuid();

    /** A number in {@code [0, 1)}, for jitter. */
    double fraction();
}
