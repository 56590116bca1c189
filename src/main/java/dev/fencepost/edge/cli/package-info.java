/**
 * The commands: one class each. This is one of the two places that put the parts together; nothing here boots Quarkus but
 * {@code serve}.
 *
 * <p>In: arguments and the process' {@link dev.fencepost.edge.cli.Surroundings}. Out: text or one JSON object on stdout, messages for
 * people on stderr, and an {@link dev.fencepost.edge.cli.ExitCode}. The one invariant: an error of ours or of the user is one clear
 * message and a documented exit code, never a stack trace.
 */
@NullMarked
package dev.fencepost.edge.cli;

import org.jspecify.annotations.NullMarked;
