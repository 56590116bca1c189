package dev.fencepost.edge.cli;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.sun.net.httpserver.HttpServer;
import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.store.Postgres;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The command on real stores; what it makes of facts is in {@link VerdictsTest}. What the host itself is like differs, and is not asked. */
class DoctorCommandTest {

    private static final String CANARY = "canary-5f1c";

    private Workplace workplace;
    private int port;

    @BeforeEach
    void setUp(@TempDir Path dir) throws IOException {
        workplace = new Workplace(dir).jobs("article: { every: 45m, command: [date] }");
        port = freePort();
    }

    private static int freePort() throws IOException {
        try (ServerSocket free = new ServerSocket(0)) {
            return free.getLocalPort();
        }
    }

    private CommandRun doctor(String... arguments) {
        List<String> all = new java.util.ArrayList<>(List.of("doctor", "--port", String.valueOf(port)));
        all.addAll(List.of(arguments));
        return workplace.run(all.toArray(String[]::new));
    }

    private static JsonNode checks(CommandRun run) throws IOException {
        JsonNode json = Workplace.json(run.out());
        assertEquals(List.of("ok", "checks"), Workplace.fields(json));
        json.get("checks")
                .forEach(check -> assertEquals(List.of("name", "state", "text", "mend"), Workplace.fields(check)));
        boolean wrong = json.get("checks")
                .valueStream()
                .anyMatch(check ->
                        List.of("WARNING", "BAD").contains(check.get("state").asText()));
        assertEquals(!wrong, json.get("ok").booleanValue());
        assertEquals(wrong ? ExitCode.FAILED : ExitCode.FINE, run.exitCode());
        return json.get("checks");
    }

    /** State and text of each finding of a check. */
    private static List<String> of(String name, JsonNode checks) {
        return checks.valueStream()
                .filter(check -> check.get("name").asText().equals(name))
                .map(check ->
                        check.get("state").asText() + " " + check.get("text").asText())
                .toList();
    }

    private static void assertOne(String begin, String name, JsonNode checks) {
        List<String> found = of(name, checks);
        assertEquals(1, found.size(), found.toString());
        assertTrue(found.getFirst().startsWith(begin), found.toString());
    }

    @Test
    void withoutAStoreNoneIsMade() throws IOException {
        JsonNode checks = checks(doctor("--json"));
        assertOne("NOTE there is none at sqlite:", "store", checks);
        assertOne("OK fencepost.yaml, 1 job;", "jobs file", checks);
        assertOne("NOTE there is no state directory", "file rights", checks);
        assertEquals(List.of(), of("schema", checks));
        assertFalse(Files.exists(workplace.dir.resolve("state")));
    }

    @Test
    void withoutAJobsFileTheRestIsChecked() throws IOException {
        Files.delete(workplace.dir.resolve("fencepost.yaml"));
        workplace.store().close();
        JsonNode checks = checks(doctor("--json"));
        assertOne("NOTE none was found", "jobs file", checks);
        assertTrue(of("store", checks).getLast().startsWith("OK sqlite:"), checks.toString());
        assertEquals(List.of(), of("ttl", checks));
    }

    @Test
    void aGoodSqliteStoreIsGoodAndStaysAsItIs() throws Exception {
        workplace.store().close();
        List<String> before = content();
        JsonNode checks = checks(doctor("--json"));
        for (String name : List.of(
                "schema",
                "durability",
                "write time",
                "damage",
                "nodes",
                "pauses",
                "effects",
                "sinks",
                "work queue",
                "ttl")) {
            assertOne(name.equals("write time") ? "" : "OK ", name, checks);
        }
        assertOne("OK " + port + " of 127.0.0.1 is free", "port", checks);
        assertEquals(before, content());
    }

