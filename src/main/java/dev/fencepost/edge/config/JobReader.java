package dev.fencepost.edge.config;

import dev.fencepost.effect.SinkDefinition;
import dev.fencepost.run.Action;
import dev.fencepost.run.Job;
import dev.fencepost.run.Policies;
import dev.fencepost.run.Publication;
import dev.fencepost.schedule.CatchUp;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.nodes.MappingNode;
import org.snakeyaml.engine.v2.nodes.Node;
import org.snakeyaml.engine.v2.nodes.SequenceNode;

/** Reads one entry of {@code jobs} into a job with all defaults filled in, and keeps where each value came from. */
final class JobReader {

    /** Shorter values are no secrets worth the name, and masking them would black out half of the output. */
    static final int SHORTEST_MASKED = 4;

    private static final String WORKTREE = "the run's own worktree";

    private static final Duration LEAST_FRESH_AFTER = Duration.ofSeconds(1);
    private static final Pattern PLAIN_WORD = Pattern.compile("[A-Za-z0-9_./:=@%+,-]+");

    private final Findings findings;
    private final FileNames names;
    private final Map<String, String> environment;
    private final Instant now;
    private final Defaults defaults;

    JobReader(Findings findings, FileNames names, Map<String, String> environment, Instant now, Defaults defaults) {
        this.findings = findings;
        this.names = names;
        this.environment = environment;
        this.now = now;
        this.defaults = defaults;
    }

    /** The job, or null after an error. */
    @Nullable
    Definition read(String id, Section jobs) {
        Node idNode = jobs.keyAt(id);
        checkId(id, idNode, jobs.path());
        Node value = jobs.value(id);
        if (value != null && !(value instanceof MappingNode)) {
            jobs.error(
                    id,
                    "a job must be a mapping, not a " + Section.shape(value),
                    "write command: and every: or cron: below the id");
            return null;
        }
        String path = jobs.pathOf(id);
        Section job = value instanceof MappingNode mapping
                ? Section.of(mapping, idNode, path, findings, Origin.Kind.JOB, Keys.JOB)
                : Section.absent(idNode, path, findings, Origin.Kind.JOB);

        Defaults own = Defaults.read(job, names, environment, defaults);
        Timing timing = own.zone() == null ? null : Timing.read(job, own.zone().value(), now);
        EnvironmentReader environmentReader = new EnvironmentReader(job);
        Map<String, Given<String>> secrets = environmentReader.secrets(names);
        Map<String, Given<String>> env = new LinkedHashMap<>(defaults.env());
        env.putAll(secrets);
        env.putAll(own.env());
        Given<Instant> startFrom = job.read("start-from", InstantText::parse);
        Given<Duration> freshAfter =
                job.read("fresh-after", text -> DurationText.parse(text, LEAST_FRESH_AFTER, DurationText.LONGEST));
        Duration timeout = own.timeout() == null || own.timeout().value().equals(Defaults.NO_TIMEOUT)
                ? null
                : own.timeout().value();
        Set<String> masked = new TreeSet<>();
        secrets.values().stream()
                .map(Given::value)
                .filter(v -> v.length() >= SHORTEST_MASKED)
                .forEach(masked::add);
        boolean isCall = job.has("http");
        if (isCall && job.has("command")) {
            job.error("http", "the job has both command and http", "keep one of the two");
        }
        Values ofPublish = new Values();
        List<Publication> publish = new PublishReader(names, ofPublish).read(job, id, !isCall);
        Values ofAction = new Values();
        Action action = isCall
                ? new CallReader(job, names, ofAction).read(timeout)
                : command(job, workingDir(own, publish), env, secrets, masked, ofAction);
        if (timing == null
                || action == null
                || !Job.ID.matcher(id).matches()
                || own.grace() == null
                || own.catchUpMax() == null
                || own.maxAttempts() == null
                || own.zone() == null
                || own.timeout() == null) {
            return null;
        }
        warnOfSkips(job, timing, timeout);
        Given<Duration> ttl = own.ttl() != null ? own.ttl() : timing.defaultTtl();
        Given<Duration> fresh = freshAfter != null ? freshAfter : timing.defaultFreshAfter(timeout);
        Given<Integer> maxAttempts = own.policies().attempts(job, own.maxAttempts());
        boolean hasGit = publish.stream().anyMatch(each -> each.sink() instanceof SinkDefinition.Git);
        Values ofPolicies = new Values();
        Policies policies = own.policies().of(job, timing, timeout, isCall, hasGit, ofPolicies);

        Job result = new Job(
                id,
                timing.schedule(),
                own.zone().value(),
                action,
                masked,
                ttl.value(),
                timeout,
                own.grace().value(),
                new CatchUp(
                        own.catchUpMax().value(),
                        own.catchUpWindow() == null ? null : own.catchUpWindow().value()),
                startFrom == null ? null : startFrom.value(),
                maxAttempts.value(),
                fresh == null ? null : fresh.value(),
                publish,
                policies,
                own.notification().notifiers());

        Values values = new Values();
        timing.values().forEach(each -> values.add(each.key(), each.text(), each.origin()));
        values.add("timezone", own.zone(), Object::toString);
        values.addAll(ofAction);
        values.add("timeout", own.timeout(), t -> t.isZero() ? "none" : DurationText.format(t));
        values.add("grace", own.grace(), DurationText::format);
        values.add("lease.ttl", ttl, DurationText::format);
        values.add("overlap", own.policies().overlap(), WrittenPolicies::word);
        values.add("catch-up.max", own.catchUpMax(), Object::toString);
        values.add("catch-up.window", own.catchUpWindow(), DurationText::format, "no bound");
        values.add("catch-up.stagger", own.policies().stagger(), DurationText::format);
        values.add("start-from", startFrom, Instant::toString, "from the first time the job is seen");
        values.add("max-attempts", maxAttempts, Object::toString);
        values.addAll(ofPolicies);
        values.add("fresh-after", fresh, DurationText::format, "no two slots in the coming year");
        values.addAll(ofPublish);
        own.notification().addTo(values);
        return new Definition(result, Findings.line(idNode), values.all());
    }

