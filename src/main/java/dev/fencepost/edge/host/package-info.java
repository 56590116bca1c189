/**
 * This host's clocks, threads and randomness: the only place where the real ones are touched.
 *
 * <p>In: {@code /proc/uptime}, {@code /proc/sys/kernel/random/boot_id}, the JVM's threads and {@code SecureRandom}. Out: the ports of
 * {@link dev.fencepost.host}. The one invariant: two readings of the boot clock under one boot id never fall, whatever happens to
 * the wall clock.
 */
@NullMarked
package dev.fencepost.edge.host;

import org.jspecify.annotations.NullMarked;