    /** Every row of every table. */
    private List<String> content() throws SQLException {
        List<String> rows = new java.util.ArrayList<>();
        try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + workplace.storeFile());
                Statement statement = connection.createStatement()) {
            List<String> tables = new java.util.ArrayList<>();
            try (var names = statement.executeQuery("select name from sqlite_master where type = 'table' order by 1")) {
                while (names.next()) {
                    tables.add(names.getString(1));
                }
            }
            assertTrue(tables.contains("signal"), tables.toString());
            for (String table : tables) {
                try (var all = statement.executeQuery("select * from " + table)) {
                    while (all.next()) {
                        StringBuilder row = new StringBuilder(table);
                        for (int i = 1; i <= all.getMetaData().getColumnCount(); i++) {
                            row.append('|').append(all.getString(i));
                        }
                        rows.add(row.toString());
                    }
                }
            }
        }
        return rows;
    }

    private void sql(String... statements) throws SQLException {
        try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + workplace.storeFile());
                Statement statement = connection.createStatement()) {
            for (String each : statements) {
                statement.execute(each);
            }
        }
    }

    @Test
    void whatWaitsInTheStoreIsFound() throws Exception {
        workplace.store().close();
        long now = System.currentTimeMillis();
        String node = "insert into node (owner, host, version, jobs_file, jobs_hash, file_error, started_at, seen_at)"
                + " values ('%s', '%s', '1', '/f', '%s', %s, " + now + ", " + (now + 60_000) + ")";
        sql(
                "insert into job (id, schedule_text, since, cursor_at, paused_at, pause_cause, paused_by)"
                        + " values ('article', 'every 45m', 1, 1, " + now + ", 'FAILURES', 'fencepost')",
                "insert into lease (resource, fence) values ('article', 4)",
                "insert into sink_fence (pair, sink, resource, fence, run_id) values ('p', 'blog', 'article', 9, 'r')",
                "insert into tick (job, slot_key, slot_at, on_time, opened_at, outcome, ended_at)"
                        + " values ('article', 'article@1', 1, 1, 1, 'SUCCEEDED', 6000001)",
                "insert into attempt (run_id, job, slot_key, number, fence, owner, started_at, ended_at, outcome)"
                        + " values ('r', 'article', 'article@1', 1, 1, 'o', 1, 6000001, 'SUCCEEDED')",
                "insert into work_item (id, queue, state, priority, max_attempts, enqueued_at, ended_at)"
                        + " values ('i', 'q', 'DEAD', 0, 1, 1, 1)",
                node.formatted("a", "vps1", "x", "null"),
                node.formatted("b", "vps2", "y", "'line 3: no such key'"));
        JsonNode checks = checks(doctor("--json"));
        assertOne("WARNING article is paused since", "pauses", checks);
        assertOne("BAD sink blog knows token 9 of article, the store has granted no more than 4", "sinks", checks);
        assertOne("NOTE article: longest success so far 1h 40m (of 1): a ttl of 150m to 3h 20m", "ttl", checks);
        assertOne("NOTE 0 ready, 0 claimed, 1 dead", "work queue", checks);
        List<String> nodes = of("nodes", checks);
        assertEquals(2, nodes.size(), nodes.toString());
        assertTrue(nodes.getFirst().contains("vps2 has refused its jobs file"), nodes.toString());
        assertTrue(nodes.getLast().contains("x on vps1; y on vps2"), nodes.toString());
    }

    @Test
    void aBrokenJobsFileIsBadAndNoOtherStoreIsAskedInItsPlace() throws IOException {
        workplace.store().close();
        workplace.jobs("article: { evry: 45m, command: [date] }");
        JsonNode checks = checks(doctor("--json"));
        assertTrue(of("jobs file", checks).getFirst().contains("evry"), checks.toString());
        assertOne("NOTE not checked: the jobs file is refused", "store", checks);
        JsonNode named = checks(doctor("--json", "--store", "sqlite:" + workplace.storeFile()));
        assertTrue(of("store", named).getLast().startsWith("OK "), named.toString());
    }

    @Test
    void aFileThatIsNoStoreIsBad() throws IOException {
        Path file =
                Files.writeString(workplace.dir.resolve("x.db"), "this is a letter and no database, of some length");
        JsonNode checks = checks(doctor("--json", "--store", "sqlite:" + file));
        assertTrue(of("store", checks).getLast().endsWith(file + " is no SQLite database"), checks.toString());
        assertEquals("this is a letter and no database, of some length", Files.readString(file));
        Files.writeString(file, "");
        assertTrue(of("store", checks(doctor("--json", "--store", "sqlite:" + file)))
                .getLast()
                .endsWith("is empty"));
        assertEquals(0, Files.size(file));
    }

    @Test
    void aFileInAnotherJournalModeIsToldAndNotChanged() throws Exception {
        workplace.store().close();
        sql("pragma journal_mode = delete");
        byte[] before = Files.readAllBytes(workplace.storeFile());
        JsonNode checks = checks(doctor("--json"));
        assertTrue(of("store", checks).getLast().startsWith("WARNING the file is not in WAL mode"), checks.toString());
        assertArrayEquals(before, Files.readAllBytes(workplace.storeFile()));
    }

    @Test
    void damageIsFound() throws Exception {
        workplace.store().close();
        sql("insert into tick (job, slot_key, slot_at, on_time, opened_at) with recursive n (i) as (select 1 union all"
                + " select i + 1 from n where i < 2000) select 'j', 'slot' || i, i, 1, i from n");
        sql("pragma wal_checkpoint(truncate)");
        byte[] bytes = Files.readAllBytes(workplace.storeFile());
        java.util.Arrays.fill(bytes, bytes.length - 3 * 4096, bytes.length, (byte) 0x5a);
        Files.write(workplace.storeFile(), bytes);
        JsonNode checks = checks(doctor("--json"));
        assertTrue(of("damage", checks).getFirst().startsWith("BAD "), checks.toString());
    }

    @Test
    void aStoreThatIsAwayIsAFindingAndItsPasswordIsNotShown() throws IOException {
        String url = "postgresql://anna:" + CANARY + "@127.0.0.1:" + freePort() + "/fencepost";
        CommandRun run = doctor("--json", "--store", url);
        JsonNode checks = checks(run);
        assertOne("BAD the store gave no answer", "store", checks);
        assertOne("OK fencepost.yaml", "jobs file", checks);
        assertFalse((run + "" + doctor("--store", url)).contains(CANARY));
    }

    @Test
    void secretsAreNotShown() throws IOException {
        Path secret = Files.writeString(workplace.dir.resolve("agent.env"), "API_KEY=" + CANARY + "\n");
        Files.setPosixFilePermissions(secret, PosixFilePermissions.fromString("rw-------"));
        workplace.jobs("article: { command: [date], env-file: agent.env, env: { PASSWORD: " + CANARY + " } }");
        workplace.store().close();
        CommandRun run = doctor();
        assertFalse((run + "" + doctor("--json")).contains(CANARY), run.out());
        assertTrue(run.out().contains("jobs file: fencepost.yaml, 1 job;"), run.out());
    }

    @Test
    void aServerThatMayLoseCommitsIsBad() throws IOException {
        Postgres.Database database = Postgres.newDatabase();
        String store = "postgresql://postgres@localhost:" + database.port() + "/" + database.name();
        JsonNode bare = checks(doctor("--json", "--store", store));
        assertOne("WARNING there are no tables of Fencepost in it", "schema", bare);
        assertEquals(List.of(), of("nodes", bare));
        assertEquals(List.of(), database.rows("select 1 from information_schema.tables where table_schema = 'public'"));
        try (JdbcStore made = JdbcStore.postgres(
                "jdbc:postgresql://localhost:" + database.port() + "/" + database.name(),
                "postgres",
                null,
                "it",
                event -> {})) {
            made.prepare();
        }
        JsonNode checks = checks(doctor("--json", "--store", store));
        assertTrue(of("durability", checks).getFirst().startsWith("BAD fsync is off"), checks.toString());
        assertOne("OK the server tells its timeline", "timeline", checks);
        assertOne("OK version ", "schema", checks);
        assertOne("", "write time", checks);
        // The clock of these commands stands at an instant of its own.
        assertOne("WARNING the database's clock is", "wall clock", checks);
        assertOne("OK ", "nodes", checks);
    }

    @Test
    void thePortMayBelongToAFencepostAndToNobodyElse() throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getByName("127.0.0.1"), 0), 0);
        port = server.getAddress().getPort();
        String[] body = {"<html>"};
        server.createContext("/q/health/live", exchange -> {
            byte[] bytes = body[0].getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(200, bytes.length);
            try (var out = exchange.getResponseBody()) {
                out.write(bytes);
            }
        });
        server.start();
        try {
            assertOne("BAD " + port + " of 127.0.0.1 is in use by another program", "port", checks(doctor("--json")));
            body[0] = "{\"status\":\"UP\",\"checks\":[{\"name\":\"loops\",\"status\":\"UP\"}]}";
            assertOne("OK " + port + " of 127.0.0.1: a Fencepost is running there", "port", checks(doctor("--json")));
        } finally {
            server.stop(0);
        }
    }

    @Test
    void openFilesAreFound() throws Exception {
        workplace.store().close();
        for (Path open : List.of(workplace.dir, workplace.storeFile().getParent())) {
            Files.setPosixFilePermissions(open, PosixFilePermissions.fromString("rwxr-xr-x"));
        }
        Files.setPosixFilePermissions(workplace.storeFile(), PosixFilePermissions.fromString("rw-r--r--"));
        Path file = workplace.dir.resolve("fencepost.yaml");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-rw-rw-"));
        List<String> rights = of("file rights", checks(doctor("--json")));
        assertEquals(3, rights.size(), rights.toString());
        assertTrue(rights.get(0).startsWith("WARNING others than its owner can look into"), rights.toString());
        assertTrue(
                rights.get(1).startsWith("WARNING everyone on this host can read the store file"), rights.toString());
        assertTrue(rights.get(2).startsWith("BAD everyone on this host can change the jobs file"), rights.toString());
    }

    @Test
    void aGuardThatIsSwitchedOffIsTold() throws IOException {
        CommandRun run = CommandRun.of(
                workplace.dir,
                Map.of(
                        "PATH", "/usr/bin:/bin",
                        "STATE_DIRECTORY", workplace.dir.resolve("state").toString(),
                        "FENCEPOST_GUARD", "none"),
                "doctor",
                "--json",
                "--port",
                String.valueOf(port));
        assertOne("WARNING none: children of a killed runner live on", "guard", checks(run));
    }

    @Test
    void peopleReadALineForEachFindingAndHowToMendIt() {
        CommandRun run = doctor();
        assertTrue(run.out().contains("\nok       port: " + port + " of 127.0.0.1 is free\n"), run.out());
        assertTrue(
                run.out().matches("(?s).*\nnote     store: there is none at [^\n]*\n           fencepost serve and .*"),
                run.out());
        assertTrue(run.out().strip().matches("(?s).*\n\n[^\n]* findings in all"), run.out());
        assertEquals(ExitCode.USAGE, doctor("--port", "0").exitCode());
    }
}
