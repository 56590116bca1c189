package dev.fencepost.packages;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The Debian packages of ./mvnw verify -Ppackages in a fresh Debian 12: see src/test/resources/packages/in-a-root.sh. */
@Tag("install")
class InstallIT {

    private static final Path PACKAGES = Path.of("target/packages").toAbsolutePath();

    @TempDir
    Path folder;

    static List<Path> packages() throws IOException {
        try (Stream<Path> all = Files.list(PACKAGES)) {
            return all.filter(file -> file.toString().endsWith(".deb")).toList();
        }
    }

    @ParameterizedTest
    @MethodSource("packages")
    @Timeout(value = 15, unit = TimeUnit.MINUTES)
    void storeAndTokensOutliveRemovalUpgradeAndAPurgeWithoutAnAnswer(Path deb) {
        Tool.assume("debootstrap");
        assumeTrue(Tool.good(folder, "id", "-u").strip().equals("0"), "this is not root");
        Tool ended = Tool.run(
                folder,
                Map.of(),
                List.of(
                        "sh",
                        Path.of("src/test/resources/packages/in-a-root.sh")
                                .toAbsolutePath()
                                .toString(),
                        deb.toString(),
                        folder.toString()));
        assertEquals(0, ended.code(), ended::said);
        assertEquals(
                7,
                ended.said().lines().filter(line -> line.startsWith("shown: ")).count(),
                ended::said);
    }
}
