package dev.fencepost.edge;

import dev.fencepost.Node;
import dev.fencepost.Store;
import dev.fencepost.edge.config.StoreUrl;
import dev.fencepost.edge.host.StateDirectory;
import dev.fencepost.edge.host.SystemEntropy;
import dev.fencepost.edge.host.SystemThreads;
import dev.fencepost.edge.host.SystemTime;
import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.edge.notify.Notifications;
import dev.fencepost.edge.process.Foreground;
import dev.fencepost.edge.process.OsChildren;
import dev.fencepost.edge.process.OsPrograms;
import dev.fencepost.edge.process.RunFolders;
import dev.fencepost.edge.sink.FileSink;
import dev.fencepost.edge.sink.GitRepositories;
import dev.fencepost.edge.sink.GitSink;
import dev.fencepost.edge.sink.HttpActions;
import dev.fencepost.edge.sink.HttpNotes;
import dev.fencepost.edge.sink.HttpSink;
import dev.fencepost.edge.sink.Publisher;
import dev.fencepost.effect.Dispatcher;
import dev.fencepost.effect.Sink;
import dev.fencepost.effect.SinkDefinition;
import dev.fencepost.host.Entropy;
import dev.fencepost.host.Journal;
import dev.fencepost.host.Spawner;
import dev.fencepost.host.Time;
import dev.fencepost.lease.DeadlineWatch;
import dev.fencepost.lease.Incarnation;
import dev.fencepost.lease.Owner;
import dev.fencepost.run.Job;
import dev.fencepost.run.Notices;
import dev.fencepost.run.Places;
import dev.fencepost.run.Publications;
import dev.fencepost.run.Runner;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Puts the production parts together: for {@code serve} and for the short commands alike, so that both are the same program. */
public final class Assembly {

    private static final long LOG_LIMIT_BYTES = 16L << 20;

    private final Journal journal;
    private final Time time = new SystemTime();
    private final Entropy entropy = new SystemEntropy();
    private final Spawner spawner;

    public Assembly(Journal journal) {
        this.journal = journal;
        this.spawner = new SystemThreads(journal);
    }

    public Time time() {
        return time;
    }

    public Entropy entropy() {
        return entropy;
    }

    public Spawner spawner() {
        return spawner;
    }

    /** Opens the store; its schema is not touched and a server not connected before the first call. */
    public JdbcStore store(StoreUrl url) {
        return switch (url.kind()) {
            case SQLITE -> JdbcStore.sqlite(Objects.requireNonNull(url.file()), time, spawner);
            case POSTGRESQL -> JdbcStore.postgres(url.jdbcUrl(), url.user(), url.password(), url.display(), journal);
        };
    }

    /**
     * What carries out slots on this host.
     *
     * @param sinks all that the jobs file names, those of its jobs included
     * @param jobs whose notifiers are told of what becomes of them
     */
    public Crew crew(Store store, StateDirectory directory, Collection<SinkDefinition> sinks, Collection<Job> jobs) {
        OsPrograms programs = new OsPrograms(time, spawner);
        GitRepositories repositories = new GitRepositories(directory.path(), programs, System.getenv(), time);
        Publisher publisher = new Publisher(sinks, repositories, programs, journal);
        Notifications notifications = new Notifications(
                new HttpNotes(time, spawner),
                programs,
                System.getenv(),
                store,
                store,
                time,
                spawner,
                journal,
                directory.nodeId());
        notifications.watch(jobs);
        Journal watched = notifications.watching(journal);
        Hand hand = hand(store, directory, publisher, notifications, watched, null);
        Owner owner = hand.owner();
        OsChildren children = hand.children();
        Dispatcher dispatcher = new Dispatcher(
                store,
                store,
                sinks(sinks, repositories),
                owner,
                children::provablyDead,
                time,
                spawner,
                entropy,
                watched);
        return new Crew(
                owner,
                children,
                hand.folders(),
                hand.watch(),
                hand.runner(),
                dispatcher,
                notifications,
                watched,
                others -> {
                    publisher.use(others);
                    dispatcher.use(sinks(others, repositories));
                });
    }

    /** What carries out one command in the foreground, which gives nothing out. */
    public Hand hand(Store store, StateDirectory directory, Foreground foreground) {
        return hand(store, directory, Publications.NONE, Notices.NONE, journal, foreground);
    }

    private Hand hand(
            Store store,
            StateDirectory directory,
            Publications publications,
            Notices notices,
            Journal watched,
            @Nullable Foreground foreground) {
        Incarnation self = OsChildren.thisIncarnation(directory.nodeId(), time, entropy);
        OsChildren children = new OsChildren(self, time, spawner, journal, foreground);
        RunFolders folders = new RunFolders(directory.runs());
        DeadlineWatch watch = new DeadlineWatch(time);
        Runner runner = new Runner(
                store,
                store,
                children,
                new HttpActions(time, spawner),
                folders,
                publications,
                watch,
                time,
                spawner,
                entropy,
                watched,
                notices,
                self.owner(),
                LOG_LIMIT_BYTES);
        return new Hand(self.owner(), children, folders, watch, runner);
    }

    /** @param watch has to be started by whoever uses it */
    public record Hand(Owner owner, OsChildren children, RunFolders folders, DeadlineWatch watch, Runner runner) {}

    private Map<String, Sink> sinks(Collection<SinkDefinition> definitions, GitRepositories repositories) {
        Map<String, Sink> sinks = new HashMap<>();
        for (SinkDefinition definition : definitions) {
            sinks.put(
                    definition.name(),
                    switch (definition) {
                        case SinkDefinition.Git git -> new GitSink(git, repositories);
                        case SinkDefinition.Http http -> new HttpSink(http, time, spawner);
                        case SinkDefinition.Files files -> new FileSink(files, time);
                    });
        }
        return sinks;
    }

    /**
     * @param watch has to be started by whoever runs something without a {@link Node}
     * @param notifications have to be closed by whoever runs something, once it has ended
     * @param journal where the crew records; the notifications see it
     * @param useSinks takes the sinks of another jobs file, in the place of those that were known
     */
    public record Crew(
            Owner owner,
            OsChildren children,
            RunFolders folders,
            DeadlineWatch watch,
            Runner runner,
            Dispatcher dispatcher,
            Notifications notifications,
            Journal journal,
            Consumer<Collection<SinkDefinition>> useSinks) {}

    /** @param maxParallel how many runs the node carries out at a time, or null for any number */
    public Node node(Store store, List<Job> jobs, Crew crew, @Nullable Integer maxParallel) {
        return new Node(
                store,
                jobs,
                crew.owner(),
                crew.runner(),
                crew.children(),
                crew.dispatcher(),
                crew.watch(),
                crew.notifications(),
                new Places(maxParallel == null ? 0 : maxParallel, time),
                time,
                spawner,
                crew.journal());
    }
}
