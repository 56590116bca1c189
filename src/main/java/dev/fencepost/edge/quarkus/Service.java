package dev.fencepost.edge.quarkus;

import dev.fencepost.Node;
import dev.fencepost.Store;
import dev.fencepost.edge.Assembly;
import dev.fencepost.edge.Assembly.Crew;
import dev.fencepost.edge.config.ApiSettings;
import dev.fencepost.edge.config.DurationText;
import dev.fencepost.edge.config.JobsFile;
import dev.fencepost.edge.host.HostName;
import dev.fencepost.edge.host.StateDirectory;
import dev.fencepost.edge.host.SystemTime;
import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.edge.notify.Notifications;
import dev.fencepost.edge.process.OsPrograms;
import dev.fencepost.edge.systemd.StatusLine;
import dev.fencepost.edge.systemd.Supervision;
import dev.fencepost.edge.web.Api;
import dev.fencepost.edge.web.Artifacts;
import dev.fencepost.edge.web.Tokens;
import dev.fencepost.edge.web.page.Page;
import dev.fencepost.edge.web.page.RecentRenewals;
import dev.fencepost.host.Time;
import dev.fencepost.run.Job;
import dev.fencepost.run.JobLoop;
import dev.fencepost.run.Nodes;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.quarkus.scheduler.Scheduler;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.inject.Inject;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.ToDoubleFunction;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;
import sun.misc.Signal;

/**
 * The running service: its parts from start to end. The first SIGTERM or SIGINT drains it and ends with 0 if every run ended by itself;
 * a drain that is exceeded, or a second signal, ends with {@value #FORCED}.
 */
@ApplicationScoped
public class Service {

    /** 128 + SIGTERM. */
    static final int FORCED = 143;

    private static final String WAKE = "wake";
    private static final Duration LAST_BEAT_LIMIT = Duration.ofMillis(500);

    /** With no wake-up for so long the scheduler is not trusted any more. */
    private static final Duration LONGEST_SLEEP = Node.LOOK_AHEAD.multipliedBy(3);

    /** A process and its group are often signalled together; what comes so soon is the same wish. */
    private static final long ECHO_MILLIS = 250;

    /** No loop may stand still for longer: then the service is not alive, as a monitor and the service manager are told. */
    static final Duration STANDSTILL = Duration.ofSeconds(60);

    /** For what the service manager has not been told yet. */
    private static final Duration LAST_WORDS_LIMIT = Duration.ofSeconds(1);

    /** For notices that still wait to be sent when all runs have ended. */
    private static final Duration NOTIFYING_LIMIT = Duration.ofSeconds(5);

    private static final Duration FORCED_NOTIFYING_LIMIT = Duration.ofSeconds(1);

    private static final Logger LOG = Logger.getLogger("dev.fencepost");

    private final Scheduler scheduler;
    private final MeterRegistry meters;
    private final Map<String, Gauge> gauges = new ConcurrentHashMap<>();
    private final Api api;
    private final Page page;
    private final CountDownLatch ended = new CountDownLatch(1);
    private final AtomicBoolean draining = new AtomicBoolean();
    private final AtomicBoolean forcing = new AtomicBoolean();
    private volatile boolean reloadWanted;
    private volatile long drainingSince;
    private volatile int exitCode;
    private volatile @Nullable Running running;
    private volatile @Nullable Heartbeat heartbeat;
    private volatile @Nullable Upkeep upkeep;
    private volatile @Nullable Supervision supervision;

    /** Everything that exists between start and end. */
    record Running(
            JobsFile file,
            JdbcStore store,
            GuardedStore guarded,
            Assembly assembly,
            Node node,
            Notifications notifications) {

        Running with(JobsFile other) {
            return new Running(other, store, guarded, assembly, node, notifications);
        }
    }

    @Inject
    public Service(Scheduler scheduler, MeterRegistry meters, Api api, Page page) {
        this.scheduler = scheduler;
        this.meters = meters;
        this.api = api;
        this.page = page;
    }

    /** The jobs file is being read for the start, and a SIGHUP from now on may be about a newer one. */
    void noteReloads() {
        Signal.handle(new Signal("HUP"), signal -> reloadWanted = true);
    }

