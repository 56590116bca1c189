package dev.fencepost.faults;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Assumptions;

/**
 * A wall clock that can be set, for the processes that are given its variables. Needs libfaketime, in one of the usual places or where
 * {@code -Dfaults.faketime} says; tests that ask for it are skipped where it is missing.
 */
final class FakeClock {

    private static final List<String> PLACES = List.of(
            System.getProperty("faults.faketime", ""),
            "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
            "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1",
            "/usr/lib64/faketime/libfaketimeMT.so.1",
            "/usr/lib/faketime/libfaketimeMT.so.1");

    private static final Duration STEP = Duration.ofMillis(100);

    private final Path file;
    private final String library;

    private FakeClock(Path file, String library) {
        this.file = file;
        this.library = library;
    }

    /** One that goes right. @param file does not exist yet */
    static FakeClock at(Path file) {
        String library = PLACES.stream()
                .filter(place -> !place.isEmpty() && Files.isRegularFile(Path.of(place)))
                .findFirst()
                .orElse(null);
        Assumptions.assumeTrue(
                library != null, "clock tests left out: libfaketime is not installed (package faketime)");
        FakeClock clock = new FakeClock(file, library);
        clock.set("+0");
        return clock;
    }

    Map<String, String> variables() {
        return Map.of(
                "LD_PRELOAD",
                library,
                "FAKETIME_TIMESTAMP_FILE",
                file.toString(),
                "FAKETIME_NO_CACHE",
                "1",
                "FAKETIME_DONT_FAKE_MONOTONIC",
                "1",
                "FAKETIME_FORCE_MONOTONIC_FIX",
                "0"); // else every timed wait of the JVM returns at once
    }

    /**
     * From now on, until the answer is closed, ten seconds pass in each one: in steps, since by its own rate the library changes how long
     * waits take as well, and a JVM then does not even start.
     */
    AutoCloseable runTenTimesAsFast() {
        long begin = System.nanoTime();
        Thread stepping = Thread.ofPlatform().start(() -> {
            try {
                while (true) {
                    set("+%.1f".formatted(9e-9 * (System.nanoTime() - begin)));
                    Thread.sleep(STEP); // a step of the clock
                }
            } catch (InterruptedException closed) {
                // that is the end
            }
        });
        return stepping::interrupt;
    }

    /** @param offset from the right time, in seconds: {@code +3600} */
    void set(String offset) {
        try {
            Path fresh = Files.writeString(file.resolveSibling(file.getFileName() + ".new"), offset + "\n");
            Files.move(fresh, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }
}
