package dev.fencepost.edge.config;

import static dev.fencepost.fuzz.Shape.isForPeople;
import static dev.fencepost.fuzz.Shape.require;
import static dev.fencepost.fuzz.Shape.same;

import dev.fencepost.fuzz.Shape;
import dev.fencepost.host.AddressRange;
import dev.fencepost.schedule.ScheduleException;
import dev.fencepost.schedule.Zones;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Jobs files, files of secrets, and the texts in them. */
public final class FuzzedConfig {

    private static final int KINDS = 9;

    private FuzzedConfig() {}

    /** It is accepted, or every mistake in it has a place in it. */
    public static void jobsFile(byte[] input, Path folder) throws IOException {
        Path file = folder.resolve("jobs.yaml");
        Files.write(file, input);
        JobsFileReader reader = new JobsFileReader(Readings.ENVIRONMENT, folder, Readings.NOW);
        Reading reading = reader.read(file);
        List<Finding> findings = new ArrayList<>(reading.errors());
        if (reading instanceof Reading.Accepted accepted) {
            findings.addAll(accepted.file().warnings());
            for (Definition definition : accepted.file().definitions().values()) {
                Instant next = definition.job().schedule().next(Readings.NOW);
                require(next == null || next.isAfter(Readings.NOW), "a next slot that is past: " + next);
            }
        } else {
            require(!reading.errors().isEmpty(), "refused without an error");
        }
        int lines = 1
                + (int) Shape.text(input, 0)
                        .chars()
                        .filter(c -> c == '\n' || c == '\r')
                        .count();
        for (Finding finding : findings) {
            isForPeople("message", finding.message());
            isForPeople("text", finding.text());
            require(finding.line() >= 0 && finding.line() <= 2 * lines, "line " + finding.line() + " of " + lines);
            require(finding.column() >= 0, "column " + finding.column());
        }
        reader.storeOf(file);
    }

    public static void envFile(byte[] input, Path folder) throws IOException {
        Path file = folder.resolve("secrets.env");
        Files.write(file, input);
        Findings findings = new Findings(file);
        Map<String, String> values =
                new EnvFile(file, "env-file", findings).read((message, hint) -> isForPeople("message", message));
        List<Finding> all = new ArrayList<>(findings.errors());
        all.addAll(findings.warnings());
        all.forEach(finding -> isForPeople("text", finding.text()));
        values.forEach((name, value) -> {
            require(name.matches("[A-Za-z_][A-Za-z0-9_]*"), "the name " + name);
            require(value.lines().count() <= 1, "a value of several lines");
            boolean isTold = value.indexOf('\0') < 0 || !findings.errors().isEmpty();
            require(isTold, "a NUL in a value is not told");
        });
    }

    /** The first byte chooses the kind of text. What is read and can be written is read the same again. */
    public static void texts(byte[] input, Path folder) {
        String text = Shape.text(input, 1);
        try {
            switch (Shape.choice(input, KINDS)) {
                case 0 -> {
                    Duration duration = DurationText.parse(text);
                    require(!duration.isNegative(), "a negative duration: " + duration);
                    same("duration", duration, DurationText.parse(DurationText.format(duration)));
                }
                case 1 -> {
                    Instant instant = InstantText.parse(text);
                    same("instant", instant, InstantText.parse(instant.toString()));
                }
                case 2 -> {
                    StoreUrl url = StoreUrl.parse(text, folder);
                    require(
                            url.password() == null
                                    || url.password().length() < 4
                                    || text.indexOf(url.password()) != text.lastIndexOf(url.password())
                                    || !url.toString().contains(url.password()),
                            "the password is shown: " + url);
                    isForPeople("display", cut(url.toString()));
                }
                case 3 -> {
                    URI uri = HttpUrl.parse(text);
                    isForPeople("address", cut(HttpUrl.shown(uri)));
                    require(!HttpUrl.host(uri).isEmpty(), "an address without a host");
                    HttpUrl.isPlainAndLeavesTheHost(uri);
                    HttpUrl.isWrittenAsPrivate(uri);
                    HttpUrl.holdsSecretParameter(uri);
                }
                case 4 -> {
                    OutputPattern pattern = OutputPattern.parse(text);
                    pattern.isFoundEverywhere();
                    pattern.until("a line of output until 2026-03-29T01:00:00Z");
                    same("expression", pattern, OutputPattern.parse(pattern.text()));
                }
                case 5 -> {
                    String branch = GitName.branch(text);
                    require(!branch.contains("..") && !branch.startsWith("-"), "the branch " + branch);
                }
                case 6 -> FileName.resolve(folder, text);
                case 7 -> Zones.parse(text);
                default -> {
                    AddressRange range = AddressRange.parse(text);
                    require(range.contains(range.network()), range + " without its own address");
                }
            }
        } catch (BadValueException | ScheduleException refused) {
            isForPeople("message", refused.getMessage());
        } catch (IllegalArgumentException refused) {
            require(Shape.choice(input, KINDS) == KINDS - 1, "not refused as a bad value: " + refused);
            isForPeople("message", refused.getMessage());
        }
    }

    /** As long as it was written, it may be that long. */
    private static String cut(String text) {
        return text.substring(0, Math.min(text.length(), 10_000));
    }
}