    void start(ServeArguments arguments, JobsFile file) throws IOException {
        List<Job> jobs = file.jobs();
        ServiceJournal journal = new ServiceJournal(meters, jobs);
        RecentRenewals renewals = new RecentRenewals(journal, new SystemTime());
        Assembly assembly = new Assembly(renewals);
        StateDirectory directory = StateDirectory.open(arguments.stateDir(), assembly.entropy());
        JdbcStore store = assembly.store(arguments.storeUrl(file));
        GuardedStore guarded = new GuardedStore(store, meters, journal);
        Crew crew = assembly.crew(guarded, directory, file.allSinks(), jobs);
        Node node = assembly.node(guarded, jobs, crew, file.maxParallel());
        running = new Running(file, store, guarded, assembly, node, crew.notifications());
        meters.gauge("last_tick_age", node, n -> n.sinceLastWake().toMillis() / 1000.0);
        node.loops().forEach(this::gauge);
        Reload reload = new Reload(
                arguments,
                System.getenv(),
                Path.of("").toAbsolutePath(),
                assembly.time(),
                assembly.spawner(),
                file,
                changed -> adopt(changed, node, crew, journal),
                () -> tellManager(Supervision::reloading),
                this::reloaded);
        Heartbeat beating = new Heartbeat(
                guarded, crew.owner(), node::isPrepared, () -> state(arguments, reload), assembly.time(), journal);
        heartbeat = beating;
        assembly.spawner().virtualThread("heartbeat", beating);
        ApiSettings settings = file.api();
        Tokens tokens = settings == null ? null : Tokens.open(settings.tokenFile(), assembly.time(), journal);
        Artifacts artifacts = openApi(settings, tokens, guarded, directory, assembly, node, journal);
        page.open(new Page.Parts(
                guarded,
                () -> Shown.jobs(fileInForce()),
                node::isPrepared,
                tokens,
                settings == null ? List.of() : settings.trustedProxies(),
                new ShownOutputs(directory.runs()),
                directory.nodeId(),
                assembly.time(),
                assembly.entropy(),
                journal,
                renewals));
        Upkeep upkeeping = new Upkeep(this::fileInForce, guarded, node::isPrepared, assembly.time(), journal);
        if (file.workKeep() != null) {
            upkeeping.addWork(file.workKeep(), artifacts);
        }
        upkeeping.addOutputs(directory.runs(), new OsPrograms(assembly.time(), assembly.spawner()));
        upkeep = upkeeping;
        upkeeping.start(assembly.spawner());
        EffectGauges effects = new EffectGauges(store, node::isPrepared, meters, assembly.time(), journal);
        assembly.spawner().virtualThread("count-effects", effects);
        LOG.infof(
                "node %s, store %s, %d jobs of %s, children guarded by %s",
                directory.nodeId(),
                store.describe(),
                jobs.size(),
                file.path(),
                crew.children().guard());
        file.warnings().forEach(warning -> LOG.warn(warning.text()));
        Signal.handle(new Signal("TERM"), signal -> stop());
        Signal.handle(new Signal("INT"), signal -> stop());
        node.start();
        beSupervised(node, reload, assembly, journal);
        node.whenReloadIsOrdered(() -> reload.soon("fencepost reload"));
        assembly.spawner()
                .virtualThread(
                        "jobs-file", () -> reload.watch(() -> fileInForce().reloadOnChange()));
        Signal.handle(new Signal("HUP"), signal -> reload.soon("SIGHUP"));
        if (reloadWanted) {
            reload.soon("SIGHUP during the start");
        }
        scheduleWakes(node);
        assembly.spawner().platformThread("wake-watch", () -> watchWakes(node, assembly.time()));
        node.wake();
    }

    /** Null where the API is off. */
    private @Nullable Artifacts openApi(
            @Nullable ApiSettings settings,
            @Nullable Tokens tokens,
            Store store,
            StateDirectory directory,
            Assembly assembly,
            Node node,
            ServiceJournal journal)
            throws IOException {
        if (settings == null || tokens == null) {
            api.off(journal);
            return null;
        }
        Artifacts artifacts = Artifacts.open(directory.path().resolve("artifacts"), store, assembly.entropy(), journal);
        api.open(new Api.Parts(
                store,
                store::now,
                node::isPrepared,
                tokens,
                artifacts,
                settings.maxArtifactBytes(),
                settings.artifactTypes(),
                settings.trustedProxies(),
                assembly.time(),
                assembly.spawner(),
                assembly.entropy(),
                journal));
        return artifacts;
    }

    private void scheduleWakes(Node node) {
        scheduler
                .newJob(WAKE)
                .setInterval(Node.LOOK_AHEAD.toSeconds() + "s")
                .setTask(execution -> node.wake())
                .schedule();
    }

    /**
     * The scheduler counts its interval on the wall clock: when that is set back by hours, it would not wake the node for as long. So a
     * thread that knows the boot clock alone schedules it anew.
     */
    private void watchWakes(Node node, Time time) {
        try {
            while (true) {
                time.sleep(Node.LOOK_AHEAD);
                Duration late = node.sinceLastWake();
                if (late.compareTo(LONGEST_SLEEP) > 0 && !draining.get()) {
                    LOG.infof(
                            "not woken for %d ms (the clock may have been set back): scheduled anew", late.toMillis());
                    node.wake();
                    scheduler.unscheduleJob(WAKE);
                    scheduleWakes(node);
                }
            }
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
        }
    }

    private void reloaded() {
        tellManager(Supervision::reloaded);
        Heartbeat beating = heartbeat;
        if (beating != null) {
            beating.beat();
        }
    }

    private void tellManager(Consumer<Supervision> word) {
        Supervision supervising = supervision;
        if (supervising != null) {
            word.accept(supervising);
        }
    }

