package dev.fencepost.edge.process;

import java.io.FileInputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * Whether the runner may still open the files that a new process needs.
 *
 * <p>This is asked before each start, since the JVM (seen with 25.0.3) does not clean up well when it runs out of files in the middle of
 * one: it leaves both ends of a pipe open, and closes descriptor 0, which after the first time is somebody else's file. A run must not be
 * able to do that to its runner.
 */
final class SpareFiles {

    /** A start takes up to eleven descriptors for a moment; the rest is for other threads meanwhile. */
    static final int FOR_A_START = 20;

    private SpareFiles() {}

    /**
     * Passes if so many files can be opened at once.
     *
     * @throws IOException with the system's words if they cannot
     */
    static void check(int count) throws IOException {
        List<FileInputStream> opened = new ArrayList<>(count);
        try {
            for (int i = 0; i < count; i++) {
                opened.add(new FileInputStream("/dev/null"));
            }
        } finally {
            for (FileInputStream file : opened) {
                file.close();
            }
        }
    }
}
