package dev.fencepost.edge.process;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * What kills a run's processes when the runner itself is killed with -9 (semantics 6.0). Immutable.
 *
 * <p>Every guard begins with {@code setsid}: the child has a session of its own and no terminal.
 *
 * <ul>
 *   <li>{@link Kind#NAMESPACE}: {@code unshare} gives the run a pid namespace with a fresh {@code /proc}, and a small shell as its first
 *       process. The kernel kills all that is in it when that shell ends; the shell is killed when {@code unshare} ends, and this one
 *       when the runner ends. Not only the child dies with the runner, but everything that was ever started below it, whatever it did
 *       to get away. Without root a user namespace is needed too; in it programs with the set-uid bit ({@code sudo}) do not work and
 *       files of others seem to belong to nobody.
 *   <li>{@link Kind#CONTROL_GROUP}: systemd started the runner and kills what is left of its service; the child itself also gets a
 *       death signal.
 *   <li>{@link Kind#PARENT_DEATH}: {@code setpriv} has the kernel kill the child when the <em>thread</em> that started it ends.
 *       Grandchildren live until a next start sweeps them.
 *   <li>{@link Kind#NONE}: the child lives until a next start sweeps it.
 * </ul>
 */
final class Guard {

    enum Kind {
        NAMESPACE("pid namespace: everything that a run started dies with the runner"),
        CONTROL_GROUP(
                "control group: systemd kills what is left of the service, the child itself dies with the runner"),
        PARENT_DEATH("parent-death signal: the child dies with the runner, its own children only at the next start"),
        NONE("none: children of a killed runner live on until the next start");

        private final String words;

        Kind(String words) {
            this.words = words;
        }
    }

    /** Forces a guard, whatever the host: {@code namespace}, {@code parent-death} or {@code none}. */
    static final String VARIABLE = "FENCEPOST_GUARD";

    /**
     * The first process of the pid namespace. It lends its output streams to the command, waits for it, and ends with its code. Orphans
     * become its children and are reaped by that waiting.
     *
     * <p>In its report it leaves what the shell says of a death by signal (nothing if the command ended by itself), and
     * {@code left N} if the command has left processes behind; the kernel kills them when it ends. After SIGTERM, so when the run is being stopped,
     * it gives those the rest of the grace instead.
     */
    private static final String INIT = """
            fencepost_report=$1 fencepost_setsid=$2 fencepost_sleep=$3
            shift 3
            exec 3>&2 2>/dev/null
            if true >"$fencepost_report"; then exec 2>"$fencepost_report"; fi
            fencepost_stop=
            trap fencepost_stop=1 TERM
            (exec "$fencepost_setsid" -- "$@" 2>&3 3>&-)
            fencepost_code=$?
            while :; do
              fencepost_left=0
              for fencepost_p in /proc/[0-9]*; do
                if [ "$fencepost_p" != /proc/1 ] && { read -r fencepost_stat <"$fencepost_p/stat"; } 2>/dev/null; then
                  case $fencepost_stat in *') Z '*) ;; *) fencepost_left=$((fencepost_left + 1)) ;; esac
                fi
              done
              if [ "$fencepost_left" = 0 ]; then break; fi
              if [ -z "$fencepost_stop" ]; then echo "left $fencepost_left" >&2; break; fi
              "$fencepost_sleep" 0.05 || break
            done
            exit "$fencepost_code"
            """;

    private static final List<Path> STANDARD_PLACES =
            List.of(Path.of("/usr/bin"), Path.of("/bin"), Path.of("/usr/sbin"), Path.of("/sbin"));

    private final Kind kind;
    private final List<String> beforeCommand;
    private final String words;

    private Guard(Kind kind, List<String> beforeCommand, String words) {
        this.kind = kind;
        this.beforeCommand = beforeCommand;
        this.words = words;
    }

    /**
     * Tries what this host allows, the strongest guard first. Starts a few processes that end at once.
     *
     * @param environment of the runner: {@value #VARIABLE} and what systemd says in it
     * @throws IllegalArgumentException if {@value #VARIABLE} names no guard
     */
    static Guard detect(Map<String, String> environment) {
        String forced = environment.getOrDefault(VARIABLE, "");
        boolean service = Long.toString(ProcessHandle.current().pid()).equals(environment.get("SYSTEMD_EXEC_PID"));
        List<Kind> wanted = switch (forced) {
            case "" ->
                service
                        ? List.of(Kind.CONTROL_GROUP, Kind.NAMESPACE, Kind.PARENT_DEATH, Kind.NONE)
                        : List.of(Kind.NAMESPACE, Kind.PARENT_DEATH, Kind.NONE);
            case "namespace" -> List.of(Kind.NAMESPACE);
            case "parent-death" -> List.of(Kind.PARENT_DEATH);
            case "none" -> List.of(Kind.NONE);
            default ->
                throw new IllegalArgumentException(
                        VARIABLE + " is namespace, parent-death or none, not \"" + forced + "\"");
        };
        String refusal = "";
        for (Kind kind : wanted) {
            Guard guard = of(kind);
            String failure = guard == null ? "programs are missing" : guard.failure();
            if (guard != null && (failure == null || kind == Kind.NONE)) {
                return new Guard(kind, guard.beforeCommand, kind.words + refusal);
            }
            refusal += "; no " + kind.name().toLowerCase(Locale.ROOT).replace('_', ' ') + ": " + failure;
        }
        return new Guard(Kind.NONE, setsidOnly(), Kind.NONE.words + refusal);
    }

    private static @Nullable Guard of(Kind kind) {
        String setsid = program("setsid");
        String setpriv = program("setpriv");
        String unshare = program("unshare");
        String shell = program("sh");
        String sleep = program("sleep");
        if (setsid == null) {
            return kind == Kind.NONE ? new Guard(Kind.NONE, List.of(), kind.words) : null;
        }
        List<String> words = new ArrayList<>(List.of(setsid));
        switch (kind) {
            case NAMESPACE -> {
                if (setpriv == null || unshare == null || shell == null || sleep == null) {
                    return null;
                }
                words.addAll(List.of(setpriv, "--pdeathsig", "KILL", unshare));
                if (!isRoot()) {
                    words.addAll(List.of("--user", "--map-current-user"));
                }
                words.addAll(List.of("--pid", "--fork", "--kill-child", "--propagation", "slave", "--mount-proc"));
                words.addAll(List.of(shell, "-c", INIT, "fencepost-init", REPORT, setsid, sleep));
            }
            case CONTROL_GROUP, PARENT_DEATH -> {
                if (setpriv == null) {
                    return null;
                }
                words.addAll(List.of(setpriv, "--pdeathsig", "KILL", "--"));
            }
            case NONE -> words.add("--");
        }
        return new Guard(kind, List.copyOf(words), kind.words);
    }

    private static final String REPORT = "\0report";

    private static List<String> setsidOnly() {
        String setsid = program("setsid");
        return setsid == null ? List.of() : List.of(setsid, "--");
    }

    /** Where a program of the system lies; the runner's PATH has no say in it. */
    static @Nullable String program(String name) {
        for (Path place : STANDARD_PLACES) {
            Path file = place.resolve(name);
            if (Files.isExecutable(file)) {
                return file.toString();
            }
        }
        return null;
    }

    static boolean isRoot() {
        try {
            return Integer.valueOf(0).equals(Files.getAttribute(Path.of("/proc/self"), "unix:uid"));
        } catch (IOException | UnsupportedOperationException unknown) {
            return false;
        }
    }

    /** Runs a command under this guard, and says what went wrong, or null. */
    private @Nullable String failure() {
        String shell = program("sh");
        if (beforeCommand.isEmpty() || shell == null) {
            return "sh or setsid is missing";
        }
        try {
            // Under the namespace the process must find itself in its /proc.
            List<String> probe = wrap(
                    List.of(shell, "-c", "read -r pid rest </proc/self/stat && [ \"$pid\" = $$ ] && exit 42"),
                    Path.of("/dev/null"));
            Process process = new ProcessBuilder(probe)
                    .redirectInput(
                            ProcessBuilder.Redirect.from(Path.of("/dev/null").toFile()))
                    .redirectErrorStream(true)
                    .start();
            try (var output = process.getInputStream()) {
                if (!process.waitFor(5, TimeUnit.SECONDS)) {
                    process.destroyForcibly();
                    return "the trial took more than 5 seconds";
                }
                String said = new String(output.readNBytes(300), StandardCharsets.UTF_8).strip();
                return process.exitValue() == 42 ? null : "the trial ended with " + process.exitValue() + " " + said;
            }
        } catch (IOException e) {
            return String.valueOf(e.getMessage());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return "the trial was interrupted";
        }
    }

    Kind kind() {
        return kind;
    }

    boolean isNamespace() {
        return kind == Kind.NAMESPACE;
    }

    /** Whether {@code setsid} is there: without it nothing is started. */
    boolean canStart() {
        return !beforeCommand.isEmpty();
    }

    /** The command as it is to be started; the report is written under the namespace only. */
    List<String> wrap(List<String> command, Path report) {
        return wrap(command, report, List.of());
    }

    /**
     * The same, as another user.
     *
     * @param change the program {@code setpriv} with what makes it change the user, without its last {@code --}; empty for no change. The
     *     kernel forgets the death signal when a process changes its user; so it is set once more by the same program, afterwards.
     *     Under the namespace guard the init stays what it is, and the command dies with it
     */
    List<String> wrap(List<String> command, Path report, List<String> change) {
        List<String> words = new ArrayList<>(beforeCommand.size() + change.size() + command.size());
        for (String word : beforeCommand) {
            words.add(word.equals(REPORT) ? report.toString() : word);
        }
        if (!change.isEmpty()) {
            words.addAll(change);
            if (kind == Kind.CONTROL_GROUP || kind == Kind.PARENT_DEATH) {
                words.addAll(List.of("--pdeathsig", "KILL"));
            }
            words.add("--");
        }
        words.addAll(command);
        return words;
    }

    /** Which guard is in force and why no stronger one, for a person. */
    @Override
    public String toString() {
        return words;
    }
}
