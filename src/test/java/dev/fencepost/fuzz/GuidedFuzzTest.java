package dev.fencepost.fuzz;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Coverage-guided: Jazzer in a process of its own, for {@code -Djazzer.seconds=} (default 60) on each target that {@code -Djazzer=} names
 * ({@code all}, or {@code cron,jobs-file}). What it learns stays in {@code target/jazzer}; an input that fails is printed, and belongs into
 * the corpus.
 *
 * <p>It reads classes of older Javas alone, so it gets a copy of ours in which that number is lowered; the code in them is the same.
 */
@EnabledIfSystemProperty(
        named = "jazzer",
        matches = ".+",
        disabledReason = "guided fuzzing takes minutes for each target: -Djazzer=all")
class GuidedFuzzTest {

    private static final Path LEARNED = Path.of("target/jazzer");
    private static final int NEWEST_VERSION_KNOWN = 65;

    @TempDir
    private Path folder;

    static Stream<Target> targets() {
        String wanted = System.getProperty("jazzer", "all");
        return wanted.equals("all")
                ? Stream.of(Target.values())
                : Stream.of(wanted.split(",")).map(Target::of);
    }

    @ParameterizedTest
    @MethodSource("targets")
    void nothingThatJazzerWritesIsTakenOtherwiseThanItShouldBe(Target target) throws Exception {
        List<String> classPath = new ArrayList<>();
        for (String part : System.getProperty("java.class.path").split(File.pathSeparator)) {
            classPath.add(
                    Files.isDirectory(Path.of(part)) ? lowered(Path.of(part)).toString() : part);
        }
        Path learned = Files.createDirectories(LEARNED.resolve(target.word()));
        Path found = Files.createDirectories(LEARNED.resolve("found"));
        Path seeds = Files.createDirectories(folder.resolve("seeds").resolve(target.word()));
        for (Map.Entry<String, byte[]> each : Corpus.cases(target).entrySet()) {
            if (each.getValue().length <= Corpus.LARGEST_SEED) {
                Files.write(seeds.resolve(each.getKey()), each.getValue());
            }
        }
        Process jazzer = new ProcessBuilder(
                        ProcessHandle.current().info().command().orElseThrow(),
                        "-Xmx1g",
                        "-XX:+EnableDynamicAgentLoading",
                        "--enable-native-access=ALL-UNNAMED",
                        "-Dfuzz.target=" + target.word(),
                        "-cp",
                        String.join(File.pathSeparator, classPath),
                        "com.code_intelligence.jazzer.Jazzer",
                        "--target_class=" + JazzerMain.class.getName(),
                        "--instrumentation_includes=dev.fencepost.**:org.snakeyaml.**:com.google.re2j.**:com.cronutils.**",
                        "--custom_hook_excludes=**", // what it looks for besides is not in this program
                        "--reproducer_path=" + found, // an input as a program: the bytes are enough
                        "-max_total_time=" + Integer.getInteger("jazzer.seconds", 60),
                        "-max_len=" + Target.MOST_BYTES,
                        "-timeout=20",
                        "-rss_limit_mb=4096",
                        "-dict=" + Corpus.dictionary(target),
                        "-artifact_prefix=" + found + "/" + target.word() + "-",
                        learned.toString(),
                        seeds.toString())
                .redirectErrorStream(true)
                .redirectOutput(LEARNED.resolve(target.word() + ".log").toFile())
                .start();
        int code = jazzer.waitFor();
        List<String> said = Files.readAllLines(LEARNED.resolve(target.word() + ".log"));
        int failure = said.indexOf(
                said.stream().filter(line -> line.startsWith("== ")).findFirst().orElse(""));
        assertEquals(
                0,
                code,
                () -> target + ": "
                        + String.join(
                                "\n",
                                said.subList(failure < 0 ? Math.max(0, said.size() - 30) : failure, said.size())));
        said.stream().filter(line -> line.startsWith("Done")).forEach(line -> System.out.println(target + ": " + line));
    }

    /** A copy of the classes in a folder, all of a version that Jazzer knows. */
    private Path lowered(Path classes) throws IOException {
        Path copy = folder.resolve(classes.toAbsolutePath().toString().substring(1));
        try (Stream<Path> files = Files.walk(classes)) {
            for (Path file : files.toList()) {
                Path to = copy.resolve(classes.relativize(file).toString());
                if (Files.isDirectory(file)) {
                    Files.createDirectories(to);
                    continue;
                }
                byte[] bytes = Files.readAllBytes(file);
                if (file.toString().endsWith(".class") && bytes[7] > NEWEST_VERSION_KNOWN) {
                    bytes[7] = NEWEST_VERSION_KNOWN;
                }
                Files.write(to, bytes);
            }
        }
        return copy;
    }
}
