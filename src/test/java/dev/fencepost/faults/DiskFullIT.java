package dev.fencepost.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** L7, RES-01: the disk of the SQLite store is full for a while. Needs the right to mount a tmpfs. */
@Tag("faults")
class DiskFullIT {

    private static final String JOBS = """
            jobs:
              tick:
                every: 1s
                command: ["true"]
              once:
                lease: { ttl: 60s }
                command: |
                  while [ ! -e %s/go ]; do sleep 0.1; done
                  touch %s/ended
            """;

    @TempDir
    Path folder;

    private Path disk;

    @BeforeEach
    void mount() throws IOException {
        disk = Files.createDirectory(folder.resolve("disk"));
        String refusal = Programs.refusalOf("mount", "-t", "tmpfs", "-o", "size=8m", "fencepost-test", disk.toString());
        Assumptions.assumeTrue(
                refusal.isEmpty(), "disk-full test left out: this user cannot mount a tmpfs: " + refusal);
    }

    @AfterEach
    void unmount() {
        Programs.refusalOf("umount", "-l", disk.toString());
    }

    @Test
    void aFullDiskTurnsReadyDownAndNothingIsLostOnceThereIsRoom() throws IOException {
        Path database = disk.resolve("fencepost.db");
        try (Scene scene = Scene.sqlite(folder, database)) {
            scene.jobs(JOBS.formatted(folder, folder) + Scene.oneSlot());
            Rows rows = scene.rows();
            ServeProcess service = scene.serve("disk/state").awaitReady();
            Wait.until(
                    Duration.ofSeconds(20),
                    service::said,
                    () -> rows.ticks("tick", "SUCCEEDED").size() >= 3 && rows.openOf("once", service.pid()) != null);
            int linesBefore = service.lines().size();
            Path filler = disk.resolve("filler");
            fill(filler);
            ServeProcess.Answer down = Wait.forValue(Duration.ofSeconds(10), "ready is DOWN", () -> {
                ServeProcess.Answer answer = service.get("/q/health/ready");
                return answer.isDown() ? answer : null;
            });
            assertTrue(down.body().contains("full"), () -> "the reason: " + down.body());
            scene.touch("go");
            Wait.until(Duration.ofSeconds(3), "the end of the child", () -> Files.exists(folder.resolve("ended")));
            Wait.sleep(Duration.ofSeconds(8));
            assertTrue(service.isAlive(), service::said);
            assertTrue(service.get("/q/health/live").isUp(), service::said);
            assertTrue(service.get("/q/health/ready").isDown(), service::said);
            int lines = service.lines().size() - linesBefore;
            assertTrue(lines < 40, () -> lines + " lines; " + service.said());

            Files.delete(filler);
            Instant freed = Instant.now();
            Wait.until(
                    Duration.ofSeconds(30),
                    service::said,
                    () -> service.get("/q/health/ready").isUp()
                            && rows.successesAfter("tick", freed) >= 2
                            && rows.ticks("once", "SUCCEEDED").size() == 1);
            assertEquals("ok", rows.value("pragma integrity_check"));
            List<Rows.Attempt> once = rows.attempts("once");
            assertEquals(1, once.size(), once::toString);
            service.signal("TERM");
            assertEquals(0, service.awaitExit(Duration.ofSeconds(10)), service::said);
            assertEquals(List.of(), service.errorLines());
            assertTrue(rows.attempts("tick").stream().noneMatch(Rows.Attempt::isOpen), "no run is stuck");
        }
    }

    private static void fill(Path file) {
        byte[] block = new byte[4096];
        try (OutputStream out = Files.newOutputStream(file)) {
            while (true) {
                out.write(block);
            }
        } catch (IOException full) {
            // that is what was wanted
        }
    }
}
