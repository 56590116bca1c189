package dev.fencepost.edge.cli;

import dev.fencepost.edge.remote.ApiServer;
import dev.fencepost.work.MemoryWorkQueue;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;

/** A server with a queue whose clock a test can move, and a token file for it. */
final class WorkSite implements AutoCloseable {

    final Workplace workplace;
    final MemoryWorkQueue queue;
    final ApiServer server;
    final Path tokenFile;
    private final AtomicReference<Duration> ahead = new AtomicReference<>(Duration.ZERO);

    WorkSite(Path dir) throws IOException {
        workplace = new Workplace(dir);
        InstantSource now = () -> Instant.now().plus(ahead.get());
        queue = new MemoryWorkQueue(now);
        server = new ApiServer(queue, now);
        tokenFile = Files.writeString(dir.resolve("worker.token"), ApiServer.TOKEN + "\n");
        Files.setPosixFilePermissions(tokenFile, PosixFilePermissions.fromString("rw-------"));
    }

    /** The server's clock, and with it the ends of all leases, come nearer by this. */
    void passAtTheServer(Duration time) {
        ahead.updateAndGet(old -> old.plus(time));
    }

    /** {@code work …} over the server. */
    CommandRun work(String... arguments) {
        return workplace.run(words(arguments).toArray(String[]::new));
    }

    /** The words of a command, with server and token behind its name. */
    List<String> words(String... arguments) {
        List<String> words = new ArrayList<>(List.of("work", arguments[0]));
        words.addAll(List.of("--server", server.address().toString(), "--token-file", tokenFile.toString()));
        words.addAll(List.of(arguments).subList(1, arguments.length));
        return words;
    }

    Path file(String name) {
        return workplace.dir.resolve(name);
    }

    @Override
    public void close() {
        server.close();
    }
}
