package dev.fencepost.edge.config;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;

/** A user of this host that a command is to run as. */
final class HostUser {

    private static final Path USERS = Path.of("/etc/passwd");
    private static final Path SELF = Path.of("/proc/self/status");
    private static final Pattern NAME = Pattern.compile("[A-Za-z_][A-Za-z0-9_.-]{0,31}");

    /** Real, effective, saved and file system user of this process. */
    private static final Pattern ROOT_LINE = Pattern.compile("Uid:\\s+\\d+\\s+0\\s+.*");

    private HostUser() {}

    /** @throws BadValueException if the host has no such user, or this process may not start anything as another user */
    static String parse(String written) {
        String name = written.strip();
        if (!NAME.matcher(name).matches()) {
            throw new BadValueException(Finding.quote(written) + " is no name of a user", "write the name of a user");
        }
        if (lines(USERS).stream().noneMatch(line -> line.startsWith(name + ":"))) {
            throw new BadValueException(
                    "there is no user " + Finding.quote(name) + " in " + USERS, "make it: useradd --system " + name);
        }
        if (lines(SELF).stream().noneMatch(line -> ROOT_LINE.matcher(line).matches())) {
            throw new BadValueException(
                    "only root may start a command as another user", "run Fencepost as root, or remove the key");
        }
        return name;
    }

    private static List<String> lines(Path file) {
        try {
            // Names of others in the file may be in any character set.
            return Files.readAllLines(file, StandardCharsets.ISO_8859_1);
        } catch (IOException e) {
            throw new BadValueException(JobsFileReader.whyUnreadable(file, e), "remove the key on such a host");
        }
    }
}
