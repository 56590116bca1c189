package dev.fencepost.edge.config;

import dev.fencepost.effect.SinkDefinition;
import dev.fencepost.run.Job;
import dev.fencepost.run.Publication;
import dev.fencepost.run.RetentionPolicy;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemLoopException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.nodes.MappingNode;
import org.snakeyaml.engine.v2.nodes.Node;

/**
 * Reads a jobs file strictly, and tells everything that is wrong with it at once.
 *
 * <p>Relative paths in the file ({@code working-dir}, {@code env-file}, {@code repo}, {@code store: sqlite:…}) start from the directory of the file.
 * Nothing in it is expanded; secrets may be named {@code credential:NAME}, see {@link FileNames}. Immutable; safe for many threads.
 */
public final class JobsFileReader {

    private static final int MOST_JOBS = 10_000;
    private static final Duration MOST_DRAIN = Duration.ofHours(24);
    private static final int MOST_PARALLEL = 1_000;
    private static final int MOST_TICKS = 1_000_000;
    private static final Duration LEAST_KEPT = Duration.ofHours(1);

    /** A worker whose completion had no answer looks for it as long as its lease lasts, at least. */
    private static final Duration LEAST_KEEP = Duration.ofHours(1);

    private final Map<String, String> environment;
    private final Path processDir;
    private final Instant now;

    /**
     * @param environment of the runner: its PATH finds the commands
     * @param processDir directory of the process, absolute: a relative name of the file starts from it
     * @param now begin of the coming year, whose gaps give the default of the lease's length
     */
    public JobsFileReader(Map<String, String> environment, Path processDir, Instant now) {
        this.environment = Map.copyOf(environment);
        this.processDir = processDir;
        this.now = now;
    }

    /** Reads the file. Never throws for what stands in it, or for a file that cannot be read. */
    public Reading read(Path file) {
        Findings findings = new Findings(file);
        JobsFile read = read(file, findings);
        if (read == null || findings.hasErrors()) {
            return new Reading.Refused(findings.errors(), findings.warnings());
        }
        return new Reading.Accepted(read);
    }

    /** What a file says of the store. */
    public sealed interface StoreOf {
        /** @param written null where it names none, so that the usual one is meant */
        record Known(@Nullable StoreUrl written) implements StoreOf {}

        /** It cannot be told, for these reasons. */
        record Unknown(List<Finding> errors) implements StoreOf {}
    }

    /** Reads the store alone: whatever else is wrong with the file does not matter. */
    public StoreOf storeOf(Path file) {
        Findings findings = new Findings(file);
        Path place = processDir.resolve(file).normalize();
        MappingNode root = root(place, findings);
        if (root == null) {
            return new StoreOf.Unknown(findings.errors());
        }
        Section top = Section.open(root, root, "", findings, Origin.Kind.JOB);
        Given<StoreUrl> store = store(top, baseDir(place));
        List<Finding> errors = findings.errors().stream()
                .filter(finding -> finding.path().equals("store"))
                .toList();
        return errors.isEmpty() ? new StoreOf.Known(store == null ? null : store.value()) : new StoreOf.Unknown(errors);
    }

    private static @Nullable MappingNode root(Path place, Findings findings) {
        byte[] bytes;
        try (InputStream in = Files.newInputStream(place)) {
            bytes = in.readNBytes(YamlText.MOST_BYTES + 1);
        } catch (IOException e) {
            findings.error(0, 0, whyUnreadable(place, e), "name the jobs file with --config FILE or $FENCEPOST_CONFIG");
            return null;
        }
        return new YamlText(findings).root(bytes);
    }

    private Path baseDir(Path place) {
        return place.getParent() == null ? processDir : place.getParent();
    }

    private static @Nullable Given<StoreUrl> store(Section top, Path baseDir) {
        return top.read("store", text -> StoreUrl.parse(text, baseDir));
    }

    private @Nullable JobsFile read(Path file, Findings findings) {
        Path place = processDir.resolve(file).normalize();
        MappingNode root = root(place, findings);
        if (root == null) {
            return null;
        }
        Path baseDir = baseDir(place);
        FileNames names = FileNames.at(baseDir, environment);
        Section top = Section.of(root, root, "", findings, Origin.Kind.JOB, Keys.TOP);
        Given<StoreUrl> store = store(top, baseDir);
        if (store != null) {
            checkStore(top, store.value(), place);
        }
        Given<Duration> drain = top.section("shutdown", Keys.SHUTDOWN, "shutdown: { drain: 30s }")
                .read("drain", text -> DurationText.parse(text, Duration.ZERO, MOST_DRAIN));
        Given<Optional<Duration>> keep =
                top.section("work", Keys.WORK, "work: { keep: 30d }").read("keep", JobsFileReader::keep);
        Defaults defaults = Defaults.read(defaults(top), names, environment, Defaults.builtIn(baseDir));
        Given<Integer> maxParallel = top.number("max-parallel", 1, MOST_PARALLEL);
        Given<Boolean> reloadOnChange = top.section("reload", Keys.RELOAD, "reload: { on-change: true }")
                .truth("on-change");
        Map<String, Definition> definitions = jobs(top, new JobReader(findings, names, environment, now, defaults));
        return new JobsFile(
                file,
                store == null ? null : store.value(),
                drain == null ? JobsFile.DEFAULT_DRAIN : drain.value(),
                keep == null ? JobsFile.DEFAULT_WORK_KEEP : keep.value().orElse(null),
                maxParallel == null ? null : maxParallel.value(),
                retention(top),
                reloadOnChange != null && reloadOnChange.value(),
                new ApiReader(names).read(top),
                new SinkReader(names).sinks(top),
                definitions,
                findings.warnings());
    }

