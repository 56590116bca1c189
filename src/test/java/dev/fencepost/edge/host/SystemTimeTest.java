package dev.fencepost.edge.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SystemTimeTest {

    @Test
    void bootClockIsTheUptimeOfTheHost() throws Exception {
        SystemTime time = new SystemTime();
        assertTrue(time.hasBootClock());
        assertEquals(
                Files.readString(Path.of("/proc/sys/kernel/random/boot_id")).strip(), time.bootId());
        String uptime = Files.readString(Path.of("/proc/uptime")).split(" ", 2)[0];
        long expected = Math.round(Double.parseDouble(uptime) * 1000);
        assertTrue(Math.abs(time.bootMillis() - expected) < 1000);
    }

    @Test
    void bootClockIsReadAnewAndNeverFalls(@TempDir Path proc) throws Exception {
        Files.createDirectories(proc.resolve("sys/kernel/random"));
        Files.writeString(proc.resolve("sys/kernel/random/boot_id"), "4e0b4e2c-0000-4000-8000-000000000001\n");
        Files.writeString(proc.resolve("uptime"), "3661.07 12.00\n");
        SystemTime time = new SystemTime(proc);
        assertEquals("4e0b4e2c-0000-4000-8000-000000000001", time.bootId());
        assertEquals(3_661_070, time.bootMillis());
        Files.writeString(proc.resolve("uptime"), "3661.08 12.00\n");
        assertEquals(3_661_080, time.bootMillis());
        Files.writeString(proc.resolve("uptime"), "1.00 12.00\n");
        assertEquals(3_661_080, time.bootMillis());
        Files.writeString(proc.resolve("uptime"), "nonsense");
        assertThrows(IllegalStateException.class, time::bootMillis);
    }

    @Test
    void withoutBootClockTheWallClockStandsIn(@TempDir Path proc) {
        SystemTime time = new SystemTime(proc);
        assertFalse(time.hasBootClock());
        assertEquals("no-boot-clock", time.bootId());
        assertTrue(Math.abs(time.bootMillis() - time.wallClock().toEpochMilli()) < 1000);
    }

    @Test
    void sleepLastsAtLeastItsTime() throws Exception {
        SystemTime time = new SystemTime();
        long start = System.nanoTime();
        time.sleep(Duration.ofMillis(35));
        assertTrue(System.nanoTime() - start >= 35_000_000);
        time.sleep(Duration.ZERO);
        time.sleep(Duration.ofSeconds(-5));
        assertTrue(System.nanoTime() - start < 5_000_000_000L);
    }

    @Test
    void sleepEndsByTheBootClockAlthoughTheJvmSleptLess(@TempDir Path proc) throws Exception {
        Files.createDirectories(proc.resolve("sys/kernel/random"));
        Files.writeString(proc.resolve("sys/kernel/random/boot_id"), "4e0b4e2c-0000-4000-8000-000000000001\n");
        Path uptime = proc.resolve("uptime");
        Files.writeString(uptime, "10.00 0.00\n");
        SystemTime time = new SystemTime(proc);
        Thread suspend = Thread.ofVirtual().start(() -> {
            try {
                Thread.sleep(20); // the clock under test has to be asleep when its file changes
                Files.writeString(uptime, "90000.00 0.00\n");
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        });
        long start = System.nanoTime();
        time.sleep(Duration.ofMillis(300));
        suspend.join();
        assertTrue(System.nanoTime() - start < 10_000_000_000L);
        assertEquals(90_000_000, time.bootMillis());
    }

    @Test
    void interruptEndsTheSleep() {
        SystemTime time = new SystemTime();
        Thread.currentThread().interrupt();
        assertThrows(InterruptedException.class, () -> time.sleep(Duration.ofHours(1)));
        Thread.currentThread().interrupt();
        assertThrows(InterruptedException.class, () -> time.sleep(Duration.ZERO));
        assertFalse(Thread.interrupted());
    }
}
