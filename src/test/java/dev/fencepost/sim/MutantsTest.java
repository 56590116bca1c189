package dev.fencepost.sim;

import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.fail;

import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The witness is worth what it sees: each of these bugs has to be seen within so many seeds. */
@Tag("simulation")
class MutantsTest {

    private static final int SEEDS = 40;

    static List<Mutant> mutants() {
        return List.of(
                new Mutant(
                        "a claim takes a lease that is live",
                        "where resource = :resource and {dead}",
                        "where resource = :resource"),
                new Mutant("a grant does not raise the token", "fence = {next_fence},", "fence = max(fence, 1),"),
                new Mutant(
                        "a release resets the token",
                        "owner = null, run_id = null, slot_key = null, expires_at = 0",
                        "fence = 0, owner = null, run_id = null, slot_key = null, expires_at = 0"),
                new Mutant(
                        "a renewal checks neither token nor run",
                        "l.owner = :owner and l.fence = :fence and l.run_id = :run_id and {live l}\nreturning",
                        "{live l}\nreturning"),
                new Mutant(
                        "a renewal revives a lease that is over",
                        "and l.run_id = :run_id and {live l}\nreturning",
                        "and l.run_id = :run_id\nreturning"),
                new Mutant(
                        "a completion is taken after the end of the lease",
                        "and l.fence = :fence and l.run_id = :run_id and {live l})\n    and exists",
                        "and l.fence = :fence and l.run_id = :run_id)\n    and exists"),
                new Mutant("what a dead sender left is sent again", "set state = 'UNKNOWN'", "set state = 'PENDING'"));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("mutants")
    void isCaught(Mutant mutant) throws Exception {
        for (long seed = 1; seed <= SEEDS; seed++) {
            String said = told(mutant, seed);
            if (said != null) {
                System.out.println("mutant caught: " + mutant + ": seed " + seed + ": "
                        + said.lines().findFirst().orElse(""));
                return;
            }
        }
        fail("survived " + SEEDS + " seeds: " + mutant);
    }

    /** Else it would be the loader that is caught. */
    @Test
    void theProgramItselfIsNotCaughtWhenItIsLoadedThisWay() throws Exception {
        Mutant none = new Mutant("none", "select resource from lease", "select resource from lease");
        for (long seed = 1; seed <= 3; seed++) {
            assertNull(told(none, seed));
        }
    }

    private static @Nullable String told(Mutant mutant, long seed) throws Exception {
        Path folder = Stories.newFolder();
        try {
            return mutant.toldBy(seed, folder);
        } finally {
            Stories.delete(folder);
        }
    }
}
