package dev.fencepost.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Checks src/test/promela/lease.pml in all its orders of steps, with the model checker spin and a C compiler. The real protocol has to
 * pass, and each weaker one has to fail: else the model would say nothing.
 */
@Tag("simulation")
class ProtocolModelTest {

    private static final Path MODEL =
            Path.of("src", "test", "promela", "lease.pml").toAbsolutePath();

    /** Of 2 faults there are some 6 million states, of 3 some hundred times more. */
    private static final int FAULTS = Integer.getInteger("model.faults", 2);

    private static final int FAULTS_OF_LIVENESS = Integer.getInteger("model.faults", 1);

    private static final Pattern STATES = Pattern.compile("(\\d+) states, stored");

    @TempDir
    Path folder;

    @BeforeAll
    static void spinIsThere() {
        for (String program : List.of("spin", "cc")) {
            assumeTrue(isOnPath(program), "model of the protocol: there is no " + program);
        }
    }

    @ParameterizedTest(name = "{0}")
    @Execution(ExecutionMode.CONCURRENT)
    @ValueSource(strings = {"PROTOCOL", "PLAIN_SINK"})
    void nothingForbiddenCanHappen(String variant) throws Exception {
        String report = check(variant, FAULTS, false);
        assertTrue(report.contains("errors: 0"), report);
    }

    @ParameterizedTest(name = "{0}")
    @Execution(ExecutionMode.CONCURRENT)
    @ValueSource(strings = {"PROTOCOL", "PLAIN_SINK"})
    void everySlotAndEveryEffectComesToAnEnd(String variant) throws Exception {
        String report = check(variant, FAULTS_OF_LIVENESS, true);
        assertTrue(report.contains("errors: 0"), report);
    }

    /** By what it is weaker in, and not by anything else. */
    @ParameterizedTest(name = "{0}")
    @Execution(ExecutionMode.CONCURRENT)
    @CsvSource({
        "UNFENCED_STORE, !(done[s])",
        "UNFENCED_SINK, taken[s]<=1",
        "TOKENS_ONLY, taken[s]<=1",
        "EARLY_RECEIPT, taken[slot]==1"
    })
    void aWeakerProtocolDoesWhatIsForbidden(String variant, String broken) throws Exception {
        String report = check(variant, FAULTS, false);
        assertTrue(
                report.lines().anyMatch(line -> line.startsWith("pan:1: assertion violated") && line.contains(broken)),
                report);
    }

    @Test
    void anOutcomeWithoutItsEffectInTheSameTransactionLeavesItUnsent() throws Exception {
        String report = check("TWO_TRANSACTIONS", 1, true);
        assertTrue(report.contains("acceptance cycle"), report);
    }

    private String check(String variant, int faults, boolean liveness) throws Exception {
        run("spin", "-a", "-D" + variant, "-DFAULTS=" + faults, MODEL.toString());
        List<String> compile = new ArrayList<>(List.of("cc", "-w", "-O2", "-DCOLLAPSE", "-o", "pan", "pan.c"));
        compile.addAll(liveness ? List.of("-DNFAIR=4") : List.of("-DSAFETY", "-DNOCLAIM"));
        run(compile.toArray(String[]::new));
        String report = liveness ? run("./pan", "-m1000000", "-a", "-f") : run("./pan", "-m1000000");
        assertFalse(report.contains("max search depth too small"), report);
        Matcher states = STATES.matcher(report);
        System.out.println("model " + variant + ", " + faults + (faults == 1 ? " fault" : " faults")
                + (liveness ? ", liveness: " : ", safety: ") + (states.find() ? states.group(1) : "?") + " states, "
                + report.lines()
                        .filter(line -> line.startsWith("pan:1"))
                        .findFirst()
                        .orElse("no violation"));
        return report;
    }

    private String run(String... command) throws IOException, InterruptedException {
        Path output = folder.resolve("output");
        Process process = new ProcessBuilder(command)
                .directory(folder.toFile())
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        if (!process.waitFor(10, TimeUnit.MINUTES)) {
            process.destroyForcibly();
            throw new AssertionError(Arrays.toString(command) + " does not end");
        }
        String said = Files.readString(output);
        assertEquals(0, process.exitValue(), said);
        return said;
    }

    private static boolean isOnPath(String program) {
        return Stream.of(System.getenv().getOrDefault("PATH", "").split(File.pathSeparator))
                .anyMatch(folder -> Files.isExecutable(Path.of(folder, program)));
    }
}
