package dev.fencepost.edge.process;

import dev.fencepost.run.Children.Spec;
import dev.fencepost.run.Children.StartFailure;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Another user of this host that a child runs as, and what is given to that user for it.
 *
 * <p>Its own are the two files that it writes, its output folder and its worktree, and nothing else. The folder of the run stays the
 * runner's: otherwise the user could put a link in the place of the log, and the runner would write where the link leads. So the two files
 * are there before the start, empty. On the way to them the user may go through folders without seeing what is in them: the folders of its
 * job are opened to its group alone, those above to everybody, and what else lies in the state directory is closed to others first.
 *
 * @param groups numbers of all its groups
 */
record Account(String name, int uid, int gid, String home, Set<Integer> groups) {

    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9_][A-Za-z0-9._-]*\\$?");
    private static final List<String> GIVEN_FILES = List.of("FENCEPOST_RESULT", "FENCEPOST_EFFECTS");
    private static final List<String> GIVEN_FOLDERS = List.of("FENCEPOST_OUTPUT_DIR", "FENCEPOST_WORKTREE");

    /**
     * The account of this name.
     *
     * @throws StartFailure if there is none, or the runner may not become another user
     */
    static Account of(String name) throws StartFailure {
        if (!Guard.isRoot()) {
            throw failure("run-as " + name + ": only a runner of root can start commands as another user", null);
        }
        if (!NAME.matcher(name).matches()) {
            throw failure("run-as " + name + ": that is no name of a user", null);
        }
        try {
            String[] fields = said("getent", "passwd", name).strip().split(":", -1);
            if (fields.length < 7) {
                throw failure("run-as " + name + ": there is no such user on this host", null);
            }
            Set<Integer> groups = new TreeSet<>();
            for (String group : said("id", "-G", fields[0]).strip().split(" ", -1)) {
                groups.add(Integer.parseInt(group));
            }
            return new Account(
                    fields[0],
                    Integer.parseInt(fields[2]),
                    Integer.parseInt(fields[3]),
                    fields[5].isEmpty() ? "/" : fields[5],
                    groups);
        } catch (IOException | NumberFormatException e) {
            throw failure("run-as " + name + ": the user cannot be looked up: " + e.getMessage(), e);
        }
    }

    private static String said(String program, String... words) throws IOException {
        String file = Guard.program(program);
        if (file == null) {
            throw new IOException("the program " + program + " is missing");
        }
        Process process = new ProcessBuilder(
                        Stream.concat(Stream.of(file), Stream.of(words)).toList())
                .redirectInput(ProcessBuilder.Redirect.from(Path.of("/dev/null").toFile()))
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        try (InputStream out = process.getInputStream()) {
            String text = new String(out.readNBytes(64 << 10), StandardCharsets.UTF_8);
            if (!process.waitFor(10, TimeUnit.SECONDS)) {
                process.destroyForcibly();
                throw new IOException(program + " does not end");
            }
            return text;
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", e);
        }
    }

    /** The program that becomes this user, to be put before the command. */
    List<String> change() throws StartFailure {
        String setpriv = Guard.program("setpriv");
        if (setpriv == null) {
            throw failure("run-as " + name + ": the program setpriv is missing; it is part of util-linux", null);
        }
        return List.of(
                setpriv,
                "--reuid",
                Integer.toString(uid),
                "--regid",
                Integer.toString(gid),
                "--init-groups",
                "--inh-caps",
                "-all");
    }

    /**
     * Gives the user what the run needs, before it starts.
     *
     * @throws StartFailure if the user cannot reach it
     */
    void takeOver(Spec spec) throws StartFailure {
        Path folder = spec.log().toAbsolutePath().normalize().getParent();
        if (folder == null) {
            throw failure("the log has no folder", null);
        }
        try {
            for (String variable : GIVEN_FILES) {
                Path file = given(spec, variable, folder);
                if (file != null) {
                    if (!Files.exists(file, LinkOption.NOFOLLOW_LINKS)) {
                        Files.createFile(
                                file,
                                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
                    }
                    give(file);
                }
            }
            for (String variable : GIVEN_FOLDERS) {
                Path top = given(spec, variable, folder);
                if (top != null) {
                    try (Stream<Path> files = Files.walk(top)) {
                        for (Path file : (Iterable<Path>) files::iterator) {
                            give(file);
                        }
                    }
                }
            }
            openWay(folder);
        } catch (IOException e) {
            throw failure(
                    "run-as " + name + ": the folder of the run cannot be given to the user: " + e.getMessage(), e);
        }
    }

    /** What lies directly in the folder of the run: whatever else a job may call so stays as it is. */
    private static @Nullable Path given(Spec spec, String variable, Path folder) {
        String value = spec.environment().get(variable);
        if (value == null || value.isEmpty()) {
            return null;
        }
        Path path = Path.of(value).toAbsolutePath().normalize();
        return folder.equals(path.getParent()) ? path : null;
    }

    private void give(Path file) throws IOException {
        Files.setAttribute(file, "unix:gid", gid, LinkOption.NOFOLLOW_LINKS);
        Files.setAttribute(file, "unix:uid", uid, LinkOption.NOFOLLOW_LINKS);
    }

    private void openWay(Path folder) throws IOException, StartFailure {
        Path below = folder;
        int level = 0;
        for (Path at = folder; at != null; at = at.getParent(), level++) {
            boolean ours = level <= RunFolders.LEVELS + 1 && attribute(at, "unix:uid") == 0;
            if (ours && level < RunFolders.LEVELS) {
                Files.setAttribute(at, "unix:gid", gid, LinkOption.NOFOLLOW_LINKS);
                allow(at, PosixFilePermission.GROUP_EXECUTE);
            } else if (ours) {
                openToAll(at, below);
            }
            if (!mayEnter(at)) {
                throw failure(
                        "run-as " + name + ": this user may not enter " + at + ", on the way to the folder of the run;"
                                + " allow it, or choose another --state-dir",
                        null);
            }
            below = at;
        }
    }

    /** Lets everybody through, but to nothing else that lies there. */
    private void openToAll(Path folder, Path below) throws IOException {
        if (permissions(folder).contains(PosixFilePermission.OTHERS_READ)) {
            return; // somebody has opened it on purpose
        }
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(folder)) {
            for (Path entry : entries) {
                if (!entry.equals(below) && !Files.isSymbolicLink(entry)) {
                    close(entry);
                }
            }
        }
        if (!mayEnter(folder)) {
            allow(folder, PosixFilePermission.OTHERS_EXECUTE);
        }
    }

    private static void close(Path entry) throws IOException {
        Set<PosixFilePermission> permissions = permissions(entry);
        if (permissions.removeAll(Set.of(
                PosixFilePermission.OTHERS_READ,
                PosixFilePermission.OTHERS_WRITE,
                PosixFilePermission.OTHERS_EXECUTE))) {
            Files.setPosixFilePermissions(entry, permissions);
        }
    }

    private static void allow(Path folder, PosixFilePermission permission) throws IOException {
        Set<PosixFilePermission> permissions = permissions(folder);
        if (permissions.add(permission)) {
            Files.setPosixFilePermissions(folder, permissions);
        }
    }

    private static Set<PosixFilePermission> permissions(Path path) throws IOException {
        return new TreeSet<>(Files.getPosixFilePermissions(path, LinkOption.NOFOLLOW_LINKS));
    }

    private static int attribute(Path path, String attribute) throws IOException {
        return Files.getAttribute(path, attribute) instanceof Integer number ? number : -1;
    }

    private boolean mayEnter(Path folder) throws IOException {
        Set<PosixFilePermission> permissions = Files.getPosixFilePermissions(folder);
        if (attribute(folder, "unix:uid") == uid) {
            return permissions.contains(PosixFilePermission.OWNER_EXECUTE);
        }
        int group = attribute(folder, "unix:gid");
        return permissions.contains(
                group == gid || groups.contains(group)
                        ? PosixFilePermission.GROUP_EXECUTE
                        : PosixFilePermission.OTHERS_EXECUTE);
    }

    private static StartFailure failure(String message, @Nullable Throwable cause) {
        return new StartFailure(message, cause);
    }
}