    /** Nothing where no service manager listens. */
    private void beSupervised(Node node, Reload reload, Assembly assembly, ServiceJournal journal) {
        Supervision supervising = Supervision.of(
                System.getenv(),
                ProcessHandle.current().pid(),
                new Supervision.Service() {
                    @Override
                    public boolean hasBegun() {
                        return node.hasPlanned() || node.prepareFailure() != null;
                    }

                    @Override
                    public @Nullable String standstill() {
                        return node.standstill(STANDSTILL);
                    }

                    @Override
                    public String status() {
                        return StatusLine.of(node, draining.get(), reload.error());
                    }
                },
                new OsPrograms(assembly.time(), assembly.spawner()),
                assembly.time(),
                SystemTime::monotonicMicros,
                journal);
        if (supervising != null) {
            supervision = supervising;
            FunctionCounter.builder("service.manager.failed", supervising, Supervision::failures)
                    .register(meters);
            supervising.start(assembly.spawner());
        }
    }

    private Nodes.State state(ServeArguments arguments, Reload reload) {
        return new Nodes.State(
                HostName.read(),
                Node.VERSION,
                arguments.jobsFile().toAbsolutePath().normalize().toString(),
                Heartbeat.hash(fileInForce().jobs()),
                reload.error());
    }

    private JobsFile fileInForce() {
        return Objects.requireNonNull(running).file();
    }

    /** Sinks first, so that no run of a new job meets a sink that is not known yet. */
    private void adopt(JobsFile file, Node node, Crew crew, ServiceJournal journal) throws InterruptedException {
        List<JobLoop> before = node.loops();
        journal.countFor(file.jobs());
        crew.useSinks().accept(file.allSinks());
        crew.notifications().watch(file.jobs());
        node.replaceJobs(file.jobs(), file.maxParallel());
        node.loops().stream().filter(loop -> !before.contains(loop)).forEach(this::gauge);
        Running parts = running;
        running = parts == null ? null : parts.with(file);
    }

    private void gauge(JobLoop loop) {
        gauge("run.running_seconds", loop, l -> {
            Duration runningFor = l.runningFor();
            return runningFor == null ? 0 : runningFor.toMillis() / 1000.0;
        });
        gauge("job.paused", loop, l -> l.isPaused() ? 1 : 0);
    }

    /** A gauge of the same name and job, of one that left the file and is back, would stay in its place. */
    private void gauge(String name, JobLoop loop, ToDoubleFunction<JobLoop> value) {
        String job = loop.job().id();
        gauges.compute(name + " " + job, (key, before) -> {
            if (before != null) {
                meters.remove(before);
            }
            return Gauge.builder(name, loop, value).tag("job", job).register(meters);
        });
    }

    @Nullable
    Running running() {
        return running;
    }

    private void stop() {
        Running parts = running;
        if (parts == null) {
            ended.countDown();
            return;
        }
        Assembly assembly = parts.assembly();
        api.stop();
        page.stop();
        Upkeep upkeeping = upkeep;
        if (upkeeping != null) {
            upkeeping.stop();
        }
        if (draining.compareAndSet(false, true)) {
            drainingSince = assembly.time().bootMillis();
            Duration atMost = parts.node().longestStop(parts.file().drain()).plus(NOTIFYING_LIMIT);
            tellManager(supervising -> supervising.stopping(atMost));
            assembly.spawner().platformThread("drain", () -> drain(parts));
        } else if (assembly.time().bootMillis() - drainingSince > ECHO_MILLIS && forcing.compareAndSet(false, true)) {
            LOG.warn("second signal: stopping at once");
            exitCode = FORCED;
            assembly.spawner().platformThread("force", () -> force(parts));
        }
    }

    private void drain(Running parts) {
        LOG.infof(
                "stopping: no new ticks, running ones have %s",
                DurationText.format(parts.file().drain()));
        try {
            boolean byThemselves = parts.node().drain(parts.file().drain());
            if (!byThemselves) {
                exitCode = FORCED;
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            ended.countDown();
        }
    }

    private void force(Running parts) {
        try {
            parts.node().stopNow();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            ended.countDown();
        }
    }

    int awaitEnd() throws InterruptedException {
        ended.await();
        scheduler.pause(); // what it started from here on would meet a closed store, or no container any more
        Running parts = running;
        if (parts != null) {
            Heartbeat beating = heartbeat;
            if (beating != null && !parts.guarded().isBreakerOpen()) {
                parts.assembly()
                        .spawner()
                        .virtualThread("last-beat", beating::end)
                        .join(LAST_BEAT_LIMIT);
            }
            parts.notifications().close(forcing.get() ? FORCED_NOTIFYING_LIMIT : NOTIFYING_LIMIT);
            parts.store().close();
        }
        Supervision supervising = supervision;
        if (supervising != null) {
            supervising.end(LAST_WORDS_LIMIT);
        }
        LOG.info("stopped");
        return exitCode;
    }
}
