package dev.fencepost.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.store.Postgres;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Section 5 of the semantics, S2, S15, S16: effects with real services, a real remote and a real receiver. */
@Tag("faults")
class EffectsIT {

    private static final Duration SOON = Duration.ofSeconds(15);

    @TempDir
    Path folder;

    private static String state(Rows rows, String key) {
        return rows.texts("select state from effect where key like '%" + key + "'").stream()
                .findFirst()
                .orElse("none");
    }

    /** EFF-09: the first runner is frozen after its agent wrote the article, the second publishes, the first thaws. */
    @Test
    void aRunnerThatLostItsTurnPublishesNothing() {
        Git git = Git.in(folder);
        try (Receiver receiver = new Receiver();
                Scene scene = Scene.postgres(folder, Postgres.newDatabase())) {
            scene.jobs("""
                    jobs:
                      article:
                    %s
                        lease: { ttl: 4s }
                        working-dir: %s
                        env: { SCENE: %s }
                        command: |
                          echo "by $FENCEPOST_FENCE" >content/article.md
                          touch "$SCENE/wrote-$FENCEPOST_FENCE"
                          while [ ! -e "$SCENE/go-$FENCEPOST_FENCE" ]; do sleep 0.1; done
                        publish:
                          - git: { repo: %s, paths: [content], message: "article {slot}" }
                          - http: { url: "%s", allow-hosts: [127.0.0.1], body: "by {fence}" }
                    """.formatted(Scene.oneSlot().stripTrailing(), git.blog(), folder, git.blog(), receiver.url()));
            Rows rows = scene.rows();
            ServeProcess a = scene.serve("a").awaitReady();
            Wait.until(SOON, () -> "the first article; " + a.said(), () -> Files.exists(folder.resolve("wrote-1")));
            ServeProcess b = scene.serve("b").awaitReady();
            a.signal("STOP");
            Wait.until(SOON, () -> "the second article; " + b.said(), () -> Files.exists(folder.resolve("wrote-2")));
            scene.touch("go-2");
            Wait.until(
                    SOON,
                    () -> "published; " + b.said(),
                    () -> state(rows, "/git").equals("CONFIRMED")
                            && state(rows, "/http").equals("CONFIRMED"));
            scene.touch("go-1");
            a.signal("CONT");
            Wait.until(
                    SOON,
                    () -> "the first one's effects are refused; " + a.said(),
                    () -> rows.texts("select effect from write_event where not accepted and fence = 1"
                                            + " and newest_fence = 2 and effect is not null")
                                    .size()
                            == 2);
            String slot = rows.ticks("article").getFirst().key();
            assertEquals(List.of("article " + slot, "first"), git.log("main"));
            assertEquals("by 2\n", git.file("main", "content/article.md"));
            assertTrue(
                    git.atRemote("log", "--format=%B", "refs/fencepost/article").contains("Token: 2"));
            assertEquals(
                    List.of("by 2"),
                    receiver.posts().stream().map(Receiver.Post::body).toList());
            assertEquals(
                    Set.of("article@" + slot + "/git", "article@" + slot + "/http"),
                    Set.copyOf(rows.texts("select effect from write_event where not accepted and effect is not null")));
            assertEquals(2, rows.texts("select key from effect").size());
        }
    }

    /** EFF-06: the remote takes the push and is gone before it says so. */
    @Test
    void aPushWhoseAnswerIsLostIsReadBack() {
        Git git = Git.in(folder);
        git.hook("post-receive", "if [ ! -e cut ]; then touch cut; kill -9 $PPID; fi\n");
        try (Scene scene = Scene.sqlite(folder)) {
            scene.jobs("""
                    jobs:
                      article:
                    %s
                        working-dir: %s
                        command: echo new >content/article.md
                        publish: [ { git: { repo: %s, paths: [content] } } ]
                    """.formatted(Scene.oneSlot().stripTrailing(), git.blog(), git.blog()));
            ServeProcess service = scene.serve("a").awaitReady();
            Wait.until(
                    SOON,
                    () -> "read back; " + service.said(),
                    () -> state(scene.rows(), "/git").equals("CONFIRMED"));
            assertTrue(Files.exists(git.remote().resolve("cut")), "the answer was cut");
            assertEquals(1, service.linesContaining("/git to ", " is UNKNOWN").size(), service::said);
            assertEquals(2, git.log("main").size());
            assertEquals("1", scene.rows().value("select tries from effect"));
        }
    }

