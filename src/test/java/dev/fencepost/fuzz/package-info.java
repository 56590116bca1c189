/**
 * WHAT OTHERS HAVE WRITTEN, WRITTEN BADLY: jobs files, cron expressions, effect lines, bodies of requests, names of files, output of runs.
 *
 * <p>In: bytes, from a corpus of cases ({@code src/test/resources/fuzz}), from random changes of them ({@link dev.fencepost.fuzz.FuzzTest}),
 * or from Jazzer, which is guided by the code that they reach ({@link dev.fencepost.fuzz.GuidedFuzzTest}). Each {@link
 * dev.fencepost.fuzz.Target} gives them to the program and says what the answer has to be. The one invariant: an answer, or a mistake told
 * with its place; never another exception, no hang, no heap that is used up.
 */
@NullMarked
package dev.fencepost.fuzz;

import org.jspecify.annotations.NullMarked;
