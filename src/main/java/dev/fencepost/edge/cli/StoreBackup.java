package dev.fencepost.edge.cli;

import dev.fencepost.edge.config.Finding;
import dev.fencepost.edge.config.StoreUrl;
import dev.fencepost.host.Printable;
import dev.fencepost.lease.StoreException;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Copies the SQLite store into one file. */
@Command(
        description = {
            "Copies a SQLite store into one file, while services go on.",
            "The file is checked and on the disk before it gets its name, and readable by its owner alone.",
            "One that is there is not replaced without --force. Of PostgreSQL this makes no backup; it says",
            "what does."
        },
        footer = {
            "",
            "Examples:",
            "  fencepost store backup /var/backups/fencepost-$(date +%%F).db",
            "  fencepost store backup /var/backups/fencepost.db --force --json"
        })
final class StoreBackup implements Callable<Integer> {

    @Parameters(paramLabel = "FILE", description = "Where the copy goes.")
    @SuppressWarnings("NullAway.Init")
    private Path file;

    @Option(names = "--force", description = "Replace the file if it is there.")
    private boolean force;

    private final SharedOptions shared;

    StoreBackup(SharedOptions shared) {
        this.shared = shared;
    }

    @Override
    public Integer call() {
        StoreUrl url = shared.store(shared.jobsFileIfAny());
        Path source = url.file();
        if (source == null) {
            throw new CommandFailure(
                    ExitCode.USAGE,
                    url.display()
                            + " is a PostgreSQL: its own programs make its backups, in the version of the server\n"
                            + "    pg_dump --format=custom --file=" + word(file.toString()) + " " + word(pgAddress(url))
                            + "\n    after a restore: fencepost store bump, see src/docs/backup-and-upgrade.md");
        }
        if (!Files.exists(source)) {
            throw new CommandFailure(
                    ExitCode.STORE_UNAVAILABLE,
                    "there is no store " + url.display() + "\n    another one is named with --store or --config");
        }
        Path target = shared.surroundings().workingDir().resolve(file).normalize();
        if (Files.isDirectory(target)) {
            throw new CommandFailure(
                    ExitCode.USAGE,
                    Finding.quote(target.toString()) + " is a directory\n    name a file in it, such as "
                            + shown(target.resolve(source.getFileName())));
        }
        if (Files.exists(target) && !Files.isRegularFile(target)) { // --force would put a file in the place of a device
            throw new CommandFailure(ExitCode.USAGE, shown(target) + " is no plain file\n    name another one");
        }
        if (isSame(source, target) || isBeside(source, target)) {
            throw new CommandFailure(ExitCode.USAGE, shown(target) + " is the store itself\n    name another file");
        }
        if (Files.exists(target) && !force) {
            return exists(target);
        }
        try {
            copy(url, target);
        } catch (FileAlreadyExistsException madeMeanwhile) {
            return exists(target);
        } catch (IOException e) {
            throw new CommandFailure(ExitCode.FAILED, "no backup was made: " + shown(target) + ": " + cause(e));
        }
        done(url, target);
        return ExitCode.FINE;
    }

    private int exists(Path target) {
        if (shared.json()) {
            Json.print(shared.surroundings().out(), answer("EXISTS", target, null));
        } else {
            shared.surroundings()
                    .err()
                    .println(shown(target) + " is there already, and was left as it is\n    name another file, or give"
                            + " --force");
        }
        return ExitCode.REFUSED;
    }

    /** Beside its place, so that the last step is a change of its name. */
    private void copy(StoreUrl url, Path target) throws IOException {
        Path folder = target.toAbsolutePath().getParent();
        Path copy = Files.createTempFile(
                folder,
                "." + target.getFileName(),
                ".partial",
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
        try (OpenedStore opened = OpenedStore.asItIs(shared, url)) {
            if (opened.store().diagnosis().schema() == null) {
                throw new CommandFailure(
                        ExitCode.STORE_UNAVAILABLE, url.display() + " is no store of Fencepost\n    look at --store");
            }
            List<String> damage = opened.store().copyTo(copy);
            if (!damage.isEmpty()) {
                throw new CommandFailure(
                        ExitCode.FAILED,
                        "no backup was made: the copy is damaged, and so is the store it was made of: "
                                + damage.getFirst() + "\n    fencepost store check names more");
            }
            try (FileChannel channel = FileChannel.open(copy, StandardOpenOption.WRITE)) {
                channel.force(true);
            }
            if (force) {
                Files.move(copy, target, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
            } else {
                Files.move(copy, target);
            }
            try (FileChannel channel = FileChannel.open(folder, StandardOpenOption.READ)) {
                channel.force(true);
            }
        } catch (StoreException e) {
            throw new CommandFailure(
                    ExitCode.FAILED,
                    "no backup was made: " + shown(target) + ": " + Printable.text(String.valueOf(e.getMessage())));
        } finally {
            for (String more : List.of("", "-wal", "-shm")) {
                Files.deleteIfExists(copy.resolveSibling(copy.getFileName() + more));
            }
        }
    }

    private void done(StoreUrl url, Path target) {
        long bytes = bytes(target);
        if (shared.json()) {
            Json.print(shared.surroundings().out(), answer(null, target, bytes));
            return;
        }
        shared.surroundings()
                .out()
                .println(url.display() + ": copied to " + shown(target) + ", " + HostVerdicts.bytes(bytes)
                        + ", checked\n    not in it: files of work items and logs of runs, in the state directory "
                        + shown(shared.stateDir()));
    }

    private Map<String, @Nullable Object> answer(@Nullable String reason, Path target, @Nullable Long bytes) {
        return Json.object("ok", reason == null, "reason", reason, "file", target, "bytes", bytes);
    }

    private static long bytes(Path target) {
        try {
            return Files.size(target);
        } catch (IOException e) {
            throw new CommandFailure(ExitCode.FAILED, shown(target) + " was made, and is gone: " + cause(e));
        }
    }

    private static boolean isSame(Path source, Path target) {
        try {
            return Files.exists(target) && Files.isSameFile(source, target);
        } catch (IOException e) {
            return false;
        }
    }

    /** What belongs to the store, so that a copy in its place would damage it. */
    private static boolean isBeside(Path source, Path target) {
        return Stream.of("-wal", "-shm", "-journal")
                .anyMatch(end -> target.equals(source.resolveSibling(source.getFileName() + end)));
    }

    /** The server as libpq knows it; of the parameters those of TLS, which have the same names there. */
    private static String pgAddress(StoreUrl url) {
        String[] parts = url.jdbcUrl().replaceFirst("^jdbc:", "").split("\\?", 2);
        String place = url.user() == null
                ? parts[0]
                : "postgresql://" + url.user() + "@" + parts[0].substring("postgresql://".length());
        String tls = Stream.of(parts.length == 1 ? new String[0] : parts[1].split("&", -1))
                .filter(each -> each.startsWith("sslmode=") || each.startsWith("sslrootcert="))
                .collect(Collectors.joining("&"));
        return tls.isEmpty() ? place : place + "?" + tls;
    }

    /** As one word of a shell. */
    private static String word(String text) {
        return "'" + Printable.text(text).replace("'", "'\\''") + "'";
    }

    private static String shown(Path path) {
        return Printable.text(path.toString());
    }

    private static String cause(IOException e) {
        String reason = e instanceof FileSystemException file ? file.getReason() : e.getMessage();
        return Printable.text(
                e.getClass().getSimpleName().replace("Exception", "") + (reason == null ? "" : " " + reason));
    }
}
