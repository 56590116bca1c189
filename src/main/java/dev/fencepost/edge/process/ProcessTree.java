package dev.fencepost.edge.process;

import dev.fencepost.edge.process.Foreground.Signal;
import dev.fencepost.edge.process.ProcessTable.Entry;
import dev.fencepost.host.Time;
import dev.fencepost.lease.RunId;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * All processes of one run, and the signals to them. Safe for use by many threads; each question looks at {@code /proc} anew.
 *
 * <p>A process belongs to the run if it is the started one, carries the run's tag in its environment, is in the session of the started
 * one, or descends from a process that does. A process that cleared its environment, left the session <em>and</em> lost its parent is
 * found only under the namespace guard, where orphans stay below the run's first process.
 *
 * <p>Signals go to single pids through the JVM, which compares the start time right before, so that a reused pid is never hit, and
 * which needs no new process, so that it works where the limit of processes is reached. Against a tree that keeps growing, and at the end,
 * a {@code kill} of whole process groups is added.
 */
final class ProcessTree {

    private static final Duration KILL_LIMIT = Duration.ofSeconds(5);
    private static final Duration BETWEEN_ROUNDS = Duration.ofMillis(5);
    private static final long NONE = -1;
    private static final int ROUNDS_BY_PID = 3;
    private static final int ROUNDS_FOR_GUARD = 20;

    private final RunId runId;
    private final @Nullable Process process;
    private final long root;
    private final long rootStartTicks;
    private final boolean namespace;
    private final Time time;
    private final SignalShell signals;

    private ProcessTree(RunId runId, @Nullable Process process, boolean namespace, Time time, SignalShell signals) {
        this.runId = runId;
        this.process = process;
        Entry entry = process == null ? null : entryOf(process);
        this.root = process == null ? NONE : process.pid();
        this.rootStartTicks = entry == null ? 0 : entry.startTicks();
        this.namespace = namespace;
        this.time = time;
        this.signals = signals;
    }

    /**
     * The tree below a process that was just started.
     *
     * @param namespace whether the root and its child belong to the guard and only stand for the run
     */
    static ProcessTree below(Process root, RunId runId, boolean namespace, Time time, SignalShell signals) {
        return new ProcessTree(runId, root, namespace, time, signals);
    }

    private static @Nullable Entry entryOf(Process process) {
        try {
            return ProcessTable.of(process.pid());
        } catch (IOException noTable) {
            return null;
        }
    }

    /** What an earlier runner left of a run: by the tag, and what descends from it. Never this runner or what it descends from. */
    static ProcessTree leftOf(RunId runId, Time time, SignalShell signals) {
        return new ProcessTree(runId, null, false, time, signals);
    }

    /** The living processes of the run, the guard's own included. */
    List<Entry> members() throws IOException {
        Map<Long, Entry> all = ProcessTable.all();
        Set<Long> spared = spared(all);
        all.values().removeIf(entry -> spared.contains(entry.pid()) || entry.startTicks() < rootStartTicks);
        Set<Long> pids = new HashSet<>();
        for (Entry entry : all.values()) {
            if (isRoot(entry) || (entry.isAlive() && ProcessTable.hasTag(entry.pid(), runId))) {
                pids.add(entry.pid());
            }
        }
        long session = isOurs(all.get(root)) ? root : NONE;
        boolean grown = true;
        while (grown) {
            grown = false;
            for (Entry entry : all.values()) {
                if (entry.session() == session || pids.contains(entry.parent())) {
                    grown |= pids.add(entry.pid());
                }
            }
        }
        return pids.stream()
                .map(all::get)
                .filter(entry -> entry != null && entry.isAlive())
                .toList();
    }

    /**
     * Whether the numbers of the root's session and group still mean ours. They stay reserved while anybody is in them; a process of that
     * pid which is not the root is a stranger.
     */
    private boolean isOurs(@Nullable Entry leader) {
        return root != NONE && (leader == null || isRoot(leader));
    }

    private boolean isRoot(Entry entry) {
        return entry.pid() == root && entry.startTicks() == rootStartTicks;
    }

