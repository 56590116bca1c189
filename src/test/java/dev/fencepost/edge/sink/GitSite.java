package dev.fencepost.edge.sink;

import dev.fencepost.edge.host.SystemThreads;
import dev.fencepost.edge.host.SystemTime;
import dev.fencepost.edge.process.OsPrograms;
import dev.fencepost.edge.process.RunFolders;
import dev.fencepost.effect.Announcement;
import dev.fencepost.effect.Effect;
import dev.fencepost.effect.EffectState;
import dev.fencepost.effect.Pair;
import dev.fencepost.effect.SinkDefinition;
import dev.fencepost.host.Event;
import dev.fencepost.host.Programs;
import dev.fencepost.host.Programs.Ended;
import dev.fencepost.lease.FencingToken;
import dev.fencepost.lease.RunId;
import dev.fencepost.run.Action;
import dev.fencepost.run.Job;
import dev.fencepost.run.Publication;
import dev.fencepost.run.Publications.Announced;
import dev.fencepost.run.Publications.Place;
import dev.fencepost.run.Workspace.RunFiles;
import dev.fencepost.schedule.CatchUp;
import dev.fencepost.schedule.Every;
import dev.fencepost.schedule.Slot;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/** A bare repository as the remote, and nodes with state directories of their own that publish to it. All is real but the network. */
final class GitSite {

    static final Slot SLOT = Slot.at(Instant.parse("2026-03-29T01:00:00Z"));
    static final Instant ANNOUNCED = Instant.parse("2026-03-29T01:05:07Z");
    static final String TOKEN_REF = "refs/fencepost/article";

    final Path root;
    final Path remote;
    final SystemTime time = new SystemTime();
    final List<Event> journal = new CopyOnWriteArrayList<>();
    final OsPrograms programs = new OsPrograms(time, new SystemThreads(journal::add));
    final Map<String, String> environment = new HashMap<>();

    GitSite(Path root) throws Exception {
        this.root = root.toRealPath();
        this.remote = this.root.resolve("remote.git");
        Files.createDirectories(this.root.resolve("home"));
        environment.put("PATH", "/usr/bin:/bin");
        environment.put("HOME", this.root.resolve("home").toString());
        git(this.root, "init", "--quiet", "--bare", "--initial-branch=main", remote.toString());
    }

    /** Adds these files to main as a person does, and gives the commit. */
    String push(Map<String, String> files) throws Exception {
        Path person = root.resolve("person");
        if (!Files.exists(person)) {
            git(root, "clone", "--quiet", remote.toString(), person.toString());
            git(person, "checkout", "--quiet", "-B", "main");
        } else {
            git(person, "fetch", "--quiet", "origin");
            git(person, "reset", "--quiet", "--hard", "origin/main");
        }
        for (Map.Entry<String, String> file : files.entrySet()) {
            Path path = person.resolve(file.getKey());
            Files.createDirectories(path.resolveSibling("."));
            Files.writeString(path, file.getValue());
        }
        git(person, "add", "--all");
        git(person, "commit", "--quiet", "-m", "by hand");
        git(person, "push", "--quiet", "origin", "main");
        return git(person, "rev-parse", "HEAD");
    }

