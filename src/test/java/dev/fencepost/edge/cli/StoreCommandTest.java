package dev.fencepost.edge.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.Refusal;
import dev.fencepost.lease.Renewal;
import dev.fencepost.run.Nodes;
import dev.fencepost.store.Postgres;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code store backup}, {@code check} and {@code bump}. */
class StoreCommandTest {

    private static final Duration TTL = Duration.ofMinutes(5);
    private static final Nodes.State STATE = new Nodes.State("vps", "1", "/f", "h", null);

    private Workplace workplace;
    private Path backup;

    @BeforeEach
    void setUp(@TempDir Path dir) throws IOException {
        workplace = new Workplace(dir);
        backup = dir.resolve("backup.db");
        try (JdbcStore store = workplace.store()) {
            Workplace.claim(store, "article", "worker-a", TTL);
        }
    }

    private CommandRun ok(String... words) {
        CommandRun run = workplace.run(words);
        assertEquals(ExitCode.FINE, run.exitCode(), run::err);
        return run;
    }

    private void sql(String text) throws SQLException {
        try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + workplace.storeFile());
                Statement statement = connection.createStatement()) {
            statement.execute(text);
        }
    }

    /** Puts the copy in the place of the store, as a person does. */
    private void putBack() throws IOException {
        for (String more : List.of("-wal", "-shm")) {
            Files.deleteIfExists(Path.of(workplace.storeFile() + more));
        }
        Files.copy(backup, workplace.storeFile(), StandardCopyOption.REPLACE_EXISTING);
    }

    @Test
    void aBackupIsCheckedAndForItsOwnerAlone() throws IOException {
        CommandRun run = ok("store", "backup", "backup.db");
        assertTrue(run.out().startsWith("sqlite:" + workplace.storeFile() + ": copied to " + backup), run.out());
        assertTrue(run.out().contains(", checked\n"), run.out());
        assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(backup)));
        try (Stream<Path> files = Files.list(workplace.dir)) {
            assertEquals(
                    List.of("backup.db", "state"),
                    files.map(file -> file.getFileName().toString()).sorted().toList());
        }
        byte[] before = Files.readAllBytes(backup);
        assertTrue(ok("store", "check", "--store", "sqlite:" + backup).out().contains("nothing is wrong, 1 leases"));
        assertEquals(List.of(), differences(before, Files.readAllBytes(backup)), "a check changes nothing");
    }

    private static List<Integer> differences(byte[] one, byte[] other) {
        int at = Arrays.mismatch(one, other);
        return at < 0 ? List.of() : List.of(at);
    }

    @Test
    void aFileThatIsThereIsReplacedByForceAlone() throws IOException {
        Files.writeString(backup, "mine");
        CommandRun refused = workplace.run("store", "backup", "backup.db");
        assertEquals(ExitCode.REFUSED, refused.exitCode());
        assertEquals(
                backup + " is there already, and was left as it is\n    name another file, or give --force\n",
                refused.err());
        JsonNode answer = Workplace.json(
                workplace.run("store", "backup", "backup.db", "--json").out());
        assertEquals(List.of("ok", "reason", "file", "bytes"), Workplace.fields(answer));
        assertEquals("EXISTS", answer.get("reason").asText());
        assertEquals("mine", Files.readString(backup));
        JsonNode done = Workplace.json(
                ok("store", "backup", "backup.db", "--force", "--json").out());
        assertEquals(Files.size(backup), done.get("bytes").longValue());
    }

    @Test
    void placesWhereNoBackupCanGoAreNamed() throws IOException {
        CommandRun itself = workplace.run("store", "backup", "state/fencepost.db", "--force");
        assertEquals(ExitCode.USAGE, itself.exitCode());
        assertTrue(itself.err().contains("is the store itself"), itself.err());
        CommandRun folder = workplace.run("store", "backup", "state");
        assertEquals(ExitCode.USAGE, folder.exitCode());
        assertTrue(folder.err().contains("is a directory"), folder.err());
        CommandRun part = workplace.run("store", "backup", "state/fencepost.db-wal", "--force");
        assertEquals(ExitCode.USAGE, part.exitCode());
        assertTrue(part.err().contains("is the store itself"), part.err());
        CommandRun nowhere = workplace.run("store", "backup", "no/such/folder.db");
        assertEquals(ExitCode.FAILED, nowhere.exitCode());
        assertTrue(nowhere.err().startsWith("no backup was made: "), nowhere.err());
        CommandRun noDatabase = workplace.run(
                "store",
                "backup",
                "x.db",
                "--store",
                "sqlite:" + Files.writeString(workplace.dir.resolve("text"), "text"));
        assertTrue(
                noDatabase.err().startsWith("no backup was made: " + workplace.dir.resolve("x.db") + ": "),
                noDatabase.err());
        CommandRun noStore =
                workplace.run("store", "backup", "x.db", "--store", "sqlite:" + workplace.dir + "/none.db");
        assertEquals(ExitCode.STORE_UNAVAILABLE, noStore.exitCode());
        assertFalse(Files.exists(workplace.dir.resolve("none.db")));
    }

    @Test
    void whatIsNoPlainFileIsNotReplaced() throws IOException {
        Path socket = workplace.dir.resolve("socket");
        try (ServerSocketChannel listening = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
            listening.bind(UnixDomainSocketAddress.of(socket));
            CommandRun run = workplace.run("store", "backup", "socket", "--force");
            assertEquals(ExitCode.USAGE, run.exitCode(), run.out());
            assertEquals(socket + " is no plain file\n    name another one\n", run.err());
            assertFalse(Files.isRegularFile(socket));
        }
    }

    /** It is the copy that is checked, whatever stands in its name. */
    @Test
    void aNameMayHoldAQuestionMark() throws IOException {
        ok("store", "backup", "what?mode=memory.db");
        try (Stream<Path> files = Files.list(workplace.dir)) {
            assertEquals(
                    List.of("state", "what?mode=memory.db"),
                    files.map(file -> file.getFileName().toString()).sorted().toList());
        }
        byte[] copy = Files.readAllBytes(workplace.dir.resolve("what?mode=memory.db"));
        assertEquals(2, copy[18], "in WAL mode, as the check leaves it");
    }

    @Test
    void aDamagedStoreGivesNoBackup() throws IOException, SQLException {
        sql("create table big (id integer primary key, text text)");
        sql("insert into big with recursive n (i) as (select 1 union all select i + 1 from n where i < 400)"
                + " select i, hex(randomblob(400)) from n");
        sql("create index big_text on big (text)");
        sql("pragma wal_checkpoint(truncate)");
        byte[] bytes = Files.readAllBytes(workplace.storeFile());
        for (int page = bytes.length / 4096 - 20; page < bytes.length / 4096; page++) {
            System.arraycopy("damage".getBytes(StandardCharsets.US_ASCII), 0, bytes, page * 4096 + 8, 6);
        }
        Files.write(workplace.storeFile(), bytes);
        CommandRun run = workplace.run("store", "backup", "backup.db");
        assertEquals(ExitCode.FAILED, run.exitCode(), run.out());
        assertTrue(run.err().startsWith("no backup was made: "), run.err());
        assertFalse(Files.exists(backup));
        CommandRun check = workplace.run("store", "check");
        assertEquals(ExitCode.FAILED, check.exitCode(), check.err());
        assertTrue(check.out().startsWith("DAMAGE  \"the file\": "), check.out());
    }

    /** Whatever is committed before the copy begins is in it, and it fits together. */
    @Test
    void aBackupIsMadeWhileOthersWrite() throws Exception {
        AtomicBoolean enough = new AtomicBoolean();
        try (JdbcStore store = workplace.store()) {
            Thread writing = Thread.startVirtualThread(() -> {
                for (int i = 0; !enough.get(); i++) {
                    store.release(Workplace.claim(store, "busy-" + i % 50, "worker-b", TTL));
                }
            });
            for (int i = 0; i < 5; i++) {
                ok("store", "backup", "backup.db", "--force");
                ok("store", "check", "--store", "sqlite:" + backup);
            }
            enough.set(true);
            writing.join();
        }
    }

    @Test
    void ofPostgresItSaysWhatMakesABackup() {
        CommandRun run = workplace.run(
                "store",
                "backup",
                "it's b.dump",
                "--store",
                "postgresql://fence$1:secret@db1:5433/prod?targetServerType=primary&sslmode=require");
        assertEquals(ExitCode.USAGE, run.exitCode());
        assertTrue(
                run.err()
                        .contains("pg_dump --format=custom --file='it'\\''s b.dump'"
                                + " 'postgresql://fence$1@db1:5433/prod?sslmode=require'\n"),
                run.err());
        assertFalse(run.err().contains("secret"), run.err());
    }

    @Test
    void checkNamesEachFaultAndEndsWithOne() throws IOException, SQLException {
        sql("update lease set run_id = null");
        CommandRun run = workplace.run("store", "check");
        assertEquals(ExitCode.FAILED, run.exitCode());
        assertEquals(
                "HALF_HELD  \"article\", token 1: the lease has an owner without a run, or a run without an owner\n"
                        + "sqlite:" + workplace.storeFile()
                        + ": 1 fault, 1 leases, 0 ticks, 0 attempts, 0 effects, 0 items were read\n",
                run.out());
        JsonNode json = Workplace.json(workplace.run("store", "check", "--json").out());
        assertEquals(List.of("ok", "store", "checked", "faults"), Workplace.fields(json));
        assertFalse(json.get("ok").booleanValue());
        assertEquals(
                List.of("rule", "resource", "slot", "fence", "text"),
                Workplace.fields(json.get("faults").get(0)));
    }

    @Test
    void bumpAsksAndWithoutAnybodyToAskItWantsYes() throws IOException {
        CommandRun nobody = workplace.run("store", "bump");
        assertEquals(ExitCode.USAGE, nobody.exitCode());
        assertTrue(nobody.err().contains("give --yes"), nobody.err());
        CommandRun no = workplace.runAnswering("n\n", "store", "bump");
        assertEquals(ExitCode.REFUSED, no.exitCode());
        assertTrue(no.err().contains("the highest token known is 1"), no.err());
        assertTrue(no.err().contains("Raise every token to 1000001? [y/N] nothing was changed"), no.err());
        CommandRun yes = workplace.runAnswering("y\n", "store", "bump", "--by", "9");
        assertEquals(
                "sqlite:" + workplace.storeFile() + ": every token is now 10 or above: 1 leases, 0 items of work\n",
                yes.out());
        JsonNode json = Workplace.json(
                ok("store", "bump", "--yes", "--at-least", "5000000", "--json").out());
        assertEquals(List.of("ok", "reason", "fence", "leases", "items", "effects"), Workplace.fields(json));
        assertEquals(6_000_000, json.get("fence").longValue());
        assertTrue(ok("events").out().contains("bumped"));
        ok("store", "check");
    }

    @Test
    void bumpRefusesWhatMakesNoSense() {
        for (List<String> words : List.of(
                List.of("--at-least", "-1"),
                List.of("--by", "0"),
                List.of("--by", "9223372036854775807"),
                List.of("--reason", " "))) {
            CommandRun run = workplace.run(Stream.concat(Stream.of("store", "bump", "--yes"), words.stream())
                    .toArray(String[]::new));
            assertEquals(ExitCode.USAGE, run.exitCode(), words::toString);
            assertTrue(run.err().contains(words.getFirst() + ": write "), run.err());
        }
        CommandRun full = workplace.run("store", "bump", "--yes", "--at-least", "4611686018427387903");
        assertEquals(ExitCode.REFUSED, full.exitCode());
        assertTrue(full.err().contains("is no room"), full.err());
        CommandRun none = workplace.run("store", "bump", "--yes", "--store", "sqlite:" + workplace.dir + "/none.db");
        assertEquals(ExitCode.STORE_UNAVAILABLE, none.exitCode());
        assertFalse(Files.exists(workplace.dir.resolve("none.db")));
    }

    @Test
    void bumpIsRefusedWhileAServiceIsAlive() throws IOException {
        try (JdbcStore store = workplace.store()) {
            Owner owner = new Owner("node-1");
            store.seen(owner, STATE);
            CommandRun run = workplace.run("store", "bump", "--yes");
            assertEquals(ExitCode.REFUSED, run.exitCode());
            assertTrue(
                    run.err().startsWith("a service on vps has given a sign of life within the last 45 s"), run.err());
            JsonNode json = Workplace.json(
                    workplace.run("store", "bump", "--yes", "--json").out());
            assertEquals("RUNNING", json.get("reason").asText());
            ok("store", "bump", "--yes", "--while-running");
            store.stopped(owner);
            ok("store", "bump", "--yes");
        }
    }

    /** The whole of it: what was granted after the backup is refused, and no token of that time is given again. */
    @Test
    void afterARestoreNoTokenOfTheLostTimeIsGivenAgain() throws IOException {
        ok("store", "backup", "backup.db");
        Lease known;
        Lease unknown;
        try (JdbcStore store = workplace.store()) {
            store.breakLease("article", "so that it is free");
            known = Workplace.claim(store, "article", "worker-b", TTL);
            unknown = Workplace.claim(store, "first-seen-later", "worker-b", TTL);
        }
        putBack();
        ok("store", "bump", "--yes");
        try (JdbcStore store = workplace.store()) {
            assertEquals(
                    Refusal.STALE_TOKEN,
                    assertInstanceOf(Renewal.Lost.class, store.renew(known, TTL))
                            .reason());
            assertEquals(
                    Refusal.UNKNOWN,
                    assertInstanceOf(Renewal.Lost.class, store.renew(unknown, TTL))
                            .reason());
            for (Lease lost : List.of(known, unknown)) {
                Lease next = Workplace.claim(store, lost.resource(), "worker-c", TTL);
                assertTrue(next.fence().value() > lost.fence().value(), next::toString);
            }
        }
        ok("store", "check");
    }

    /** The same on PostgreSQL; a database made after the other one stands for what pg_restore makes. */
    @Test
    void afterARestoreOfPostgresNoTokenOfTheLostTimeIsGivenAgain() throws IOException {
        Postgres.Database database = Postgres.newDatabase();
        try (JdbcStore store = postgres(database.name(), database.port())) {
            store.prepare();
            Workplace.claim(store, "article", "worker-a", TTL);
        }
        String restored = database.name() + "_restored";
        copy(database, restored);
        Lease known;
        Lease unknown;
        try (JdbcStore store = postgres(database.name(), database.port())) {
            store.breakLease("article", "so that it is free");
            known = Workplace.claim(store, "article", "worker-b", TTL);
            unknown = Workplace.claim(store, "first-seen-later", "worker-b", TTL);
        }
        String url = "--store=postgresql://postgres@localhost:" + database.port() + "/" + restored;
        ok("store", "bump", "--yes", url);
        try (JdbcStore store = postgres(restored, database.port())) {
            store.prepare();
            assertEquals(
                    Refusal.STALE_TOKEN,
                    assertInstanceOf(Renewal.Lost.class, store.renew(known, TTL))
                            .reason());
            for (Lease lost : List.of(known, unknown)) {
                Lease next = Workplace.claim(store, lost.resource(), "worker-c", TTL);
                assertTrue(next.fence().value() > lost.fence().value(), next::toString);
            }
        }
        ok("store", "check", url);
    }

    private static JdbcStore postgres(String name, int port) {
        return JdbcStore.postgres(
                "jdbc:postgresql://localhost:" + port + "/" + name, "postgres", null, name, event -> {});
    }

    private static void copy(Postgres.Database database, String name) {
        try (Connection connection =
                        DriverManager.getConnection(database.url().replace("/" + database.name(), "/postgres"));
                Statement statement = connection.createStatement()) {
            statement.execute("create database " + name + " template " + database.name());
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }
}
