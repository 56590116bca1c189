package dev.fencepost.edge.cli;

import dev.fencepost.edge.config.JobsFile;
import dev.fencepost.edge.config.Reading;
import dev.fencepost.edge.host.SystemThreads;
import dev.fencepost.edge.host.SystemTime;
import dev.fencepost.edge.process.GuardInForce;
import dev.fencepost.edge.process.OsPrograms;
import dev.fencepost.edge.web.Tokens;
import dev.fencepost.effect.SinkDefinition;
import dev.fencepost.host.Printable;
import dev.fencepost.host.Programs;
import dev.fencepost.host.Spawner;
import dev.fencepost.run.Action;
import dev.fencepost.run.Job;
import dev.fencepost.run.Notifier;
import java.io.IOException;
import java.io.PrintWriter;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.file.FileStore;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Duration;
import java.time.zone.ZoneRulesProvider;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Looks for what is wrong, or will be, and says how to mend it. Changes nothing. */
@Command(
        description = {
            "Checks clocks, store, disk, rights, guard, port, systemd, jobs and nodes, and says how to mend what is wrong.",
            "Changes nothing and makes no store. Ask as the user of the service.",
            "Ends with 1 when anything is BAD or a warning; a note does not count."
        },
        footer = {"", "Examples:", "  sudo -u fencepost fencepost doctor", "  fencepost doctor --port 8788 --json"})
final class DoctorCommand implements Callable<Integer> {

    private static final Duration LIMIT = Duration.ofSeconds(10);
    private static final Duration PROGRAM_LIMIT = Duration.ofSeconds(5);
    private static final Duration PORT_LIMIT = Duration.ofSeconds(3);

    /** So much of the outputs is counted, and no more. */
    private static final int MOST_FILES = 200_000;

    private static final Duration ENOUGH_FILES = Duration.ofSeconds(5);

    private static final String STANDARD_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    private static final byte[] NOTHING = {};

    @Option(
            names = "--port",
            paramLabel = "PORT",
            description = "Port that the service has, or is to have. Else $FENCEPOST_PORT, else 8787.")
    private @Nullable Integer writtenPort;

    private int port;

    private final SharedOptions shared;

    DoctorCommand(SharedOptions shared) {
        this.shared = shared;
    }

    @Override
    public Integer call() {
        port = shared.port(writtenPort);
        Spawner spawner =
                new SystemThreads(new TerseJournal(shared.surroundings().err()));
        Checkup checkup = new Checkup(spawner, shared.json() ? verdict -> {} : this::print);
        examine(checkup, spawner, new OsPrograms(new SystemTime(), spawner));
        List<Verdict> verdicts = checkup.verdicts();
        boolean well = Verdict.allWell(verdicts);
        if (shared.json()) {
            Json.print(
                    shared.surroundings().out(),
                    Json.object(
                            "ok",
                            well,
                            "checks",
                            verdicts.stream().map(DoctorCommand::json).toList()));
        } else {
            shared.surroundings().out().println(summary(verdicts));
        }
        return well ? ExitCode.FINE : ExitCode.FAILED;
    }