    private static Set<Long> spared(Map<Long, Entry> all) throws IOException {
        Set<Long> spared = new HashSet<>(Set.of(0L, 1L));
        Entry ancestor = all.get(ProcessTable.self().pid());
        while (ancestor != null && spared.add(ancestor.pid())) {
            ancestor = all.get(ancestor.parent());
        }
        return spared;
    }

    /**
     * A signal to every process of the run, once each; of the guard's own only to the init, and that SIGTERM: it then waits for all the
     * others.
     *
     * @return whether a process of the command was there to be signalled
     */
    boolean terminate(Signal first) throws IOException, InterruptedException {
        List<Entry> ofCommand = new ArrayList<>();
        for (Entry member : members()) {
            if (isOfCommand(member)) {
                ofCommand.add(member);
            } else if (!isRoot(member)) {
                signal(member, false);
            }
        }
        if (first == Signal.TERM
                || !signals.send(
                        first.name(),
                        () -> ofCommand.stream()
                                .filter(ProcessTree::isStill)
                                .map(Entry::pid)
                                .toList())) {
            ofCommand.removeIf(member -> !signal(member, false));
        }
        return !ofCommand.isEmpty();
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
        boolean groupDone = namespace || root == NONE;
        long end = time.bootMillis() + KILL_LIMIT.toMillis();
        for (int round = 0; round == 0 || time.bootMillis() < end; round++) {
            try {
                left = members();
            } catch (IOException noTable) {
                killRootBlindly();
                time.sleep(BETWEEN_ROUNDS);
                continue;
            }
            if (left.isEmpty() && process != null && process.isAlive()) {
                killRootBlindly();
            } else if (left.isEmpty() && groupDone) {
                break;
            } else if (left.isEmpty()) {
                // A chain of processes that each live for an instant may never be seen in the table.
                groupDone = true;
                killGroups(left);
                continue;
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
        List<Entry> members = members();
        Set<Long> guards = new HashSet<>();
        members.stream().filter(member -> !isOfCommand(member)).forEach(member -> guards.add(member.pid()));
        return members.stream()
                .filter(member -> namespace ? isOfCommand(member) && guards.contains(member.parent()) : isRoot(member))
                .min(Comparator.comparingLong(Entry::startTicks).thenComparingLong(Entry::pid))
                .orElse(null);
    }

    /** Whether this is a process of the command, and not one of the guard's own: those stay in the session of the root. */
    private boolean isOfCommand(Entry member) {
        return !namespace || member.session() != root;
    }

    /**
     * Sends SIGKILL or SIGTERM, if the pid still means this process.
     *
     * @return whether it was sent
     */
    static boolean signal(Entry member, boolean kill) {
        if (!isStill(member)) {
            return false;
        }
        return ProcessHandle.of(member.pid())
                .map(process -> kill ? process.destroyForcibly() : process.destroy())
                .orElse(false);
    }

    /** False where nobody can tell: then it is not signalled. */
    private static boolean isStill(Entry member) {
        try {
            return ProcessTable.isStill(member);
        } catch (IOException noTable) {
            return false;
        }
    }

    private void killRootBlindly() {
        if (process != null) {
            process.destroyForcibly();
        }
    }

    /**
     * Kills the group of the root and those of the given processes. A group is killed by the kernel in one step, so that no member can
     * fork in between. Where it cannot be done the next round tries each pid again.
     */
    private void killGroups(List<Entry> members) throws InterruptedException {
        signals.send("KILL", () -> groups(members));
    }

    /** Negative. The number of a group is reserved while anybody is in it, so it is a stranger's only if a process has that pid. */
    private List<Long> groups(List<Entry> members) {
        try {
            Set<Long> groups = new TreeSet<>();
            if (isOurs(ProcessTable.of(root))) {
                groups.add(root);
            }
            for (Entry member : members) {
                if (isStill(member) || ProcessTable.of(member.group()) == null) {
                    groups.add(member.group());
                }
            }
            long own = ProcessTable.self().group();
            groups.removeIf(group -> group <= 1 || group == own);
            return groups.stream().map(group -> -group).toList();
        } catch (IOException noTable) {
            return List.of();
        }
    }
}
