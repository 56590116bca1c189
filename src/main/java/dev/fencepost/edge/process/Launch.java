package dev.fencepost.edge.process;

import dev.fencepost.run.Children.Spec;
import dev.fencepost.run.Children.StartFailure;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A command, looked at before it is started. The kernel says "no such file" for a missing directory, a missing program and a missing
 * interpreter alike, and says it to the programs of the guard; so each cause is looked for here and gets its own message.
 *
 * <p>A bare name is looked up in the child's {@code PATH}; a name with a slash is relative to the working directory.
 */
final class Launch {

    private static final int FIRST_LINE_LIMIT = 256;
    private static final byte[] ELF = {0x7f, 'E', 'L', 'F'};
    private static final Set<String> KERNELS_OWN = Set.of("register", "status");
    private static final Path BINARY_FORMATS = Path.of("/proc/sys/fs/binfmt_misc");

    private final Path directory;
    private final String searchPath;

    private Launch(Path directory, String searchPath) {
        this.directory = directory;
        this.searchPath = searchPath;
    }

    /**
     * Passes if the command can be started as far as one can see.
     *
     * @param environment of the child, complete
     * @throws StartFailure naming the file and the cause
     */
    static void check(Spec spec, Map<String, String> environment) throws StartFailure {
        Path directory = spec.workingDir() == null
                ? Path.of("").toAbsolutePath()
                : spec.workingDir().toAbsolutePath();
        checkDirectory(directory);
        if (spec.command().isEmpty() || spec.command().getFirst().isBlank()) {
            throw failure("the command is empty");
        }
        for (String word : spec.command()) {
            if (word.indexOf('\0') >= 0) {
                throw failure("the command has a NUL character in one of its words");
            }
        }
        new Launch(directory, environment.getOrDefault("PATH", ""))
                .checkProgram(spec.command().getFirst());
    }

    private static void checkDirectory(Path directory) throws StartFailure {
        if (!Files.exists(directory)) {
            throw failure("working directory " + directory + " does not exist" + reachableOnly(directory));
        }
        if (!Files.isDirectory(directory)) {
            throw failure("working directory " + directory + " is not a directory");
        }
        if (!Files.isExecutable(directory)) {
            throw failure("working directory " + directory + " may not be entered: permission denied");
        }
    }

    /** Where the way to a file ends, since "does not exist" may mean "may not be looked at". */
    private static String reachableOnly(Path file) {
        for (Path above = file.getParent(); above != null; above = above.getParent()) {
            if (Files.exists(above)) {
                return Files.isExecutable(above) ? "" : " or may not be seen: no permission to enter " + above;
            }
        }
        return "";
    }

    private void checkProgram(String name) throws StartFailure {
        if (name.indexOf('/') < 0) {
            checkContent(inSearchPath(name, name));
            return;
        }
        Path file = path(name);
        if (!Files.exists(file)) {
            throw missing(file + " does not exist" + reachableOnly(file));
        }
        checkExecutable(file, "command ");
        checkContent(file);
    }

    private Path path(String name) throws StartFailure {
        try {
            return directory.resolve(name);
        } catch (InvalidPathException e) {
            throw missing(name + " is no file name");
        }
    }

    /** As execvp does it: the first executable file of that name; one that is not executable is only remembered for the message. */
    private Path inSearchPath(String name, String shownAs) throws StartFailure {
        Path unusable = null;
        for (String place : searchPath.split(":", -1)) {
            Path file = path(place.isEmpty() ? "." : place).resolve(name);
            if (Files.isRegularFile(file) && Files.isExecutable(file)) {
                return file;
            }
            if (unusable == null && Files.isRegularFile(file)) {
                unusable = file;
            }
        }
        if (unusable != null) {
            checkExecutable(unusable, "command ");
        }
        throw missing(shownAs + " is in no directory of PATH " + searchPath);
    }

    private static void checkExecutable(Path file, String what) throws StartFailure {
        if (Files.isDirectory(file)) {
            throw failure(what + file + " is a directory");
        }
        if (!Files.isExecutable(file)) {
            throw failure(what + file + " is not executable: permission denied (missing x bit, or a noexec mount)");
        }
        if (!Files.isRegularFile(file)) {
            throw failure(what + file + " is not a regular file");
        }
    }

    private void checkContent(Path file) throws StartFailure {
        byte[] head;
        try (InputStream in = Files.newInputStream(file)) {
            head = in.readNBytes(4096);
        } catch (IOException unreadable) {
            return; // a program need not be readable to be started
        }
        if (head.length >= 2 && head[0] == '#' && head[1] == '!') {
            checkInterpreter(file, head);
        } else if (startsWithElf(head)) {
            checkBinary(file, head);
        } else if (isText(head) || !hasOwnBinaryFormats()) {
            throw failure("exec format error: " + file + " is neither a program of this system nor a script: "
                    + (head.length == 0 ? "it is empty" : "a script needs a first line such as #!/bin/sh"));
        }
    }

