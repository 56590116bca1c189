package dev.fencepost.edge.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.edge.cli.KeptFiles.Held;
import dev.fencepost.host.ManualTime;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@SuppressWarnings("NullAway.Init")
class KeptFilesTest {

    private static final Instant NOW = Instant.parse("2026-03-01T00:00:00Z");

    @TempDir
    Path root;

    private final ManualTime time = new ManualTime(NOW);
    private final List<String> said = new ArrayList<>();

    private KeptFiles kept(Duration keepFor, int most) {
        return new KeptFiles(root, keepFor, most, time, said::add);
    }

    /** As a run leaves it; all of it is as old as that. */
    private Path run(String item, String run, Duration age) throws IOException {
        Path folder =
                Files.createDirectories(root.resolve("pages").resolve(item).resolve(run));
        Path output = Files.createDirectories(folder.resolve("output/sub"));
        Files.writeString(output.resolve("page.html"), "x");
        Files.writeString(folder.resolve("output.log"), "x");
        FileTime at = FileTime.from(NOW.minus(age));
        try (Stream<Path> all = Files.walk(folder)) {
            for (Path each : all.sorted((a, b) -> b.compareTo(a)).toList()) {
                Files.setLastModifiedTime(each, at);
            }
        }
        return folder;
    }

    @Test
    void whatIsTooOldGoesWithTheFolderOfItsItem() throws IOException {
        Path old = run("a", "1-0", Duration.ofDays(14).plusSeconds(1));
        Path older = run("b", "1-0", Duration.ofDays(30));
        Path young = run("b", "2-0", Duration.ofDays(14));
        kept(Duration.ofDays(14), 10).sweep();
        assertFalse(Files.exists(old.getParent()));
        assertFalse(Files.exists(older));
        assertTrue(Files.exists(young.resolve("output/sub/page.html")));
        assertFalse(Files.exists(young.resolve("running")));
        assertEquals(List.of(), said);
    }

    @Test
    void ofTooManyTheOldestGo() throws IOException {
        List<Path> runs = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            runs.add(run("item-" + i, "1-0", Duration.ofHours(10 - i)));
        }
        kept(Duration.ofDays(14), 2).sweep();
        assertEquals(runs.subList(3, 5), runs.stream().filter(Files::exists).toList());
    }

    @Test
    void whatWasWrittenToLatelyIsNotOld() throws IOException {
        Path folder = run("a", "1-0", Duration.ofDays(30));
        Files.setLastModifiedTime(folder.resolve("output.log"), FileTime.from(NOW));
        kept(Duration.ofDays(14), 10).sweep();
        assertTrue(Files.exists(folder));
    }

    @Test
    void whatGoesOnStaysHoweverOld() throws IOException {
        Path folder = run("a", "1-0", Duration.ofDays(30));
        KeptFiles kept = kept(Duration.ZERO, 0);
        Held held = kept.hold(folder);
        kept.sweep();
        kept.sweep();
        assertTrue(Files.exists(folder.resolve("output.log")));
        held.close();
        assertFalse(Files.exists(folder.resolve("running")));
        kept.sweep();
        assertFalse(Files.exists(folder));
    }

    @Test
    void aRunMayDeleteItsOwnFiles() throws IOException {
        Path folder = run("a", "1-0", Duration.ZERO);
        Held held = kept(Duration.ZERO, 0).hold(folder);
        KeptFiles.deleteTree(folder);
        held.close();
        assertFalse(Files.exists(folder.getParent()));
        assertEquals(List.of(), said);
    }

    @Test
    void noLinkIsFollowed() throws IOException {
        Path folder = run("a", "1-0", Duration.ofDays(30));
        Path elsewhere = Files.createDirectories(root.resolveSibling(root.getFileName() + "-elsewhere"));
        Path precious = Files.writeString(elsewhere.resolve("precious"), "x");
        Files.createSymbolicLink(folder.resolve("output/link"), elsewhere);
        Files.setLastModifiedTime(folder.resolve("output"), FileTime.from(NOW.minus(Duration.ofDays(30))));
        kept(Duration.ofDays(1), 10).sweep();
        assertFalse(Files.exists(folder));
        assertTrue(Files.exists(precious));
        Files.delete(precious);
        Files.delete(elsewhere);
    }

    @Test
    void withoutFilesThereIsNothingToDo() {
        new KeptFiles(root.resolve("none"), Duration.ZERO, 0, time, said::add).sweep();
        assertEquals(List.of(), said);
    }
}
