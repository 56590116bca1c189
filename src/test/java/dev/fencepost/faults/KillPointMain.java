package dev.fencepost.faults;

import dev.fencepost.Store;
import dev.fencepost.edge.host.SystemEntropy;
import dev.fencepost.edge.host.SystemThreads;
import dev.fencepost.edge.host.SystemTime;
import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.edge.process.OsChildren;
import dev.fencepost.edge.sink.HttpSink;
import dev.fencepost.effect.Announcement;
import dev.fencepost.effect.Content;
import dev.fencepost.effect.Dispatcher;
import dev.fencepost.effect.EffectState;
import dev.fencepost.effect.HttpEndpoint;
import dev.fencepost.effect.Outbox.Filter;
import dev.fencepost.effect.Sink;
import dev.fencepost.effect.SinkDefinition;
import dev.fencepost.effect.TextOrFile;
import dev.fencepost.host.Event;
import dev.fencepost.host.Journal;
import dev.fencepost.lease.Incarnation;
import dev.fencepost.lease.RunId;
import dev.fencepost.run.Completion;
import dev.fencepost.run.Job;
import dev.fencepost.run.Outcome;
import dev.fencepost.run.Start;
import dev.fencepost.schedule.Slot;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A runner and sender of effects made of the production parts, in a process that dies by SIGKILL at a named point: before or after a call
 * of the store or of the sink, at the n-th time. Started again it goes on where it was; with the point {@code none} it ends by itself.
 */
final class KillPointMain {

    static final int EFFECTS = 200;
    static final int EFFECTS_A_RUN = 10;

    private KillPointMain() {}

    /** Arguments: SQLite file or JDBC address of PostgreSQL, state directory's node id, receiver's URL, point, count. */
    public static void main(String[] args) throws Exception {
        Journal journal = event -> {
            if (event instanceof Event.Problem problem) {
                System.out.println(problem);
            }
        };
        SystemTime time = new SystemTime();
        SystemThreads threads = new SystemThreads(journal);
        SystemEntropy entropy = new SystemEntropy();
        JdbcStore real = args[0].startsWith("jdbc:")
                ? JdbcStore.postgres(args[0], "postgres", null, "postgres", journal)
                : JdbcStore.sqlite(Path.of(args[0]), time, threads);
        real.prepare();
        Incarnation self = OsChildren.thisIncarnation(args[1], time, entropy);
        OsChildren children = new OsChildren(self, time, threads, journal);
        KillPoint point = new KillPoint(args[3], Integer.parseInt(args[4]));
        Store store = point.around(Store.class, real);
        HttpEndpoint endpoint = new HttpEndpoint(
                "POST",
                new TextOrFile(args[2], null),
                Map.of(),
                "text/plain",
                Duration.ofSeconds(5),
                Set.of("127.0.0.1"),
                false,
                null);
        SinkDefinition.Http definition = new SinkDefinition.Http(
                "announce", Duration.ofHours(24), endpoint, true, false, Duration.ofSeconds(15), 0, null);
        Sink sink = point.around(Sink.class, new HttpSink(definition, time, threads));
        Dispatcher dispatcher = new Dispatcher(
                store,
                store,
                Map.of("announce", sink),
                self.owner(),
                children::provablyDead,
                time,
                threads,
                entropy,
                journal);
        Job job = job();
        store.register(List.of(job));
        for (int run = 0; run < EFFECTS / EFFECTS_A_RUN; run++) {
            announce(store, children, job, self, run);
        }
        while (!allConfirmed(real)) {
            dispatcher.wake();
            Thread.sleep(20); // the dispatcher's own loop is woken like this by the node
        }
        System.out.println("done");
        real.close();
        System.exit(0);
    }

    private static Job job() {
        return PlainJob.of("note", Duration.ofMinutes(81));
    }

    /** What the runner does for one slot, without a child: claim, and completion with ten effects. */
    private static void announce(Store store, OsChildren children, Job job, Incarnation self, int run) {
        Slot slot = PlainJob.slot(run);
        while (true) {
            switch (store.start(job, slot, self.owner(), new RunId(new SystemEntropy().uuid()), false)) {
                case Start.Closed done -> {
                    return;
                }
                case Start.Held held -> {
                    if (!children.provablyDead(held.by().owner())) {
                        throw new IllegalStateException("held by " + held.by());
                    }
                    store.abandon(held.by(), true);
                }
                case Start.Started started -> {
                    List<Announcement> effects = new ArrayList<>();
                    for (int i = 0; i < EFFECTS_A_RUN; i++) {
                        String name = "n" + i;
                        Content content =
                                new Content("text/plain", null, (slot + " " + i).getBytes(StandardCharsets.UTF_8));
                        effects.add(new Announcement(
                                name,
                                Announcement.keyOf(slot.idempotencyKey(job.id()), name),
                                "announce",
                                content,
                                content.digest("announce"),
                                Duration.ofHours(24)));
                    }
                    store.complete(
                            started.lease(),
                            new Completion(Outcome.SUCCEEDED, true, true, 0, null, null, null, null, effects));
                    return;
                }
            }
        }
    }

    private static boolean allConfirmed(Store store) {
        return store.effects(new Filter(null, List.of(EffectState.CONFIRMED), false), 2 * EFFECTS)
                        .size()
                == EFFECTS;
    }

    /** {@code begin:before}, {@code begin:after}, {@code deliver:after} and so on. */
    private static final class KillPoint {
        private final String name;
        private final AtomicInteger left;

        KillPoint(String name, int count) {
            this.name = name;
            this.left = new AtomicInteger(count);
        }

        <T> T around(Class<T> type, T real) {
            return type.cast(Proxy.newProxyInstance(
                    type.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> {
                        die(method.getName() + ":before");
                        Object answer;
                        try {
                            answer = method.invoke(real, arguments);
                        } catch (InvocationTargetException e) {
                            throw e.getCause();
                        }
                        die(method.getName() + ":after");
                        return answer;
                    }));
        }

        private void die(String here) {
            if (here.equals(name) && left.decrementAndGet() == 0) {
                Processes.signal(ProcessHandle.current().pid(), "KILL");
                while (true) {
                    Thread.onSpinWait(); // the signal comes at once
                }
            }
        }
    }
}
