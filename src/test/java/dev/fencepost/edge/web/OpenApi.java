package dev.fencepost.edge.web;

import dev.fencepost.edge.host.SystemEntropy;
import dev.fencepost.edge.host.SystemTime;
import dev.fencepost.host.AddressRange;
import dev.fencepost.host.Event;
import dev.fencepost.host.ManualTime;
import dev.fencepost.host.TestThreads;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;

/** An API that is open, on a queue in memory and a folder of its own. */
final class OpenApi {

    static final String ALL = "all-scopes-token-0123456789abcdef0123456789";
    static final String READ = "read-only-token-0123456789abcdef0123456789";
    static final String WORK = "work-only-token-0123456789abcdef0123456789";
    static final String OLD = "expired-token-0123456789abcdef0123456789";
    static final long MOST_BYTES = 1 << 20;

    /** The tests' own end of the connection is the proxy, and one more stands before it. */
    private static final List<AddressRange> TRUSTED =
            List.of(AddressRange.parse("127.0.0.1"), AddressRange.parse("10.9.0.0/16"));

    final ManualTime clock = new ManualTime(Instant.parse("2026-03-01T00:00:00Z"));
    final FaultyQueue queue = new FaultyQueue(clock::wallClock);
    final List<Event> events = new CopyOnWriteArrayList<>();
    final Path folder;
    final Path tokenFile;
    final Artifacts artifacts;
    final Client all;

    OpenApi(Api api, URI base, Path directory, List<String> types) {
        folder = directory.resolve("artifacts");
        tokenFile = directory.resolve("tokens");
        writeTokens("""
                # who may do what
                boss   read,work,operate %s
                viewer read              %s
                worker work              %s
                gone   read,work,operate %s 2026-01-01T00:00:00Z
                """.formatted(ALL, READ, WORK, OLD));
        SystemTime time = new SystemTime();
        SystemEntropy entropy = new SystemEntropy();
        try {
            artifacts = Artifacts.open(folder, queue.face(), entropy, events::add);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        api.open(new Api.Parts(
                queue.face(),
                clock::wallClock,
                () -> true,
                Tokens.open(tokenFile, time, events::add),
                artifacts,
                MOST_BYTES,
                types,
                TRUSTED,
                time,
                new TestThreads(),
                entropy,
                events::add));
        all = new Client(base, ALL);
    }

    void writeTokens(String text) {
        try {
            Files.writeString(tokenFile, text);
            Files.setPosixFilePermissions(tokenFile, PosixFilePermissions.fromString("rw-------"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** All that lies below the folder of artifacts and is no folder, but for the ids of the items. */
    List<Path> files() {
        try (Stream<Path> all = Files.walk(folder)) {
            return all.filter(Files::isRegularFile)
                    .filter(each -> !each.endsWith("id"))
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