    private void examine(Checkup checkup, Spawner spawner, Programs programs) {
        Found found = new Found();
        checkup.check(JobVerdicts.FILE, LIMIT, () -> jobsFile(found));
        JobsFile file = found.file;
        checkup.check(ClockVerdicts.BOOT_CLOCK, LIMIT, () -> List.of(bootClock()));
        checkup.check(ClockVerdicts.TIME_SYNC, LIMIT, () -> List.of(timeSync(programs)));
        checkup.check(ClockVerdicts.ZONE_DATA, LIMIT, () -> List.of(zoneData()));
        checkup.check(HostVerdicts.DISK, LIMIT, () -> disks(file));
        checkup.check(HostVerdicts.OUTPUTS, LIMIT, this::outputs);
        checkup.check(HostVerdicts.RIGHTS, LIMIT, () -> rights(file));
        // Each of up to four guards is tried for up to five seconds.
        checkup.check(HostVerdicts.GUARD, LIMIT.multipliedBy(3), () -> List.of(guard()));
        checkup.check(HostVerdicts.PORT, LIMIT, () -> List.of(port(spawner)));
        checkup.check(UnitVerdicts.UNIT, LIMIT, () -> unit(file, programs));
        if (file != null) {
            checkup.check(JobVerdicts.PROGRAMS, LIMIT, () -> programs(file));
            if (file.allSinks().stream().anyMatch(SinkDefinition.Git.class::isInstance)) {
                checkup.check(HostVerdicts.GIT, LIMIT, () -> List.of(git(programs)));
            }
            if (file.jobs().stream()
                    .flatMap(job -> job.notifiers().stream())
                    .map(Notifier::channel)
                    .anyMatch(Notifier.Channel.Mail.class::isInstance)) {
                checkup.check(HostVerdicts.SENDMAIL, LIMIT, () -> List.of(HostVerdicts.sendmail(sendmail())));
            }
        }
        if (found.refused && shared.writtenStore() == null) {
            checkup.check(
                    StoreVerdicts.STORE,
                    LIMIT,
                    () -> List.of(Verdict.note(
                            StoreVerdicts.STORE,
                            "not checked: the jobs file is refused, so it is not known which store it names",
                            "mend the file, or name the store with --store")));
        } else {
            new StoreCheckup(shared, file, checkup).run();
        }
    }

    /** What the first check has found, for the others. */
    private static final class Found {
        private volatile @Nullable JobsFile file;
        private volatile boolean refused;
    }

    private List<Verdict> jobsFile(Found found) {
        if (!shared.hasJobsFile()) {
            return List.of(JobVerdicts.noFile());
        }
        found.refused = true; // until it is read: so that nobody asks another store than the one it names
        Reading reading = shared.read();
        if (reading instanceof Reading.Accepted accepted) {
            found.file = accepted.file();
            found.refused = false;
        }
        return JobVerdicts.file(reading);
    }

    private static Verdict bootClock() {
        String mounts;
        try {
            mounts = Files.readString(Path.of("/proc/self/mountinfo"));
        } catch (IOException hidden) {
            mounts = "";
        }
        return ClockVerdicts.bootClock(new SystemTime().hasBootClock(), mounts);
    }

    private static Verdict timeSync(Programs programs) throws InterruptedException {
        try {
            Programs.Ended ended =
                    said(programs, STANDARD_PATH, "timedatectl", "show", "--property=NTPSynchronized", "--value");
            return ended.isFine()
                    ? ClockVerdicts.timeSync(ended.text(), "")
                    : ClockVerdicts.timeSync(null, "timedatectl says: " + firstLine(ended));
        } catch (IOException missing) {
            return ClockVerdicts.timeSync(null, "there is no timedatectl on this host");
        }
    }

    private Verdict zoneData() {
        return ClockVerdicts.zoneData(
                ZoneRulesProvider.getVersions("Europe/Berlin").lastKey(),
                shared.surroundings().wallClock().instant());
    }

    private List<Verdict> disks(@Nullable JobsFile file) throws IOException {
        List<Verdict> verdicts = new ArrayList<>();
        Path state = shared.stateDir();
        FileStore stateDisk = Files.getFileStore(existing(state));
        verdicts.add(
                HostVerdicts.disk("state directory " + state, stateDisk.getUsableSpace(), stateDisk.getTotalSpace()));
        Path store = shared.store(file).file();
        if (store != null) {
            FileStore storeDisk = Files.getFileStore(existing(store));
            if (!storeDisk.equals(stateDisk)) {
                verdicts.add(
                        HostVerdicts.disk("store " + store, storeDisk.getUsableSpace(), storeDisk.getTotalSpace()));
            }
        }
        return verdicts;
    }

    /** The file, or the nearest directory above it that is there. */
    private static Path existing(Path path) {
        Path at = path.toAbsolutePath().normalize();
        while (!Files.exists(at)) {
            at = Objects.requireNonNull(at.getParent(), "the root is always there");
        }
        return at;
    }

