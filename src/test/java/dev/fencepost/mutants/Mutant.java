package dev.fencepost.mutants;

import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/**
 * A bug, and who has to see it.
 *
 * @param name what is wrong
 * @param changes that make the bug, all of them together
 * @param catchers each of which has to see it
 */
record Mutant(String name, List<Change> changes, List<Catcher> catchers) {

    private static final int SEEDS = 40;

    static Mutant mutant(String name) {
        return new Mutant(name, List.of(), List.of());
    }

    /** In all statements that have this text. */
    Mutant sql(String text, String instead) {
        return with(new Change.Sql(Set.of(), text, instead));
    }

    /** In those of one class; parts of statements that it took from another are its own. */
    Mutant sqlOf(String className, String text, String instead) {
        return with(new Change.Sql(Set.of(className), text, instead));
    }

    /** @param file below the program's package, without its ending */
    Mutant java(String file, String text, String instead) {
        return with(new Change.Java(file + ".java", text, instead));
    }

    /** @param knownSeed one that shows it; others are tried after it */
    Mutant seenBySimulation(long knownSeed) {
        return with(new Catcher.Simulation(knownSeed, SEEDS));
    }

    /** @param testClass below the program's package */
    Mutant seenBy(String testClass, String... methods) {
        return with(new Catcher.Tests(testClass, List.of(methods)));
    }

    /** By this part of the contract, on SQLite and on PostgreSQL. */
    Mutant seenByContract(String part, String... methods) {
        return seenBy("store.Sqlite" + part + "Test", methods).seenBy("store.Postgres" + part + "Test", methods);
    }

    Mutant seenOnSqlite(String part, String... methods) {
        return seenBy("store.Sqlite" + part + "Test", methods);
    }

    Mutant seenOnPostgres(String part, String... methods) {
        return seenBy("store.Postgres" + part + "Test", methods);
    }

    private Mutant with(Change change) {
        return new Mutant(name, append(changes, change), catchers);
    }

    private Mutant with(Catcher catcher) {
        return new Mutant(name, changes, append(catchers, catcher));
    }

    private static <T> List<T> append(List<T> list, T last) {
        return Stream.concat(list.stream(), Stream.of(last)).toList();
    }

    @Override
    public String toString() {
        return name;
    }
}
