/**
 * Everything that touches the world: one package a neighbour, each of which knows the core and none of the others. Only
 * {@link dev.fencepost.edge.Assembly}, {@code edge.cli} and {@code edge.quarkus} put them together.
 */
@NullMarked
package dev.fencepost.edge;

import org.jspecify.annotations.NullMarked;
