package dev.fencepost.edge.host;

import dev.fencepost.host.Entropy;
import java.security.SecureRandom;
import java.util.UUID;

/** Randomness of the operating system. Safe for use by many threads. */
public final class SystemEntropy implements Entropy {

    private final SecureRandom random = new SecureRandom();

    @Override
    public UUID uuid() {
        return UUID.randomUUID();
    }

    @Override
    public double fraction() {
        return random.nextDouble();
    }
}