    /** Runs git as a person does; gives what it wrote. */
    String git(Path directory, String... words) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(
                "git",
                "-c",
                "user.name=Person",
                "-c",
                "user.email=person@example",
                "-c",
                "protocol.file.allow=always"));
        command.addAll(List.of(words));
        Ended ended = programs.run(command, environment, directory, new byte[0], Duration.ofSeconds(60));
        if (!ended.isFine()) {
            throw new AssertionError("git " + List.of(words) + ": " + ended.err());
        }
        return ended.text().strip();
    }

    /** The commit of the remote's ref, or an empty text. */
    String head(String ref) throws IOException, InterruptedException {
        return git(remote, "for-each-ref", "--format=%(objectname)", ref);
    }

    String file(String ref, String path) throws IOException, InterruptedException {
        return git(remote, "show", ref + ":" + path);
    }

    String files(String ref) throws IOException, InterruptedException {
        return git(remote, "ls-tree", "-r", "--name-only", ref);
    }

    void hook(String name, String script) throws IOException {
        Path hook = remote.resolve("hooks").resolve(name);
        Files.createDirectories(remote.resolve("hooks"));
        Files.writeString(hook, "#!/bin/sh\n" + script + "\n");
        hook.toFile().setExecutable(true);
    }

    SinkDefinition.Git definition(String... paths) {
        return definition(remote.toString(), null, null, Duration.ofSeconds(30), paths);
    }

    static SinkDefinition.Git definition(
            String address, @Nullable Path repo, @Nullable String fenceRef, Duration limit, String... paths) {
        return new SinkDefinition.Git(
                "article/git",
                Duration.ofHours(24),
                repo,
                address,
                "main",
                List.of(paths),
                "article {slot}\n\nby {job}, try {attempt}, token {fence}",
                "Agent <agent@example>",
                fenceRef,
                limit,
                null,
                null,
                null);
    }

    static Job job(SinkDefinition.Git git, String... secrets) {
        return job(List.of(new Publication("git", git, null, null)), null, null, secrets);
    }

    static Job job(List<Publication> publish, @Nullable Path workingDir, @Nullable String runAs, String... secrets) {
        return new Job(
                "article",
                new Every(Duration.ofHours(1)),
                ZoneOffset.UTC,
                new Action.Command(List.of("true"), workingDir, Map.of(), null, runAs),
                Set.of(secrets),
                Duration.ofMinutes(1),
                null,
                Duration.ofSeconds(1),
                CatchUp.DEFAULT,
                null,
                2,
                null,
                publish);
    }

    Node node(String name, SinkDefinition... sinks) {
        return new Node(name, programs, List.of(sinks));
    }

    /** One whose programs run through this. */
    Node node(String name, Programs through) {
        return new Node(name, through, List.of());
    }

    /** One node: its state directory and what works on it. */
    final class Node {
        final Path state;
        final GitRepositories repositories;
        final Publisher publisher;
        final RunFolders folders;

        Node(String name, Programs programs, Collection<SinkDefinition> sinks) {
            state = root.resolve(name);
            repositories = new GitRepositories(state, programs, environment, time);
            publisher = new Publisher(sinks, repositories, programs, journal::add);
            folders = new RunFolders(state.resolve("runs"));
        }

        Run open(Job job) throws Exception {
            return open(job, SLOT);
        }

        Run open(Job job, Slot slot) throws Exception {
            RunFiles files = folders.prepare(job.id(), slot, 1, run());
            return new Run(this, job, slot, files, publisher.open(job, slot, files));
        }

        GitSink sink(SinkDefinition.Git definition) {
            return new GitSink(definition, repositories);
        }

        /** A run that writes one file, up to its announcement. */
        Announcement work(SinkDefinition.Git definition, String path, String text) throws Exception {
            Run run = open(job(definition));
            run.write(path, text);
            return run.collect().effects().getFirst();
        }
    }

    /** A run between its start and its end. */
    record Run(Node node, Job job, Slot slot, RunFiles files, Place place) {

        Path worktree() {
            return Objects.requireNonNull(place.worktree());
        }

        void write(String path, String text) throws IOException {
            Path file = worktree().resolve(path);
            Files.createDirectories(file.resolveSibling("."));
            Files.writeString(file, text);
        }

        Announced collect() throws Exception {
            return collect(null);
        }

        Announced collect(byte @Nullable [] result) throws Exception {
            try {
                return node.publisher.collect(job, slot, 1, 7, files, place, result);
            } finally {
                node.publisher.close(job, files, Place.NONE, true); // lets other runs have their turn
            }
        }
    }

    /** As the store would give it back. */
    static Effect effect(Announcement announced, long fence, RunId runId) {
        return effect(announced, announced.key(), fence, runId, false);
    }

    static Effect effect(Announcement announced, String key, long fence, RunId runId, boolean override) {
        return effect(announced, key, "article", fence, runId, override);
    }

    static Effect effect(
            Announcement announced, String key, String resource, long fence, RunId runId, boolean override) {
        return new Effect(
                key,
                "article",
                SLOT.key(),
                announced.name(),
                new Pair(announced.sink(), resource),
                new FencingToken(fence),
                runId,
                announced.content(),
                ANNOUNCED,
                ANNOUNCED.plus(announced.maxAge()),
                EffectState.PENDING,
                0,
                false,
                override,
                0,
                null,
                ANNOUNCED);
    }

    static RunId run() {
        return new RunId(UUID.randomUUID());
    }
}
