/**
 * The service: Quarkus starts it, its scheduler wakes the {@link dev.fencepost.Node}, health and metrics tell of it.
 *
 * <p>In: the arguments of {@code serve}. Out: a node that runs until it is told to stop. The one invariant: nothing here decides which
 * slots are due or who may write; a framework that wakes late, twice or not at all harms nothing.
 */
@NullMarked
package dev.fencepost.edge.quarkus;

import org.jspecify.annotations.NullMarked;
