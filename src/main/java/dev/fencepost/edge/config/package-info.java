/**
 * The jobs file: found, read strictly, checked as a whole, and explained value by value.
 *
 * <p>In: a path, the environment and an instant. Out: a {@link dev.fencepost.edge.config.Reading}, which is either a
 * {@link dev.fencepost.edge.config.JobsFile} whose jobs have every default filled in, or all the errors at once. The one invariant: a
 * value is taken as the text that stands in the file or it is refused; nothing is guessed, expanded or dropped in silence. No clock is
 * read here and no environment but the one that is given.
 */
@NullMarked
package dev.fencepost.edge.config;

import org.jspecify.annotations.NullMarked;
