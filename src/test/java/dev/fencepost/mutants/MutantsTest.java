package dev.fencepost.mutants;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.mutants.Catcher.Looks;
import dev.fencepost.mutants.Catcher.Simulation;
import dev.fencepost.mutants.Catcher.Tests;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Simulation and tests are worth what they see: each of these bugs has to be seen by each of its catchers. */
@Tag("simulation")
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class MutantsTest {

    /** Much of a look is waiting for a database. */
    private static final int AT_ONCE = 2;

    /** A mutant may never come to an end. */
    private static final int LONGEST_LOOK_SECONDS = 120;

    private static final Path LIST = Path.of("src/docs/mutants.md");
    private static final Pattern COUNT = Pattern.compile("(\\d+) mutants, none survives");

    private static Compiler compiler;
    private static ExecutorService threads;
    private static final Map<Mutant, Future<Looks>> LOOKS = new HashMap<>();

    @BeforeAll
    static void open() {
        compiler = new Compiler();
        threads = Executors.newFixedThreadPool(
                AT_ONCE, Thread.ofPlatform().daemon().factory());
    }

    @AfterAll
    static void close() throws Exception {
        threads.shutdownNow();
        compiler.close();
        LOOKS.clear();
    }

    /** {@code -Dmutants=} runs those with these words in their names alone. */
    static List<Mutant> wanted() {
        String words = System.getProperty("mutants", "");
        return mutants().stream().filter(each -> each.name().contains(words)).toList();
    }

    static List<Mutant> mutants() {
        return Stream.of(
                        LeaseMutants.all(),
                        ClockMutants.all(),
                        TickMutants.all(),
                        WorkMutants.all(),
                        EffectMutants.all(),
                        HolderMutants.all(),
                        ManyJobsMutants.all())
                .flatMap(List::stream)
                .toList();
    }

    @Test
    @Order(1)
    void eachHasANameOfItsOwnAndSomebodyToSeeIt() {
        Set<String> names = new TreeSet<>();
        for (Mutant mutant : mutants()) {
            assertTrue(names.add(mutant.name()), mutant.name());
            assertFalse(mutant.changes().isEmpty(), mutant.name());
            assertFalse(mutant.catchers().isEmpty(), mutant.name());
        }
    }

    @Test
    @Order(1)
    void theListForPeopleHasEachOfThemAndNoOther() throws IOException {
        Set<String> listed = new TreeSet<>();
        int number = 0;
        for (String line : Files.readAllLines(LIST)) {
            Matcher count = COUNT.matcher(line);
            if (count.lookingAt()) {
                number = Integer.parseInt(count.group(1));
            } else if (line.startsWith("| ") && !line.startsWith("| mutant |")) {
                listed.add(line.substring(2, line.indexOf(" | ", 2)));
            }
        }
        Set<String> names = mutants().stream().map(Mutant::name).collect(Collectors.toCollection(TreeSet::new));
        assertEquals(names, listed);
        assertEquals(names.size(), number, "the number of them in " + LIST);
    }

    /** Else it would be the loading that is seen. */
    @Test
    @Order(2)
    void theProgramItselfIsNotSeenWhenItIsLoadedThisWay() throws Exception {
        Map<String, Set<String>> tests = new TreeMap<>();
        for (Mutant mutant : mutants()) {
            for (Catcher catcher : mutant.catchers()) {
                if (catcher instanceof Tests(String testClass, List<String> methods)) {
                    tests.computeIfAbsent(testClass, name -> new TreeSet<>()).addAll(methods);
                }
            }
        }
        MutatedProgram program = new MutatedProgram(Mutant.mutant("none"), compiler);
        for (Map.Entry<String, Set<String>> each : tests.entrySet()) {
            Looks looks = new Tests(each.getKey(), List.copyOf(each.getValue())).look(program);
            assertEquals(Map.of(), looks.seen());
            assertEquals(each.getValue().size(), looks.blind().size());
        }
        assertEquals(Map.of(), new Simulation(1, 3).look(program).seen());
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("wanted")
    @Order(3)
    void isSeen(Mutant mutant) throws Exception {
        if (LOOKS.isEmpty()) { // all begin with the first
            wanted().forEach(each -> LOOKS.put(each, threads.submit(() -> look(each))));
        }
        Looks looks = Objects.requireNonNull(LOOKS.get(mutant)).get(LONGEST_LOOK_SECONDS, TimeUnit.SECONDS);
        looks.seen().forEach((by, said) -> System.out.println("mutant | " + mutant + " | " + by + " | " + said));
        assertEquals(Set.of(), looks.blind(), "\"" + mutant + "\" was not seen by");
    }

    private static Looks look(Mutant mutant) throws Exception {
        MutatedProgram program = new MutatedProgram(mutant, compiler);
        Map<String, String> seen = new LinkedHashMap<>();
        Set<String> blind = new LinkedHashSet<>();
        for (Catcher catcher : mutant.catchers()) {
            Looks looks = catcher.look(program);
            seen.putAll(looks.seen());
            blind.addAll(looks.blind());
        }
        return new Looks(seen, blind);
    }
}