    private String callingJob(Receiver receiver, String more) {
        return """
                sinks:
                  announce: { http: { url: "%s", allow-hosts: [127.0.0.1], timeout: 2s%s } }
                jobs:
                  note:
                %s
                    command: |
                      printf '{"name":"hello","sink":"announce","body":"to the world"}\\n' >>"$FENCEPOST_EFFECTS"
                """.formatted(receiver.url(), more, Scene.oneSlot().stripTrailing());
    }

    @ParameterizedTest
    @ValueSource(strings = {"CUT", "HANG"})
    void aCallWhoseAnswerIsLostIsReadBack(String then) {
        try (Receiver receiver = new Receiver();
                Scene scene = Scene.sqlite(folder)) {
            receiver.then(Receiver.Then.valueOf(then));
            scene.jobs(callingJob(
                    receiver,
                    ", read-back: { url: \"" + receiver.url() + "seen/{key}\", matches: arrived, absent-after: 1m }"));
            ServeProcess service = scene.serve("a").awaitReady();
            Wait.until(
                    SOON,
                    () -> "read back; " + service.said(),
                    () -> state(scene.rows(), "/hello").equals("CONFIRMED"));
            assertEquals(1, receiver.posts().size());
        }
    }

    @Test
    void aCallWhoseAnswerIsLostAndThatNobodyCanAskForWaitsForAPerson() {
        try (Receiver receiver = new Receiver();
                Scene scene = Scene.sqlite(folder)) {
            receiver.then(Receiver.Then.CUT);
            scene.jobs(callingJob(receiver, ""));
            ServeProcess service = scene.serve("a").awaitReady();
            Wait.until(
                    SOON,
                    () -> "unknown; " + service.said(),
                    () -> state(scene.rows(), "/hello").equals("UNKNOWN"));
            String key = scene.rows().value("select key from effect");
            Wait.until(SOON, () -> "fresh names it: " + service.get("/q/health/group/fresh"), () -> {
                ServeProcess.Answer fresh = service.get("/q/health/group/fresh");
                return fresh.isDown()
                        && fresh.body().contains(key)
                        && fresh.body().contains("UNKNOWN");
            });
            receiver.then(Receiver.Then.ANSWER);
            String store = "sqlite:" + folder.resolve("a/fencepost.db");
            ServeProcess refused = scene.command("effects", "retry", key, "--store", store);
            assertEquals(3, refused.awaitExit(SOON), refused::said);
            ServeProcess resolved = scene.command(
                    "effects", "resolve", key, "--as", "confirmed", "--reason", "I saw it", "--store", store);
            assertEquals(0, resolved.awaitExit(SOON), resolved::said);
            assertEquals("CONFIRMED", state(scene.rows(), "/hello"));
            Wait.until(
                    SOON,
                    "fresh again",
                    () -> service.get("/q/health/group/fresh").isUp());
            assertEquals(1, receiver.posts().size());
        }
    }