    private void checkInterpreter(Path script, byte[] head) throws StartFailure {
        String text = new String(head, 0, Math.min(head.length, FIRST_LINE_LIMIT), StandardCharsets.ISO_8859_1);
        int end = text.indexOf('\n');
        String line = end < 0 ? text.substring(2) : text.substring(2, end);
        if (line.endsWith("\r")) {
            throw failure("script " + script + " cannot be started: its first line ends with a carriage return, so"
                    + " its interpreter \"" + line.strip() + "\\r\" does not exist: save the file with UNIX line ends");
        }
        String[] words = line.strip().split("[ \t]+", -1);
        if (words[0].isEmpty()) {
            throw failure("exec format error: the first line of script " + script + " names no interpreter");
        }
        Path interpreter = path(words[0]);
        if (!Files.exists(interpreter)) {
            throw failure("script " + script + " cannot be started: its interpreter " + words[0] + " does not exist");
        }
        checkExecutable(interpreter, "script " + script + " cannot be started: its interpreter ");
        boolean byEnv = interpreter.endsWith("env") && words.length == 2;
        if (byEnv && !words[1].startsWith("-") && words[1].indexOf('=') < 0 && words[1].indexOf('/') < 0) {
            inSearchPath(words[1], "the interpreter " + words[1] + " of script " + script);
        }
    }

    private static boolean startsWithElf(byte[] head) {
        return head.length >= 64 && head[0] == ELF[0] && head[1] == ELF[1] && head[2] == ELF[2] && head[3] == ELF[3];
    }

    /** Compares the processor with the one that the runner's own program is made for, and looks for the dynamic loader. */
    private static void checkBinary(Path file, byte[] head) throws StartFailure {
        byte[] own;
        try (InputStream in = Files.newInputStream(Path.of("/proc/self/exe"))) {
            own = in.readNBytes(64);
        } catch (IOException unknown) {
            return;
        }
        boolean sameClass = startsWithElf(own) && own[4] == head[4] && own[5] == head[5];
        if (!sameClass || head[4] != 2 || head[5] != 1) {
            return; // 32-bit programs run on most 64-bit kernels: let the kernel decide
        }
        ByteBuffer elf = ByteBuffer.wrap(head).order(ByteOrder.LITTLE_ENDIAN);
        int machine = elf.getShort(18);
        int ownMachine = ByteBuffer.wrap(own).order(ByteOrder.LITTLE_ENDIAN).getShort(18);
        if (machine != ownMachine && !hasOwnBinaryFormats()) {
            throw failure("exec format error: " + file + " is made for another processor (ELF machine " + machine
                    + ", this host has " + ownMachine + ")");
        }
        Optional<String> loader = loader(head, elf);
        if (machine == ownMachine && loader.isPresent() && !Files.exists(Path.of(loader.get()))) {
            throw failure("program " + file + " cannot be started: its loader " + loader.get()
                    + " does not exist (made for another C library?)");
        }
    }

    /** The text of the program header PT_INTERP, if it lies within the part that was read. */
    private static Optional<String> loader(byte[] head, ByteBuffer elf) {
        long headers = elf.getLong(32);
        int size = elf.getShort(54);
        int count = elf.getShort(56);
        for (int i = 0; i < count; i++) {
            long at = headers + (long) i * size;
            if (at < 0 || at + 40 > head.length) {
                return Optional.empty();
            }
            if (elf.getInt((int) at) == 3) {
                long from = elf.getLong((int) at + 8);
                long length = elf.getLong((int) at + 32) - 1;
                if (from < 0 || length < 1 || from + length > head.length) {
                    return Optional.empty();
                }
                return Optional.of(new String(head, (int) from, (int) length, StandardCharsets.UTF_8));
            }
        }
        return Optional.empty();
    }

    private static boolean isText(byte[] head) {
        for (byte b : head) {
            if (b == 0) {
                return false;
            }
        }
        return true;
    }

    /** Whether someone taught the kernel further formats (qemu, wine): then only the kernel knows what it can start. */
    private static boolean hasOwnBinaryFormats() {
        String[] formats = BINARY_FORMATS.toFile().list((directory, name) -> !KERNELS_OWN.contains(name));
        return formats != null && formats.length > 0;
    }

    /** The failure of the start itself, in words for a person. */
    static StartFailure refused(Spec spec, Throwable cause) {
        String command = spec.command().getFirst();
        String text = String.valueOf(cause.getMessage());
        String reason = reason(text);
        return new StartFailure(
                "command " + command + " cannot be started: " + (reason == null ? text : reason), cause);
    }

    private static @Nullable String reason(String text) {
        for (Map.Entry<String, String> known : REFUSALS) {
            if (text.contains(known.getKey())) {
                return known.getValue();
            }
        }
        return null;
    }

    private static final List<Map.Entry<String, String>> REFUSALS = List.of(
            Map.entry("error=11,", "resource limit: no more processes allowed (EAGAIN)"),
            Map.entry("error: 11", "resource limit: no more processes allowed (EAGAIN)"),
            Map.entry("unable to create native thread", "resource limit: no more threads allowed (EAGAIN)"),
            Map.entry("error=12,", "resource limit: out of memory (ENOMEM)"),
            Map.entry("error: 12", "resource limit: out of memory (ENOMEM)"),
            Map.entry("Too many open files in system", "resource limit: too many open files in the system (ENFILE)"),
            Map.entry("error=24,", "resource limit: too many open files (EMFILE)"),
            Map.entry("error: 24", "resource limit: too many open files (EMFILE)"),
            Map.entry("Too many open files", "resource limit: too many open files (EMFILE)"),
            Map.entry("error=7,", "its arguments and environment are too long (E2BIG)"),
            Map.entry("error: 7", "its arguments and environment are too long (E2BIG)"));

    private static StartFailure missing(String what) {
        return new StartFailure("command not found: " + what, null, true);
    }

    private static StartFailure failure(String message) {
        return new StartFailure(message, null);
    }
}
