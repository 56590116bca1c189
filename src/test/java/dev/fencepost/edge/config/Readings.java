package dev.fencepost.edge.config;

import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** Reads jobs files for the tests: same environment, same instant, no clock. */
final class Readings {

    static final Instant NOW = Instant.parse("2026-01-01T00:00:00Z");
    static final Map<String, String> ENVIRONMENT = Map.of("PATH", "/usr/bin:/bin");

    private Readings() {}

    static Reading of(Path dir, String yaml) throws IOException {
        Path file = dir.resolve("fencepost.yaml");
        Files.writeString(file, yaml);
        return of(file);
    }

    static Reading of(Path file) {
        return new JobsFileReader(ENVIRONMENT, Path.of("/"), NOW).read(file);
    }

    /** One of the files whose bytes matter. */
    static Reading resource(String name) throws URISyntaxException {
        return of(Path.of(Objects.requireNonNull(Readings.class.getResource("/edge/config/" + name))
                .toURI()));
    }

    static JobsFile accepted(Reading reading) {
        return assertInstanceOf(Reading.Accepted.class, reading, () -> "" + texts(reading.errors()))
                .file();
    }

    static Definition job(Reading reading, String id) {
        return Objects.requireNonNull(accepted(reading).definitions().get(id));
    }

    /** {@code 3:5 jobs.a.every: message [hint]}. */
    static List<String> texts(List<Finding> findings) {
        return findings.stream()
                .map(f -> f.line() + ":" + f.column() + " " + f.path() + ": " + f.message() + " [" + f.hint() + "]")
                .toList();
    }
}
