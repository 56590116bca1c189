package dev.fencepost.edge.sink;

import dev.fencepost.effect.Announcement;
import dev.fencepost.effect.Content;
import dev.fencepost.effect.SinkDefinition;
import dev.fencepost.host.Event;
import dev.fencepost.host.Journal;
import dev.fencepost.host.Programs;
import dev.fencepost.run.Action;
import dev.fencepost.run.Job;
import dev.fencepost.run.Publication;
import dev.fencepost.run.Publications;
import dev.fencepost.run.Secrets;
import dev.fencepost.run.Workspace.RunFiles;
import dev.fencepost.schedule.Slot;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Makes announcements of what runs leave: of the job's {@code publish} entries first, then of the lines in {@code $FENCEPOST_EFFECTS}.
 * Either all of them can be announced or none is.
 */
public final class Publisher implements Publications {

    private static final Pattern PLACEHOLDER = Pattern.compile("\\{(job|slot|attempt|fence)}");
    private static final Pattern MADE_KEY =
            Pattern.compile("([a-z0-9][a-z0-9._-]*)@([0-9]{4}-[0-9]{2}-[0-9]{2}T|manual:)");
    private static final Pattern MEDIA_TYPE = Pattern.compile("[A-Za-z0-9.+_-]+/[A-Za-z0-9.+*_-]+( *;[\\x20-\\x7e]*)?");

    /** The contents of all effects of one run: they are in memory together. */
    private static final long MAX_TOTAL_BYTES = 32L << 20;

    private volatile Map<String, SinkDefinition> named = Map.of();
    private final Semaphore turn = new Semaphore(1, true);
    private final Set<RunFiles> inMemory = ConcurrentHashMap.newKeySet();
    private final GitWork work;
    private final Journal journal;

    /** @param sinks all that the jobs file names; those of jobs, with a slash in their name, are not for lines */
    public Publisher(
            Collection<SinkDefinition> sinks, GitRepositories repositories, Programs programs, Journal journal) {
        this.work = new GitWork(repositories, programs);
        this.journal = journal;
        use(sinks);
    }

    /** From now on these are the sinks that lines may name, whoever runs already included. */
    public void use(Collection<SinkDefinition> sinks) {
        Map<String, SinkDefinition> byName = new TreeMap<>();
        for (SinkDefinition sink : sinks) {
            if (sink.name().indexOf('/') < 0) {
                byName.put(sink.name(), sink);
            }
        }
        named = byName;
    }

    private static SinkDefinition.@Nullable Git git(Job job) {
        for (Publication publication : job.publish()) {
            if (publication.sink() instanceof SinkDefinition.Git git) {
                return git;
            }
        }
        return null;
    }

    @Override
    public Place open(Job job, Slot slot, RunFiles files) throws IOException, InterruptedException {
        SinkDefinition.Git git = git(job);
        Map<String, String> environment =
                new HashMap<>(Map.of("FENCEPOST_EFFECTS", files.effects().toString()));
        if (git == null) {
            return new Place(null, null, environment, null);
        }
        Path worktree = files.output().toAbsolutePath().resolveSibling(GitWork.FOLDER);
        Action.Command command = job.action() instanceof Action.Command one ? one : null;
        Place place;
        boolean made = false;
        try {
            place = work.open(git, worktree, command != null && command.runAs() != null);
            made = true;
        } catch (IOException e) {
            throw new IOException("the worktree for " + git.name() + " cannot be made: " + e.getMessage(), e);
        } finally {
            if (!made) {
                delete(job, worktree);
            }
        }
        Path workingDir = command == null ? null : workingDir(command.workingDir(), git.repo(), worktree);
        environment.putAll(place.environment());
        return new Place(worktree, workingDir, environment, place.base());
    }

    /** The worktree's top for a command that has no directory of its own, the same place in it for one inside of the repository. */
    private static @Nullable Path workingDir(@Nullable Path own, @Nullable Path repo, Path worktree)
            throws IOException {
        if (own == null) {
            return worktree;
        }
        if (repo == null) {
            return null;
        }
        if (own.startsWith(repo)) {
            return worktree.resolve(repo.relativize(own));
        }
        try {
            Path realOwn = own.toRealPath();
            Path realRepo = repo.toRealPath();
            return realOwn.startsWith(realRepo) ? worktree.resolve(realRepo.relativize(realOwn)) : null;
        } catch (IOException missing) {
            return null; // whoever starts the command says so
        }
    }

    @Override
    public Announced collect(
            Job job, Slot slot, int attempt, long fence, RunFiles files, Place place, byte @Nullable [] result)
            throws Unpublishable, InterruptedException {
        Secrets secrets = new Secrets(job.secrets());
        Gathering all = new Gathering(job, slot, attempt, fence, files, place, result, secrets);
        awaitTurn(job, files);
        boolean gathered = false;
        try {
            for (Publication publication : job.publish()) {
                all.add(publication);
            }
            for (EffectLines.Line line : EffectLines.read(files.effects())) {
                all.add(line);
            }
            gathered = true;
            return new Announced(all.effects, all.nothingToPublish);
        } catch (Unpublishable e) {
            throw new Unpublishable(secrets.masked(String.valueOf(e.getMessage())), e.getCause());
        } finally {
            if (!gathered && inMemory.remove(files)) {
                turn.release();
            }
        }
    }

