package dev.fencepost.faults;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** The processes of this host, read from {@code /proc} by code that shares nothing with the program. */
final class Processes {

    private Processes() {}

    /** Living processes that carry the tag of one of these runs in their environment; by pid, with their command line. */
    static TreeMap<Long, String> ofRuns(Collection<String> runIds) {
        Set<String> tags = runIds.stream().map(id -> "FENCEPOST_RUN_ID=" + id).collect(Collectors.toSet());
        TreeMap<Long, String> found = new TreeMap<>();
        try (DirectoryStream<Path> numbers = Files.newDirectoryStream(Path.of("/proc"), "[0-9]*")) {
            for (Path number : numbers) {
                String[] variables = text(number.resolve("environ")).split("\0");
                for (String variable : variables) {
                    if (tags.contains(variable) && isAlive(number)) {
                        String words = text(number.resolve("cmdline"))
                                .replace('\0', ' ')
                                .strip();
                        found.put(Long.valueOf(number.getFileName().toString()), words);
                    }
                }
            }
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
        return found;
    }

    static boolean isAlive(long pid) {
        return isAlive(Path.of("/proc", String.valueOf(pid)));
    }

    private static boolean isAlive(Path process) {
        String stat = text(process.resolve("stat"));
        int name = stat.lastIndexOf(')');
        return name > 0 && "ZX".indexOf(stat.charAt(name + 2)) < 0;
    }

    private static String text(Path file) {
        try {
            return new String(Files.readAllBytes(file), StandardCharsets.ISO_8859_1);
        } catch (IOException ended) {
            return "";
        }
    }

    /** Sends a signal by the program {@code kill}; a process that has ended is no error. */
    static void signal(long pid, String name) {
        try {
            Process kill = new ProcessBuilder("kill", "-" + name, String.valueOf(pid))
                    .redirectErrorStream(true)
                    .start();
            kill.getInputStream().readAllBytes();
            kill.waitFor();
        } catch (IOException e) {
            throw new IllegalStateException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        }
    }
}
