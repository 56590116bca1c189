package dev.fencepost.edge.process;

import dev.fencepost.edge.process.ProcessTable.Entry;
import dev.fencepost.host.Time;
import dev.fencepost.lease.RunId;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * All processes of one run, and the signals to them. Safe for use by many threads; each question looks at {@code /proc} anew.
 *
 * <p>A process belongs to the run if it is the started one, carries the run's tag in its environment, is in the session of the started
 * one, or descends from a process that does. A process that cleared its environment, left the session <em>and</em> lost its parent is
 * found only under the namespace guard, where orphans stay below the run's first process.
 *
 * <p>Signals go to single pids through the JVM, which compares the start time right before, so that a reused pid is never hit, and
 * which needs no new process, so that it works where the limit of processes is reached. Only against a tree that keeps growing a
 * {@code kill} of whole process groups is added.
 */
final class ProcessTree {

    private static final Duration KILL_LIMIT = Duration.ofSeconds(5);
    private static final Duration BETWEEN_ROUNDS = Duration.ofMillis(5);
    private static final int ROUNDS_BY_PID = 3;
    private static final int ROUNDS_FOR_GUARD = 20;

    private final RunId runId;
    private final @Nullable ProcessHandle handle;
    private final @Nullable Entry root;
    private final boolean namespace;
    private final Time time;

    private ProcessTree(RunId runId, @Nullable ProcessHandle handle, boolean namespace, Time time) {
        this.runId = runId;
        this.handle = handle;
        this.root = handle == null ? null : ProcessTable.of(handle.pid());
        this.namespace = namespace;
        this.time = time;
    }

    /**
     * The tree below a process that was just started.
     *
     * @param namespace whether the root and its child belong to the guard and only stand for the run
     */
    static ProcessTree below(ProcessHandle root, RunId runId, boolean namespace, Time time) {
        return new ProcessTree(runId, root, namespace, time);
    }

    /** What an earlier runner left of a run: by the tag, and what descends from it. Never this runner or what it descends from. */
    static ProcessTree leftOf(RunId runId, Time time) {
        return new ProcessTree(runId, null, false, time);
    }

    /** The living processes of the run, the guard's own included. */
    List<Entry> members() throws IOException {
        Map<Long, Entry> all = ProcessTable.all();
        Set<Long> spared = spared(all);
        Set<Long> pids = new HashSet<>();
        Set<Long> sessions = new HashSet<>();
        for (Entry entry : all.values()) {
            if (root != null && entry.startTicks() < root.startTicks()) {
                spared.add(entry.pid());
            }
            if (spared.contains(entry.pid())) {
                continue;
            }
            boolean isRoot = root != null && entry.pid() == root.pid() && entry.startTicks() == root.startTicks();
            if (isRoot || (entry.isAlive() && ProcessTable.hasTag(entry.pid(), runId))) {
                pids.add(entry.pid());
            }
        }
        if (root != null && isOurSession(root.pid(), all)) {
            sessions.add(root.pid());
        }
        boolean grown = true;
        while (grown) {
            grown = false;
            for (Entry entry : all.values()) {
                boolean belongs = pids.contains(entry.parent()) || sessions.contains(entry.session());
                if (belongs && !spared.contains(entry.pid())) {
                    grown |= pids.add(entry.pid());
                }
            }
        }
        return pids.stream().map(all::get).filter(Entry::isAlive).toList();
    }

    /** A session's number stays reserved while the session lives; a process of that pid which is not the root is a stranger. */
    private boolean isOurSession(long pid, Map<Long, Entry> all) {
        Entry leader = all.get(pid);
        return leader == null || (root != null && leader.startTicks() == root.startTicks());
    }

    private static Set<Long> spared(Map<Long, Entry> all) {
        Set<Long> spared = new HashSet<>(Set.of(0L, 1L));
        Entry ancestor = all.get(ProcessTable.self().pid());
        while (ancestor != null && spared.add(ancestor.pid())) {
            ancestor = all.get(ancestor.parent());
        }
        return spared;
    }