    /** Whoever is before us holds its turn until its end is stored, at the longest for a ttl. */
    private void awaitTurn(Job job, RunFiles files) throws Unpublishable, InterruptedException {
        if (job.publish().isEmpty() && EffectLines.isEmpty(files.effects())) {
            return;
        }
        if (!turn.tryAcquire(job.ttl().toMillis(), TimeUnit.MILLISECONDS)) {
            throw new Unpublishable(
                    "other runs of this node hold the memory for effects for longer than " + job.ttl()
                            + ": their ends are not stored; is the store away?",
                    null);
        }
        inMemory.add(files);
    }

    @Override
    public List<String> keys(Job job, Slot slot, RunFiles files) {
        List<String> keys = new ArrayList<>();
        String slotKey = slot.idempotencyKey(job.id());
        for (Publication publication : job.publish()) {
            keys.add(Announcement.keyOf(slotKey, publication.name()));
        }
        Secrets secrets = new Secrets(job.secrets());
        for (EffectLines.Line line : EffectLines.readable(files.effects())) {
            String key = line.key() == null ? Announcement.keyOf(slotKey, line.name()) : line.key();
            if (!secrets.isIn(key)) {
                keys.add(key);
            }
        }
        return keys.stream().distinct().toList();
    }

    @Override
    public void close(Job job, RunFiles files, Place place, boolean keep) {
        if (inMemory.remove(files)) {
            turn.release();
        }
        if (place.worktree() != null && !keep) {
            delete(job, place.worktree());
        }
    }