    private List<Verdict> outputs() throws IOException {
        Path runs = shared.stateDir().resolve("runs");
        if (!Files.isDirectory(runs)) {
            return List.of();
        }
        long end = System.nanoTime() + ENOUGH_FILES.toNanos();
        long[] filesAndBytes = new long[2];
        boolean[] brokenOff = new boolean[1];
        Files.walkFileTree(runs, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path path, BasicFileAttributes attributes) {
                filesAndBytes[0]++;
                filesAndBytes[1] += attributes.size();
                brokenOff[0] = filesAndBytes[0] >= MOST_FILES || System.nanoTime() > end;
                return brokenOff[0] ? FileVisitResult.TERMINATE : FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFileFailed(Path path, IOException gone) {
                return FileVisitResult.CONTINUE;
            }
        });
        return List.of(HostVerdicts.outputs(runs, filesAndBytes[0], filesAndBytes[1], !brokenOff[0]));
    }

    private List<Verdict> rights(@Nullable JobsFile file) throws IOException {
        List<Verdict> verdicts = new ArrayList<>();
        Path state = shared.stateDir();
        verdicts.add(
                Files.isDirectory(state)
                        ? HostVerdicts.stateDirectory(
                                state,
                                FileRights.mode(state),
                                FileRights.isOurs(state),
                                file != null && file.jobs().stream().anyMatch(DoctorCommand::runsAsAnother))
                        : HostVerdicts.noStateDirectory(state));
        Path store = shared.store(file).file();
        if (store != null && Files.isRegularFile(store)) {
            add(verdicts, HostVerdicts.storeFile(store, FileRights.isOpen(store), FileRights.isChangeable(store)));
        }
        if (file != null) {
            Path path = shared.surroundings().workingDir().resolve(file.path());
            add(verdicts, HostVerdicts.jobsFile(path, FileRights.isChangeable(path)));
            for (Map.Entry<Path, String> secret : SecretPlaces.of(file, path).entrySet()) {
                if (Files.isRegularFile(secret.getKey())) {
                    add(
                            verdicts,
                            HostVerdicts.secretFile(
                                    secret.getValue(), secret.getKey(), FileRights.isOpen(secret.getKey())));
                }
            }
            String badTokens =
                    file.api() == null ? null : Tokens.whyBad(file.api().tokenFile());
            if (badTokens != null) {
                verdicts.add(Verdict.bad(
                        HostVerdicts.RIGHTS, badTokens, "fencepost serve does not start with it; mend the file"));
            }
        }
        return verdicts;
    }

    private static void add(List<Verdict> verdicts, @Nullable Verdict verdict) {
        if (verdict != null) {
            verdicts.add(verdict);
        }
    }

    private Verdict guard() {
        try {
            return HostVerdicts.guard(GuardInForce.find(shared.surroundings().environment()));
        } catch (IllegalArgumentException e) {
            return Verdict.bad(
                    HostVerdicts.GUARD, String.valueOf(e.getMessage()), "unset FENCEPOST_GUARD, or correct it");
        }
    }

    private Verdict port(Spawner spawner) throws IOException {
        try (ServerSocket trial = new ServerSocket()) {
            trial.setReuseAddress(true);
            trial.bind(new InetSocketAddress(InetAddress.getByName("127.0.0.1"), port));
            return HostVerdicts.portFree(port);
        } catch (BindException e) {
            if (!String.valueOf(e.getMessage()).contains("in use")) {
                return HostVerdicts.portCannotBeUsed(port, String.valueOf(e.getMessage()));
            }
        }
        URI live = URI.create("http://127.0.0.1:" + port + "/q/health/live");
        return HostVerdicts.portInUse(port, new HealthProbe(spawner).ask(live, PORT_LIMIT));
    }

    private static List<Verdict> unit(@Nullable JobsFile file, Programs programs) throws InterruptedException {
        String own;
        try {
            own = UnitVerdicts.unitOf(Files.readString(Path.of("/proc/self/cgroup")));
        } catch (IOException hidden) {
            own = null;
        }
        String unit = own == null ? UnitVerdicts.DEFAULT_UNIT : own;
        try {
            Programs.Ended shown = said(
                    programs,
                    STANDARD_PATH,
                    "systemctl",
                    "show",
                    unit,
                    "--no-pager",
                    "--property=" + String.join(",", UnitVerdicts.PROPERTIES));
            if (!shown.isFine()) {
                return List.of(UnitVerdicts.skipped("systemctl says: " + firstLine(shown)));
            }
            return UnitVerdicts.judge(unit, UnitVerdicts.properties(shown.text()), needs(file));
        } catch (IOException missing) {
            return List.of(UnitVerdicts.skipped("there is no systemctl on this host"));
        }
    }

    private static UnitVerdicts.Needs needs(@Nullable JobsFile file) {
        List<Job> jobs = file == null ? List.of() : file.jobs();
        boolean jvm = System.getProperty("org.graalvm.nativeimage.imagecode") == null;
        return new UnitVerdicts.Needs(
                jobs.stream().anyMatch(DoctorCommand::runsAsAnother),
                jobs.stream()
                        .filter(job -> job.action() instanceof Action.Command command
                                && command.words().getFirst().matches("(.*/)?sudo"))
                        .map(Job::id)
                        .findFirst()
                        .orElse(null),
                jvm);
    }

    private static boolean runsAsAnother(Job job) {
        return job.action() instanceof Action.Command command && command.runAs() != null;
    }

    private List<Verdict> programs(JobsFile file) {
        List<Verdict> verdicts = new ArrayList<>();
        String here = shared.surroundings().environment().getOrDefault("PATH", STANDARD_PATH);
        for (Job job : file.jobs()) {
            if (job.action() instanceof Action.Command command
                    && command.words().getFirst().indexOf('/') < 0
                    && !command.env().containsKey("PATH")) {
                String name = command.words().getFirst();
                Path found = program(name, here);
                add(
                        verdicts,
                        JobVerdicts.program(
                                job.id(),
                                name,
                                found == null ? null : found.toString(),
                                program(name, STANDARD_PATH) != null));
            }
        }
        return verdicts;
    }

    private static @Nullable Path program(String name, String searchPath) {
        return Stream.of(searchPath.split(":", -1))
                .filter(place -> place.startsWith("/"))
                .map(place -> Path.of(place, name))
                .filter(path -> Files.isRegularFile(path) && Files.isExecutable(path))
                .findFirst()
                .orElse(null);
    }

    private Verdict git(Programs programs) throws InterruptedException {
        String path = shared.surroundings().environment().getOrDefault("PATH", STANDARD_PATH);
        try {
            Programs.Ended ended = said(programs, path, "git", "--version");
            return ended.isFine() ? HostVerdicts.git(ended.text(), "") : HostVerdicts.git(null, firstLine(ended));
        } catch (IOException missing) {
            return HostVerdicts.git(null, String.valueOf(missing.getMessage()));
        }
    }

    private @Nullable Path sendmail() {
        String path = shared.surroundings().environment().getOrDefault("PATH", STANDARD_PATH);
        return program("sendmail", "/usr/sbin:/usr/lib:" + path);
    }

    private static Programs.Ended said(Programs programs, String path, String... command)
            throws IOException, InterruptedException {
        return programs.run(
                Arrays.asList(command), Map.of("PATH", path, "LANG", "C.UTF-8"), null, NOTHING, PROGRAM_LIMIT);
    }

    private static String firstLine(Programs.Ended ended) {
        return ended.err().lines().findFirst().orElse(ended.toString());
    }

    private void print(Verdict verdict) {
        PrintWriter out = shared.surroundings().out();
        String word = verdict.state().word();
        out.println(word + " ".repeat(9 - word.length()) + Printable.text(verdict.name() + ": " + verdict.text()));
        if (!verdict.mend().isEmpty()) {
            verdict.mend().lines().forEach(line -> out.println("           " + Printable.text(line.strip())));
        }
        out.flush();
    }

    private static String summary(List<Verdict> verdicts) {
        long bad = count(verdicts, Verdict.State.BAD);
        long warnings = count(verdicts, Verdict.State.WARNING);
        return "\n"
                + (Verdict.allWell(verdicts)
                        ? "nothing is wrong"
                        : bad + " BAD, " + warnings + (warnings == 1 ? " warning" : " warnings"))
                + ", " + verdicts.size() + " findings in all";
    }

    private static long count(List<Verdict> verdicts, Verdict.State state) {
        return verdicts.stream().filter(verdict -> verdict.state() == state).count();
    }

    private static Map<String, @Nullable Object> json(Verdict verdict) {
        return Json.object(
                "name",
                verdict.name(),
                "state",
                verdict.state().name(),
                "text",
                verdict.text(),
                "mend",
                verdict.mend().isEmpty() ? null : verdict.mend());
    }
}
