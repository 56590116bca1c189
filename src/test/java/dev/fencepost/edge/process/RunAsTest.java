package dev.fencepost.edge.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.fencepost.run.ChildProcess;
import dev.fencepost.run.Children.Spec;
import dev.fencepost.run.Children.StartFailure;
import dev.fencepost.run.Workspace.RunFiles;
import dev.fencepost.schedule.Slot;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Children as another user, and children without what would let them push. */
@SuppressWarnings("NullAway.Init")
class RunAsTest {

    private Path top;
    private Path state;
    private RunFolders folders;
    private RunFiles files;

    @BeforeEach
    void setUp(@TempDir Path temporary) throws Exception {
        top = temporary.toRealPath();
        Files.setPosixFilePermissions(top, PosixFilePermissions.fromString("rwxr-xr-x"));
        state = Files.createDirectory(
                top.resolve("state"),
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        Files.writeString(state.resolve("fencepost.db"), "secret rows");
        Files.createDirectory(state.resolve("git"));
        folders = new RunFolders(state.resolve("runs"));
    }

    private Spec spec(Bench bench, @Nullable String user, String script) throws Exception {
        files = folders.prepare("job", Slot.at(Instant.EPOCH), 1, bench.runId);
        Path worktree = files.output().resolveSibling("worktree");
        Files.createDirectories(worktree.resolve("content"));
        Files.writeString(worktree.resolve("content/old"), "old");
        Map<String, String> environment = new HashMap<>();
        environment.put("FENCEPOST_RESULT", files.result().toString());
        environment.put("FENCEPOST_EFFECTS", files.effects().toString());
        environment.put("FENCEPOST_OUTPUT_DIR", files.output().toString());
        environment.put("FENCEPOST_WORKTREE", worktree.toString());
        environment.put("STATE", state.toString());
        return new Spec(
                bench.runId,
                List.of("/bin/sh", "-c", script),
                environment,
                worktree,
                null,
                files.log(),
                1 << 20,
                Set.of(),
                user,
                true);
    }

    @ParameterizedTest
    @ValueSource(strings = {"none", "parent-death", "namespace"})
    void theCommandRunsAsThatUserAndReachesItsOwnFilesAlone(String guard) throws Exception {
        assumeTrue(Guard.isRoot(), "only root can become another user");
        Bench bench = new Bench(top, guard);
        assumeTrue(bench.guardIs(guard), "the guard is not allowed here");
        Bench.Ended ended = Bench.end(bench.children.start(spec(bench, "nobody", """
                echo "$(id -un) $(id -gn) $USER $LOGNAME $HOME"
                echo result >"$FENCEPOST_RESULT" && echo effect >>"$FENCEPOST_EFFECTS" && echo file >"$FENCEPOST_OUTPUT_DIR/f"
                echo new >content/new && echo more >>content/old && rm content/old && echo worked
                mv "$FENCEPOST_RESULT" "$FENCEPOST_RESULT.2" 2>/dev/null && echo moved the result
                ln -sf /etc/passwd "$(dirname "$FENCEPOST_RESULT")/output.log" 2>/dev/null && echo replaced the log
                ls "$STATE" 2>/dev/null && echo saw the state
                cat "$STATE/fencepost.db" 2>/dev/null && echo read the store
                ls "$STATE/git" 2>/dev/null && echo saw the repositories
                touch "$STATE/runs/x" 2>/dev/null && echo wrote to runs
                true
                """)));
        String group = Files.readAllLines(Path.of("/etc/group"), StandardCharsets.UTF_8).stream()
                .filter(line -> line.split(":", -1)[2].equals("65534"))
                .map(line -> line.split(":", -1)[0])
                .findFirst()
                .orElseThrow();
        assertEquals(
                "nobody " + group + " nobody nobody /nonexistent\nworked\n",
                ended.output().tail());
        assertEquals(0, ended.exit().code());
        byte[] result = folders.result(files);
        assertEquals("result\n", result == null ? "" : new String(result, StandardCharsets.UTF_8));
        assertEquals("effect\n", Files.readString(files.effects()));
    }

    @Test
    void whoWritesNothingHasNoResult() throws Exception {
        assumeTrue(Guard.isRoot(), "only root can become another user");
        Bench bench = new Bench(top, "none");
        Bench.end(bench.children.start(spec(bench, "nobody", "true")));
        assertTrue(Files.exists(files.result()));
        assertEquals(null, folders.result(files));
    }

    /** The kernel forgets the signal when a process changes its user. */
    @Test
    void theDeathSignalIsThereAfterTheChangeOfTheUser() throws Exception {
        assumeTrue(Guard.isRoot(), "only root can become another user");
        Bench bench = new Bench(top, "parent-death");
        assumeTrue(bench.guardIs("parent-death"), "the guard is not allowed here");
        Bench.Ended ended = Bench.end(bench.children.start(spec(
                bench,
                "nobody",
                "exec python3 -c 'import ctypes, os; n = ctypes.c_int(); ctypes.CDLL(None).prctl(2, ctypes.byref(n));"
                        + " print(n.value, os.getresuid(), os.getresgid())'")));
        assertEquals(
                "9 (65534, 65534, 65534) (65534, 65534, 65534)\n",
                ended.output().tail());
    }

    @ParameterizedTest
    @ValueSource(strings = {"none", "parent-death", "namespace"})
    void theCommandCanBeStopped(String guard) throws Exception {
        assumeTrue(Guard.isRoot(), "only root can become another user");
        Bench bench = new Bench(top, guard);
        assumeTrue(bench.guardIs(guard), "the guard is not allowed here");
        String number = Long.toString(System.nanoTime());
        ChildProcess child = bench.children.start(spec(bench, "nobody", "sleep " + number + " & exec sleep " + number));
        assertTrue(Bench.eventually(
                () -> Bench.withArgument("sleep\0" + number + "\0").size() == 2));
        child.stop(Duration.ofSeconds(5));
        Bench.end(child);
        assertEquals(List.of(), Bench.withArgument("sleep\0" + number + "\0"));
    }

    @Test
    void aUserThatIsNotThereAndAStateDirectoryOutOfReachAreSaid() throws Exception {
        assumeTrue(Guard.isRoot(), "only root can become another user");
        Bench bench = new Bench(top, "none");
        for (String name : List.of("no-such-user", "--help", "a b")) {
            StartFailure failure =
                    assertThrows(StartFailure.class, () -> bench.children.start(spec(bench, name, "true")));
            assertTrue(String.valueOf(failure.getMessage()).contains("run-as " + name + ": t"), failure::toString);
        }
        Files.setPosixFilePermissions(top, PosixFilePermissions.fromString("rwx------"));
        StartFailure failure =
                assertThrows(StartFailure.class, () -> bench.children.start(spec(bench, "nobody", "true")));
        assertTrue(String.valueOf(failure.getMessage()).contains("may not enter " + top + ","), failure::toString);
        assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(top)));
    }

    @Test
    void folderOfAnotherJobStaysClosed() throws Exception {
        assumeTrue(Guard.isRoot(), "only root can become another user");
        Bench bench = new Bench(top, "none");
        RunFiles others = folders.prepare("other", Slot.at(Instant.EPOCH), 1, bench.runId);
        Files.writeString(others.log(), "of another job");
        Bench.Ended ended =
                Bench.end(bench.children.start(spec(bench, "nobody", "cat " + others.log() + " 2>/dev/null; true")));
        assertEquals("", ended.output().tail());
        assertTrue(Files.readString(others.log()).contains("another"));
    }

    @Test
    void whatWouldLetItPushIsTakenOutOfTheEnvironment() throws Exception {
        Map<String, String> inherited = new HashMap<>(System.getenv());
        for (String name : List.of(
                "SSH_AUTH_SOCK",
                "SSH_AGENT_PID",
                "SSH_ASKPASS",
                "GIT_ASKPASS",
                "GIT_SSH",
                "GIT_SSH_COMMAND",
                "GIT_CONFIG_GLOBAL",
                "GIT_CONFIG_PARAMETERS",
                "GIT_DIR",
                "GIT_WORK_TREE",
                "GIT_INDEX_FILE",
                "CREDENTIALS_DIRECTORY")) {
            inherited.put(name, "of the runner");
        }
        Bench bench = new Bench(top, "none", inherited);
        Bench.Ended ended = Bench.end(bench.children.start(spec(
                bench,
                null,
                "env | grep 'of the runner'; echo prompt=$GIT_TERMINAL_PROMPT;"
                        + " git -c credential.helper=bad config --get-all credential.helper | tail -1;"
                        + " printf 'protocol=https\\nhost=example.org\\n\\n' | git credential fill 2>/dev/null && echo filled;"
                        + " true")));
        assertFalse(ended.output().tail().contains("of the runner"), ended.output()::tail);
        assertTrue(ended.output().tail().contains("prompt=0\n"), ended.output()::tail);
        assertFalse(ended.output().tail().contains("filled"), ended.output()::tail);
        Spec own = spec(bench, null, "env | grep ^GIT_ | sort");
        Map<String, String> given = new HashMap<>(own.environment());
        given.put("GIT_SSH_COMMAND", "of the job");
        given.put("GIT_TERMINAL_PROMPT", "1");
        Map<String, String> complete = ChildEnvironment.of(
                new Spec(own.runId(), own.command(), given, null, null, own.log(), 1, Set.of(), null, true),
                null,
                inherited);
        assertEquals("of the job", complete.get("GIT_SSH_COMMAND"), "what the job itself gives stays");
        assertEquals("1", complete.get("GIT_TERMINAL_PROMPT"));
    }
}