    /** What is left is deleted before a later run of the job. */
    private void delete(Job job, Path worktree) {
        boolean interrupted = Thread.interrupted();
        try {
            work.delete(worktree);
        } catch (IOException e) {
            journal.record(new Event.Note(job.id(), String.valueOf(e.getMessage())));
        } catch (InterruptedException again) {
            interrupted = true;
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** The announcements of one run while they are gathered. */
    private final class Gathering {
        private final Job job;
        private final Slot slot;
        private final int attempt;
        private final long fence;
        private final RunFiles files;
        private final Place place;
        private final byte @Nullable [] result;
        private final Secrets secrets;
        private final List<Announcement> effects = new ArrayList<>();
        private final Map<String, Announcement> byName = new HashMap<>();
        private final Map<String, Announcement> byKey = new HashMap<>();
        private boolean nothingToPublish;
        private long totalBytes;

        Gathering(
                Job job,
                Slot slot,
                int attempt,
                long fence,
                RunFiles files,
                Place place,
                byte @Nullable [] result,
                Secrets secrets) {
            this.job = job;
            this.slot = slot;
            this.attempt = attempt;
            this.fence = fence;
            this.files = files;
            this.place = place;
            this.result = result;
            this.secrets = secrets;
        }

        private String keyOf(String name) {
            return Announcement.keyOf(slot.idempotencyKey(job.id()), name);
        }

        private String filled(String text, String slotText) {
            Matcher placeholder = PLACEHOLDER.matcher(text);
            return placeholder.replaceAll(found -> Matcher.quoteReplacement(
                    switch (found.group(1)) {
                        case "job" -> job.id();
                        case "slot" -> slotText;
                        case "attempt" -> Integer.toString(attempt);
                        default -> Long.toString(fence);
                    }));
        }

        void add(Publication publication) throws Unpublishable, InterruptedException {
            String name = publication.name();
            switch (publication.sink()) {
                case SinkDefinition.Git git -> {
                    Announcement commit = work.collect(
                            git, name, keyOf(name), place, slot.at(), filled(git.message(), slot.key()), secrets);
                    if (commit == null) {
                        nothingToPublish = true;
                    } else {
                        add(commit, "publish " + name);
                    }
                }
                case SinkDefinition.Http http -> add(name, http, new Content(null, null, body(publication)));
                case SinkDefinition.Files place -> {
                    String path = filled(
                            String.valueOf(publication.path()),
                            slot.key().replace(":", "").replace('/', '-'));
                    String wrong = publication.path() == null ? "path is missing" : wrongPath(path);
                    if (wrong != null) {
                        throw new Unpublishable("publish " + name + ": " + wrong, null);
                    }
                    add(name, place, new Content(null, path, body(publication)));
                }
            }
        }

        private byte[] body(Publication publication) throws Unpublishable {
            if (publication.body() != null) {
                return secrets.masked(filled(publication.body(), slot.key())).getBytes(StandardCharsets.UTF_8);
            }
            if (result == null) {
                throw new Unpublishable(
                        "publish " + publication.name() + ": there is nothing to send, since the run left no result;"
                                + " have it write to $FENCEPOST_RESULT, or give body",
                        null);
            }
            return secrets.masked(result);
        }

        private void add(String name, SinkDefinition sink, Content content) throws Unpublishable {
            add(announcement(name, keyOf(name), sink, content), "publish " + name);
        }

        private static Announcement announcement(String name, String key, SinkDefinition sink, Content content) {
            return new Announcement(name, key, sink.name(), content, content.digest(sink.name()), sink.maxAge());
        }

        private void add(Announcement effect, String who) throws Unpublishable {
            Announcement named = byName.putIfAbsent(effect.name(), effect);
            Announcement keyed = byKey.putIfAbsent(effect.key(), effect);
            for (Announcement other : Arrays.asList(named, keyed)) {
                if (other != null
                        && !(other.digest().equals(effect.digest())
                                && other.key().equals(effect.key()))) {
                    throw new Unpublishable(
                            who + ": the " + (other == named ? "name " + effect.name() : "key " + effect.key())
                                    + " is announced twice with different content; give each effect a name of its own",
                            null);
                }
            }
            if (keyed != null) {
                return; // the same once more
            }
            totalBytes += effect.content().bytes().length;
            if (totalBytes > MAX_TOTAL_BYTES) {
                throw new Unpublishable(
                        who + ": the effects of this run have more than " + (MAX_TOTAL_BYTES >> 20)
                                + " MiB together; announce less",
                        null);
            }
            effects.add(effect);
        }

        void add(EffectLines.Line line) throws Unpublishable {
            SinkDefinition sink = named.get(line.sink());
            if (sink == null) {
                throw line.wrong("there is no sink " + line.sink() + " under sinks; "
                        + (named.isEmpty()
                                ? "there is none at all"
                                : "known are " + String.join(", ", named.keySet())));
            }
            for (String text : Arrays.asList(line.name(), line.key(), line.path(), line.contentType())) {
                if (text != null && secrets.isIn(text)) {
                    throw line.wrong("name, key, path or content_type holds a secret of the job; leave it out");
                }
            }
            String key = line.key() == null ? keyOf(line.name()) : line.key();
            Matcher made = MADE_KEY.matcher(key);
            if (made.lookingAt() && !made.group(1).equals(job.id())) {
                throw line.wrong("the key " + key + " is one that is made for effects of the job " + made.group(1)
                        + ", which could not announce it any more; choose another");
            }
            if (key.length() > Announcement.MAX_KEY_LENGTH) {
                throw line.wrong("the key " + key + " is too long; choose a shorter name");
            }
            if (line.body() != null && line.bodyFile() != null) {
                throw line.wrong("body and body_file at once; give one of them");
            }
            Content content = switch (sink) {
                case SinkDefinition.Git git ->
                    throw line.wrong(
                            "sink " + git.name() + " is a git repository, which only publish of the job can use");
                case SinkDefinition.Http http -> httpContent(line);
                case SinkDefinition.Files root -> fileContent(line);
            };
            add(announcement(line.name(), key, sink, content), "line " + line.number() + " of $FENCEPOST_EFFECTS");
        }

        private Content httpContent(EffectLines.Line line) throws Unpublishable {
            if (line.path() != null) {
                throw line.wrong("path is for a sink that is a folder; leave it out");
            }
            if (line.contentType() != null
                    && !MEDIA_TYPE.matcher(line.contentType()).matches()) {
                throw line.wrong("content_type is no media type; write one such as application/json");
            }
            if (line.body() == null && line.bodyFile() == null) {
                throw line.wrong("neither body nor body_file; give one of them");
            }
            return new Content(line.contentType(), null, bytes(line, ""));
        }

        private Content fileContent(EffectLines.Line line) throws Unpublishable {
            String path = line.path();
            if (path == null) {
                throw line.wrong("path is missing; write where in the sink's folder the file goes");
            }
            if (line.contentType() != null) {
                throw line.wrong("content_type is for a sink by HTTP; leave it out");
            }
            String wrong = wrongPath(path);
            if (wrong != null) {
                throw line.wrong(wrong);
            }
            return new Content(null, path, bytes(line, path));
        }

        private byte[] bytes(EffectLines.Line line, String path) throws Unpublishable {
            if (line.body() != null) {
                return secrets.masked(line.body()).getBytes(StandardCharsets.UTF_8);
            }
            boolean byPath = line.bodyFile() == null;
            String file = line.bodyFile() == null ? path : line.bodyFile();
            try {
                byte[] content = RunFile.read(
                        file, Arrays.asList(files.output(), byPath ? null : place.worktree()), Content.MAX_BYTES);
                byte[] masked = secrets.masked(content);
                if (masked.length > Content.MAX_BYTES) {
                    throw new IOException("is too big");
                }
                return masked;
            } catch (IOException e) {
                throw line.wrong(
                        (byPath ? "the file " + file + " of path in $FENCEPOST_OUTPUT_DIR" : "body_file " + file) + " "
                                + e.getMessage());
            }
        }

        private static @Nullable String wrongPath(String path) {
            List<String> parts = List.of(path.split("/", -1));
            boolean leadsOut = path.startsWith("/") || parts.contains("..");
            return leadsOut || parts.contains("") || parts.contains(".") || path.indexOf('\0') >= 0
                    ? "path " + path + (leadsOut ? " leads out of the sink's folder" : " has empty parts")
                            + "; write it as folder/file"
                    : null;
        }
    }
}