    /** EFF-01. */
    @Test
    void aReceiverThatKnowsKeysGetsTheSameKeyAndBytesAtEveryTry() {
        try (Receiver receiver = new Receiver();
                Scene scene = Scene.sqlite(folder)) {
            receiver.then(Receiver.Then.HANG);
            scene.jobs(callingJob(receiver, ", idempotent: true"));
            ServeProcess service = scene.serve("a").awaitReady();
            Wait.until(
                    Duration.ofSeconds(30),
                    () -> "three tries; " + service.said(),
                    () -> receiver.posts().size() >= 3);
            receiver.then(Receiver.Then.ANSWER);
            Wait.until(
                    Duration.ofSeconds(30),
                    () -> "confirmed; " + service.said(),
                    () -> state(scene.rows(), "/hello").equals("CONFIRMED"));
            assertEquals(1, receiver.accepted().size());
            assertEquals(Set.of(), receiver.doubled());
            assertEquals(
                    1,
                    new HashSet<>(receiver.posts().stream()
                                    .map(Receiver.Post::key)
                                    .toList())
                            .size());
        }
    }

    /** EFF-02, EFF-04: the service is killed again and again, before and after the answers of a receiver that counts keys. */
    @ParameterizedTest
    @ValueSource(strings = {"sqlite", "postgresql"})
    void twoHundredEffectsSurviveKillsOfTheService(String kind) {
        try (Receiver receiver = new Receiver();
                Scene scene = Scene.of(kind, folder)) {
            scene.jobs("""
                    sinks:
                      announce: { http: { url: "%s", allow-hosts: [127.0.0.1], idempotent: true } }
                    jobs:
                      note:
                    %s
                        command: |
                          for i in $(seq 200); do
                            printf '{"name":"n%%s","sink":"announce","body":"number %%s"}\\n' $i $i
                          done >>"$FENCEPOST_EFFECTS"
                    """.formatted(receiver.url(), Scene.oneSlot().stripTrailing()));
            AtomicReference<ServeProcess> service = new AtomicReference<>();
            AtomicInteger kills = new AtomicInteger();
            receiver.hook((number, answered) -> {
                boolean now = answered ? number % 50 == 49 : number % 50 == 25;
                if (now) {
                    kills.incrementAndGet();
                    service.get().signal("KILL");
                    service.get().awaitExit(Duration.ofSeconds(5));
                }
            });
            service.set(scene.serve("a"));
            Rows rows = scene.rows();
            long end = System.nanoTime() + Duration.ofMinutes(2).toNanos();
            while (System.nanoTime() < end) {
                if (!service.get().isAlive()) {
                    service.set(scene.serve("a").awaitReady());
                }
                if (receiver.accepted().size() == 200
                        && service.get().isAlive()
                        && rows.texts("select key from effect where state <> 'CONFIRMED'")
                                .isEmpty()) {
                    break;
                }
                Wait.sleep(Duration.ofMillis(50));
            }
            assertEquals(
                    200,
                    rows.texts("select key from effect where state = 'CONFIRMED'")
                            .size(),
                    service.get()::said);
            assertEquals(200, receiver.accepted().size());
            assertEquals(Set.of(), receiver.doubled());
            assertTrue(kills.get() >= 7, () -> "killed " + kills + " times");
            assertEquals(1, rows.ticks("note").size());
            assertEquals("SUCCEEDED", rows.ticks("note").getFirst().outcome());
        }
    }

