package dev.fencepost.history;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/** Milliseconds since the host was started, in steps of ten: the one clock that all processes of a host share and that nobody sets. */
public final class BootClock {

    private static final Path UPTIME = Path.of("/proc/uptime");

    private BootClock() {}

    public static long millis() {
        try {
            String text = Files.readString(UPTIME, StandardCharsets.US_ASCII);
            int point = text.indexOf('.');
            return Long.parseLong(text.substring(0, point)) * 1000
                    + Long.parseLong(text.substring(point + 1, point + 3)) * 10;
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }
}