    /**
     * A command whose work is published with git begins in its own worktree, unless the file says where, or lies in the repository itself:
     * elsewhere nothing that it writes would be published.
     */
    private @Nullable Given<Path> workingDir(Defaults own, List<Publication> publish) {
        Given<Path> given = own.workingDir();
        SinkDefinition.Git git = publish.stream()
                .map(Publication::sink)
                .filter(SinkDefinition.Git.class::isInstance)
                .map(SinkDefinition.Git.class::cast)
                .findFirst()
                .orElse(null);
        if (git == null || given == null || given.origin().kind() != Origin.Kind.BUILT_IN) {
            return given;
        }
        Path repo = git.repo();
        if (repo == null) {
            return null;
        }
        return names.dir().startsWith(repo) ? given : Given.builtIn(repo, WORKTREE);
    }

    private Action.@Nullable Command command(
            Section job,
            @Nullable Given<Path> workingDir,
            Map<String, Given<String>> env,
            Map<String, Given<String>> secrets,
            Set<String> masked,
            Values values) {
        Map<String, String> plainEnv = plain(env);
        Path directory = workingDir == null ? null : workingDir.value();
        List<String> command = new CommandReader(job, environment).read(directory, plainEnv, plain(secrets));
        Given<String> stdin = job.read("stdin", text -> text);
        Given<String> runAs = job.read("run-as", HostUser::parse);
        if (command == null) {
            return null;
        }
        values.add("command", commandText(command, job, masked), job.origin("command"));
        values.add("working-dir", workingDir, Path::toString, WORKTREE);
        env.forEach((name, variable) -> values.add(
                "env." + name,
                variable.equals(secrets.get(name)) || EnvironmentReader.looksSecret(name)
                        ? Values.MASK
                        : Values.shown(variable.value()),
                variable.origin()));
        values.add("env-file", job.read("env-file", text -> text), Values::shown, "no secrets");
        values.add("stdin", stdin, Values::shown, "empty input, so that nothing waits for a terminal");
        values.add("run-as", runAs, user -> user, "the runner's own user");
        return new Action.Command(
                command,
                directory,
                plainEnv,
                stdin == null ? null : stdin.value(),
                runAs == null ? null : runAs.value());
    }

    private void checkId(String id, Node at, String jobsPath) {
        if (Job.ID.matcher(id).matches()) {
            return;
        }
        int length = id.codePointCount(0, id.length());
        String rule = "an id has 1 to 63 characters of a-z, 0-9, dot, dash and _, and begins with a letter or digit";
        findings.error(
                at,
                jobsPath,
                length > 63
                        ? "the job id " + Finding.quote(id) + " has " + length + " characters, the limit is 63"
                        : "the job id " + Finding.quote(id) + " is not allowed",
                rule);
    }

    private static void warnOfSkips(Section job, Timing timing, @Nullable Duration timeout) {
        Duration gap = timing.shortestGap();
        if (gap != null && timeout != null && timeout.compareTo(gap) > 0) {
            job.warning(
                    job.has("timeout") ? "timeout" : job.has("cron") ? "cron" : "every",
                    "a run may take " + DurationText.format(timeout) + ", but slots lie only "
                            + DurationText.format(gap) + " apart",
                    "slots that come due during a run are skipped; a timeout below the gap avoids that");
        }
    }

    private static Map<String, String> plain(Map<String, Given<String>> given) {
        Map<String, String> plain = new LinkedHashMap<>();
        given.forEach((name, value) -> plain.put(name, value.value()));
        return plain;
    }

    private static String commandText(List<String> command, Section job, Set<String> masked) {
        boolean shellLine = !(job.value("command") instanceof SequenceNode);
        String text = shellLine
                ? Values.shown("sh -c " + word(command.getLast()))
                : command.stream().map(JobReader::word).collect(Collectors.joining(" "));
        for (String secret : masked) {
            text = text.replace(secret, Values.MASK);
        }
        return Values.shown(text);
    }

    private static String word(String word) {
        return PLAIN_WORD.matcher(word).matches() ? word : "'" + word.replace("'", "'\\''") + "'";
    }
}