    /** SEC-01, SEC-02. */
    @Test
    void aSecretShowsNowhere() throws IOException {
        String canary = "CANARY-7f3a91";
        Git git = Git.in(folder);
        Path secrets = secret("secrets.env", "API_TOKEN=" + canary + "\n");
        Path header = secret("authorization", "Bearer HEADER-" + canary + "\n");
        Set<String> commandLines = new HashSet<>();
        try (Receiver receiver = new Receiver();
                Scene scene = Scene.sqlite(folder)) {
            scene.jobs("""
                    sinks:
                      announce:
                        http: { url: "%s", allow-hosts: [127.0.0.1], header-files: { Authorization: %s } }
                      site: { file: { root: %s } }
                    jobs:
                      leak:
                    %s
                        working-dir: %s
                        env-file: %s
                        command: |
                          env
                          echo "token $API_TOKEN" | tee content/article.md >"$FENCEPOST_RESULT"
                          printf '{"name":"a","sink":"announce","body":"https://x.example/?t=%%s"}\\n' "$API_TOKEN" >>"$FENCEPOST_EFFECTS"
                          printf '{"name":"b","sink":"site","path":"b.txt","body":"%%s"}\\n' "$API_TOKEN" >>"$FENCEPOST_EFFECTS"
                          sleep 1
                        publish: [ { git: { repo: %s, paths: [content] } } ]
                    """.formatted(
                            receiver.url(),
                            header,
                            Files.createDirectory(folder.resolve("site")),
                            Scene.oneSlot().stripTrailing(),
                            git.blog(),
                            secrets,
                            git.blog()));
            ServeProcess service = scene.serve("a").awaitReady();
            Wait.until(SOON, () -> "sent; " + service.said(), () -> {
                commandLines.addAll(commandLines());
                return rows(scene, "select key from effect where state = 'CONFIRMED'")
                                .size()
                        == 3;
            });
            String post = receiver.posts().getFirst().body();
            assertEquals("https://x.example/?t=***", post);
            assertEquals(
                    "Bearer HEADER-" + canary,
                    receiver.posts().getFirst().headers().get("Authorization"));
            assertEquals("***", Files.readString(folder.resolve("site/b.txt")));
            assertEquals("token ***\n", git.file("main", "content/article.md"));
            String store = "sqlite:" + folder.resolve("a/fencepost.db");
            ServeProcess list = scene.command("effects", "list", "--json", "--store", store);
            assertEquals(0, list.awaitExit(SOON));
            for (String page : List.of("/q/metrics", "/q/health", "/q/health/group/fresh")) {
                assertFalse(service.get(page).body().contains(canary), page);
            }
            assertFalse(service.said().contains(canary), service::said);
            assertFalse(list.said().contains(canary), list::said);
            assertFalse(git.atRemote("log", "-p", "--all").contains(canary));
            assertEquals(
                    List.of(),
                    commandLines.stream().filter(line -> line.contains(canary)).toList());
            service.signal("TERM");
            service.awaitExit(SOON);
        }
        // What the command itself wrote into the files that were given to it alone is its own.
        Set<String> ownFiles = Set.of("result", "effects", "secrets.env", "authorization");
        try (Stream<Path> files = Files.walk(folder)) {
            List<Path> leaks = files.filter(Files::isRegularFile)
                    .filter(file -> !ownFiles.contains(file.getFileName().toString()))
                    .filter(file -> holds(file, canary))
                    .toList();
            assertEquals(List.of(), leaks);
        }
    }

    private static List<String> rows(Scene scene, String query) {
        return scene.rows().texts(query);
    }

    private Path secret(String name, String text) throws IOException {
        Path file = Files.writeString(folder.resolve(name), text);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
        return file;
    }

    private static List<String> commandLines() {
        return ProcessHandle.allProcesses()
                .map(process -> process.info().commandLine().orElse(""))
                .toList();
    }

    private static boolean holds(Path file, String text) {
        try {
            return new String(Files.readAllBytes(file), StandardCharsets.ISO_8859_1).contains(text);
        } catch (IOException gone) {
            return false;
        }
    }

    /** EFF-07. */
    @Test
    void nobodyIsAskedForAPassword() {
        Git git = Git.in(folder);
        try (Scene scene = Scene.sqlite(folder)) {
            scene.jobs("""
                    jobs:
                      article:
                    %s
                        command: date
                        publish: [ { git: { remote: "ssh://git@127.0.0.1:1/nowhere.git" } } ]
                    """.formatted(Scene.oneSlot().stripTrailing()));
            ServeProcess service = scene.serve("a").awaitReady();
            Rows rows = scene.rows();
            Wait.until(
                    Duration.ofSeconds(40),
                    () -> "failed; " + service.said(),
                    () -> rows.attempts("article", "FAILED").size() == 1);
            assertEquals(Map.of(), Map.copyOf(Processes.ofRuns(rows.allRunIds())));
            assertEquals(1, git.log("main").size());
        }
    }
}