    /**
     * SIGTERM to every process of the run, once each; of the guard's own only to the init, which then waits for all the others.
     *
     * @return whether a process of the command was there to be signalled
     */
    boolean terminate() throws IOException {
        boolean signalled = false;
        for (Entry member : members()) {
            boolean ofCommand = isOfCommand(member);
            if (ofCommand || !isRoot(member)) {
                signalled |= signal(member, false) && ofCommand;
            }
        }
        return signalled;
    }

    /**
     * SIGKILL to every process of the run, again and again until none is left or a limit of some seconds is reached.
     *
     * <p>The guard's own end by themselves after the command, and so reap their children; they are killed when that takes too long, and
     * at once when the command keeps growing: with them ends the whole namespace. Where neither a process can be started nor a file be
     * opened, this reaches the root at least.
     */
    Killed kill() throws InterruptedException {
        Set<Long> hit = new TreeSet<>();
        List<Entry> left = List.of();
        long end = time.bootMillis() + KILL_LIMIT.toMillis();
        for (int round = 0; round == 0 || time.bootMillis() < end; round++) {
            try {
                left = members();
            } catch (IOException noTable) {
                killRootBlindly();
                time.sleep(BETWEEN_ROUNDS);
                continue;
            }
            if (left.isEmpty()) {
                break;
            }
            boolean grows = false;
            for (Entry member : left) {
                if (isOfCommand(member)) {
                    signal(member, true);
                    grows |= hit.add(member.pid()) && round >= ROUNDS_BY_PID;
                }
            }
            if (grows || round >= ROUNDS_FOR_GUARD) {
                left.stream().filter(member -> !isOfCommand(member)).forEach(member -> signal(member, true));
            }
            if (grows) {
                killGroups(left);
            } else {
                time.sleep(BETWEEN_ROUNDS);
            }
        }
        return new Killed(hit.size(), left.stream().map(Entry::pid).toList());
    }

    /**
     * What {@link #kill} did.
     *
     * @param count processes of the command that were killed, without the guard's own
     * @param unkillable pids that were still there at the end: blocked in the kernel, or of another user
     */
    record Killed(int count, List<Long> unkillable) {}

    /** The command's main process, or null: under the namespace guard the init's first child that has a session of its own. */
    @Nullable
    Entry main() throws IOException {
        if (!namespace) {
            return root;
        }
        List<Entry> members = members();
        Set<Long> guards = new HashSet<>();
        members.stream().filter(member -> !isOfCommand(member)).forEach(member -> guards.add(member.pid()));
        return members.stream()
                .filter(member -> isOfCommand(member) && guards.contains(member.parent()))
                .min(Comparator.comparingLong(Entry::startTicks).thenComparingLong(Entry::pid))
                .orElse(null);
    }

    /** Whether this is a process of the command, and not one of the guard's own: those stay in the session of the root. */
    private boolean isOfCommand(Entry member) {
        return !namespace || root == null || member.session() != root.pid();
    }

    private boolean isRoot(Entry member) {
        return root != null && member.pid() == root.pid();
    }

    /**
     * Sends SIGKILL or SIGTERM, if the pid still means this process.
     *
     * @return whether it was sent
     */
    static boolean signal(Entry member, boolean kill) {
        Entry now = ProcessTable.of(member.pid());
        if (now == null || now.startTicks() != member.startTicks() || !now.isAlive()) {
            return false;
        }
        return ProcessHandle.of(member.pid())
                .map(process -> kill ? process.destroyForcibly() : process.destroy())
                .orElse(false);
    }

    private void killRootBlindly() {
        if (handle != null) {
            handle.destroyForcibly();
        }
    }

    /** Groups are killed by the kernel in one step, so that no member can fork in between. */
    private static void killGroups(Collection<Entry> members) throws InterruptedException {
        String shell = Guard.program("sh");
        if (shell == null) {
            return;
        }
        List<String> command = new ArrayList<>(List.of(shell, "-c", "kill -s KILL -- \"$@\"", shell));
        long own = ProcessTable.self().group();
        Set<Long> groups = new TreeSet<>();
        for (Entry member : members) {
            if (member.group() > 1 && member.group() != own) {
                groups.add(member.group());
            }
        }
        groups.forEach(group -> command.add("-" + group));
        try {
            Process process = new ProcessBuilder(command)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            process.waitFor(1, TimeUnit.SECONDS);
        } catch (IOException noProcessLeft) {
            // the next round tries each pid again
        }
    }
}
