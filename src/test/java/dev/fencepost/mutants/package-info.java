/**
 * MUTANTS: bugs that are planted into the program while its classes are loaded, each of which has to be seen by the simulation or by a
 * test. Nothing of them is in the program itself; a test that stays green under one of them tests nothing there.
 *
 * <p>{@link dev.fencepost.mutants.Mutant} says what is changed and who has to see it, {@link dev.fencepost.mutants.MutatedProgram} loads
 * the program and its tests anew with the change in it, {@link dev.fencepost.mutants.Catcher} tells a story or runs a test there. The bugs
 * stand in the lists beside them, by what they would break.
 */
@NullMarked
package dev.fencepost.mutants;

import org.jspecify.annotations.NullMarked;
