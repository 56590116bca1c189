/**
 * What the core needs of the world, as ports: clocks, threads, randomness, and a journal to tell people what happened.
 *
 * <p>Nothing outside {@code edge.host} (and the simulation) reads a clock, sleeps, rolls dice or starts a thread; everything
 * else receives these ports. That is the one invariant here, and the reason why the core can be run under virtual time.
 */
@NullMarked
package dev.fencepost.host;

import org.jspecify.annotations.NullMarked;