    /** Empty for ever. */
    private static Optional<Duration> keep(String text) {
        return text.strip().equals("none")
                ? Optional.empty()
                : Optional.of(DurationText.parse(text, LEAST_KEEP, DurationText.LONGEST));
    }

    /** {@code keep} holds for ticks, events and effects, and bounds what holds for outputs, where these have no key of their own. */
    private static RetentionPolicy retention(Section top) {
        Section history = top.section("history", Keys.HISTORY, "history: { keep: 90d }");
        RetentionPolicy standard = RetentionPolicy.DEFAULT;
        Duration keep = kept(history, "keep", standard.ticks());
        Given<Integer> ticksOfJob = history.number("keep-ticks", 1, MOST_TICKS);
        return new RetentionPolicy(
                keep,
                ticksOfJob == null ? standard.ticksOfJob() : ticksOfJob.value(),
                kept(history, "keep-events", keep),
                kept(history, "keep-effects", keep),
                kept(history, "keep-outputs", keep.compareTo(standard.outputs()) < 0 ? keep : standard.outputs()));
    }

    private static Duration kept(Section history, String key, Duration otherwise) {
        Given<Duration> kept = history.read(key, text -> DurationText.parse(text, LEAST_KEPT, DurationText.LONGEST));
        return kept == null ? otherwise : kept.value();
    }

    private static Section defaults(Section top) {
        Node value = top.value("defaults");
        if (value instanceof MappingNode mapping) {
            return Section.of(
                    mapping, top.keyAt("defaults"), "defaults", top.findings(), Origin.Kind.DEFAULTS, Keys.DEFAULTS);
        }
        if (value != null) {
            top.error(
                    "defaults",
                    "this must be a mapping, not a " + Section.shape(value),
                    "write defaults: { timezone: Europe/Berlin }");
        }
        return Section.absent(top.node(), "defaults", top.findings(), Origin.Kind.DEFAULTS);
    }

    private static Map<String, Definition> jobs(Section top, JobReader reader) {
        Map<String, Definition> definitions = new LinkedHashMap<>();
        Node value = top.value("jobs");
        if (value == null) {
            top.error(
                    "jobs",
                    "there are no jobs",
                    "write jobs: and below it an id with a command; jobs: {} if none is meant");
            return definitions;
        }
        if (!(value instanceof MappingNode mapping)) {
            top.error(
                    "jobs",
                    "this must be a mapping from id to job, not a " + Section.shape(value),
                    "write the id as a key: jobs: { article: { every: 45m, command: [./write-article.sh] } }");
            return definitions;
        }
        Section jobs = Section.open(mapping, top.keyAt("jobs"), "jobs", top.findings(), Origin.Kind.JOB);
        if (jobs.keys().size() > MOST_JOBS) {
            top.error("jobs", "there are " + jobs.keys().size() + " jobs, the limit is " + MOST_JOBS, "");
            return definitions;
        }
        if (mapping.getValue().isEmpty()) {
            top.warning("jobs", "there are no jobs", "nothing will run on a schedule");
        }
        for (String id : jobs.keys()) {
            Definition definition = reader.read(id, jobs);
            if (definition != null) {
                checkFenceRef(jobs, definition, definitions.values());
                definitions.put(id, definition);
            }
        }
        return definitions;
    }

    /** A token ref holds the tokens of one job: two in one ref would refuse each other. */
    private static void checkFenceRef(Section jobs, Definition added, Collection<Definition> before) {
        SinkDefinition.Git git = git(added.job());
        if (git == null || git.fenceRef() == null) {
            return;
        }
        for (Definition other : before) {
            SinkDefinition.Git its = git(other.job());
            if (its != null
                    && git.fenceRef().equals(its.fenceRef())
                    && git.remote().equals(its.remote())
                    && Objects.equals(git.repo(), its.repo())) {
                jobs.error(
                        added.job().id(),
                        "its fence-ref " + Finding.quote(git.fenceRef()) + " is that of the job "
                                + other.job().id() + " too",
                        "give each job a fence-ref of its own, or leave it out");
            }
        }
    }

    private static SinkDefinition.@Nullable Git git(Job job) {
        for (Publication publication : job.publish()) {
            if (publication.sink() instanceof SinkDefinition.Git git) {
                return git;
            }
        }
        return null;
    }

    private static void checkStore(Section top, StoreUrl store, Path place) {
        if (store.file() != null && Files.isDirectory(store.file())) {
            top.error("store", Finding.quote(store.file().toString()) + " is a directory", "name a file in it");
        }
        if (store.password() == null) {
            return;
        }
        try {
            if (Files.getPosixFilePermissions(place).contains(PosixFilePermission.OTHERS_READ)) {
                top.warning(
                        "store",
                        "everyone on this host can read the password in this file",
                        "chmod o-rwx the file, or put the password into $PGPASSFILE");
            }
        } catch (IOException | UnsupportedOperationException e) {
            // A file system without such rights has none to check.
        }
    }

    /** Why this file cannot be read, for a person. */
    static String whyUnreadable(Path file, IOException e) {
        String shown = Finding.quote(file.toString());
        if (Files.isDirectory(file)) {
            return shown + " is a directory, not a file";
        }
        return switch (e) {
            case NoSuchFileException missing -> "the file " + shown + " does not exist";
            case AccessDeniedException denied -> "there is no right to read the file " + shown;
            case FileSystemLoopException loop -> "the links of " + shown + " lead in a circle";
            default -> "the file " + shown + " cannot be read: " + Finding.quotable(String.valueOf(e.getMessage()));
        };
    }
}
