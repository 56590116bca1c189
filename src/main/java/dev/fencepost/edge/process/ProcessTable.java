package dev.fencepost.edge.process;

import dev.fencepost.lease.RunId;
import java.io.FileInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The processes of this host (of this pid namespace and those below it), as {@code /proc} shows them now. Holds no state.
 *
 * <p>A process that cannot be read, since it has just ended or is hidden, counts as not there; but that the runner may open no more
 * files is an error and never taken for the end of a process.
 */
final class ProcessTable {

    /** The variable that marks every process of a run. */
    static final String TAG = "FENCEPOST_RUN_ID";

    private static final Path PROC = Path.of("/proc");

    /** The kernel gives the whole line at once: 52 numbers, and a name of at most 64 bytes. */
    private static final int LONGEST_STAT = 2_048;

    private ProcessTable() {}

    /**
     * One process.
     *
     * @param state the kernel's letter, of its main thread; {@code Z} and {@code X} are dead ones that nobody has asked for yet
     * @param threads how many there are; a process whose main thread has ended is shown as {@code Z} while others go on
     * @param startTicks clock ticks from the start of the host; tells it from a later process of the same pid
     */
    record Entry(long pid, char state, long parent, long group, long session, long threads, long startTicks) {

        boolean isAlive() {
            return (state != 'Z' && state != 'X') || threads > 1;
        }
    }

    /** All processes by pid, in no certain order. */
    static Map<Long, Entry> all() throws IOException {
        Map<Long, Entry> entries = new LinkedHashMap<>();
        try (DirectoryStream<Path> numbers = Files.newDirectoryStream(PROC, "[0-9]*")) {
            for (Path number : numbers) {
                Entry entry = of(Long.parseLong(number.getFileName().toString()));
                if (entry != null) {
                    entries.put(entry.pid(), entry);
                }
            }
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
        return entries;
    }

    /**
     * The process of this pid, or null.
     *
     * @throws IOException if nobody can tell, since the runner may open no more files
     */
    static @Nullable Entry of(long pid) throws IOException {
        return parsed(PROC.resolve(Long.toString(pid)).resolve("stat"));
    }

    /**
     * Whether the pid still means this process, and it lives.
     *
     * @throws IOException if nobody can tell, since the runner may open no more files
     */
    static boolean isStill(Entry entry) throws IOException {
        Entry now = of(entry.pid());
        return now != null && now.startTicks() == entry.startTicks() && now.isAlive();
    }

    /** The runner itself. */
    static Entry self() throws IOException {
        Entry self = parsed(PROC.resolve("self/stat"));
        if (self == null) {
            throw new IOException("/proc/self/stat cannot be read: Fencepost needs a mounted /proc");
        }
        return self;
    }

    /** Inode number of the runner's pid namespace, 0 where unknown. */
    static long pidNamespace() {
        try {
            String link = Files.readSymbolicLink(PROC.resolve("self/ns/pid")).toString();
            return Long.parseLong(link.substring(link.indexOf('[') + 1, link.length() - 1));
        } catch (IOException | IndexOutOfBoundsException | NumberFormatException unknown) {
            return 0;
        }
    }

    /** Whether the process was started with this run's tag in its environment. */
    static boolean hasTag(long pid, RunId runId) {
        return environment(pid).contains("\0" + TAG + "=" + runId + "\0");
    }

    /** The run whose tag the process was started with, as text, or null. */
    static @Nullable String tag(long pid) {
        String environment = environment(pid);
        String begin = "\0" + TAG + "=";
        int at = environment.indexOf(begin);
        return at < 0 ? null : environment.substring(at + begin.length(), environment.indexOf('\0', at + 1));
    }

    private static String environment(long pid) {
        try {
            byte[] environment =
                    Files.readAllBytes(PROC.resolve(Long.toString(pid)).resolve("environ"));
            return "\0" + new String(environment, StandardCharsets.ISO_8859_1) + "\0";
        } catch (IOException ended) {
            return "";
        }
    }

    /** What an open file of the process is, for instance {@code pipe:[4711]}, or null. */
    static @Nullable String openFile(long pid, int descriptor) {
        return link(PROC.resolve(Long.toString(pid)).resolve("fd").resolve(Integer.toString(descriptor)));
    }

    /** The processes that have one of these files open for writing, without the runner itself. */
    static List<Entry> writers(Set<String> files) throws IOException {
        long self = self().pid();
        List<Entry> writers = new ArrayList<>();
        for (Entry entry : all().values()) {
            if (entry.pid() != self && entry.isAlive() && writesToAny(entry.pid(), files)) {
                writers.add(entry);
            }
        }
        return writers;
    }

    private static boolean writesToAny(long pid, Set<String> files) {
        try (DirectoryStream<Path> descriptors =
                Files.newDirectoryStream(PROC.resolve(Long.toString(pid)).resolve("fd"))) {
            for (Path descriptor : descriptors) {
                if (files.contains(link(descriptor)) && isForWriting(descriptor)) {
                    return true;
                }
            }
        } catch (IOException | DirectoryIteratorException notOurs) {
            return false;
        }
        return false;
    }

    /** The permissions of the link tell how the file was opened. */
    private static boolean isForWriting(Path descriptor) throws IOException {
        return Files.getPosixFilePermissions(descriptor, LinkOption.NOFOLLOW_LINKS)
                .contains(PosixFilePermission.OWNER_WRITE);
    }

    private static @Nullable String link(Path path) {
        try {
            return Files.readSymbolicLink(path).toString();
        } catch (IOException closed) {
            return null;
        }
    }

    /** {@code 42 (any (name)) S 1 42 42 …}: the name may hold blanks and brackets, so the fields are counted from the last one. */
    private static @Nullable Entry parsed(Path stat) throws IOException {
        byte[] bytes = new byte[LONGEST_STAT];
        try (FileInputStream in =
                new FileInputStream(stat.toFile())) { // of all ways the one with the fewest system calls
            String text = new String(bytes, 0, Math.max(0, in.read(bytes)), StandardCharsets.ISO_8859_1);
            String[] fields = text.substring(text.lastIndexOf(')') + 2).split(" ", 21);
            return new Entry(
                    Long.parseLong(text.substring(0, text.indexOf(' '))),
                    fields[0].charAt(0),
                    Long.parseLong(fields[1]),
                    Long.parseLong(fields[2]),
                    Long.parseLong(fields[3]),
                    Long.parseLong(fields[17]),
                    Long.parseLong(fields[19]));
        } catch (IOException e) {
            if (String.valueOf(e.getMessage()).contains("Too many open files")) {
                throw e;
            }
            return null;
        } catch (IndexOutOfBoundsException | NumberFormatException ended) {
            return null;
        }
    }
}
