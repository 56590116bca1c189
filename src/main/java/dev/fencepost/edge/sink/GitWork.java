package dev.fencepost.edge.sink;

import dev.fencepost.effect.Announcement;
import dev.fencepost.effect.Content;
import dev.fencepost.effect.SinkDefinition;
import dev.fencepost.host.Programs;
import dev.fencepost.host.Programs.Ended;
import dev.fencepost.run.Publications.Place;
import dev.fencepost.run.Publications.Unpublishable;
import dev.fencepost.run.Secrets;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The checkout that a run works in, and the commit that is made of it.
 *
 * <p>The run gets a repository of its own, with no remote in it, and may do there what it likes. It counts for nothing: the commit is made
 * with the runner's bare repository, an index of the runner, and the files as they are. So hooks, configuration, filters and commits of the
 * run have no say, and links are stored, not followed.
 */
final class GitWork {

    static final String FOLDER = "worktree";

    private static final Duration COLLECT_LIMIT = Duration.ofMinutes(5);
    private static final Duration DELETE_LIMIT = Duration.ofMinutes(2);
    private static final int KEPT_WORKTREES = 3;
    private static final byte[] NOTHING = new byte[0];
    private static final Pattern AUTHOR = Pattern.compile("[^<>\\n\\x00]+ <[^<>\\n\\x00]*>");
    private static final Pattern BRANCH = Pattern.compile("(?!-)[^\\s~^:?*\\[\\\\\\p{Cntrl}]+");
    private static final Map<String, String> PROGRAMS_ONLY = Map.of("PATH", "/usr/bin:/bin", "LC_ALL", "C");

    private final GitRepositories repositories;
    private final Programs programs;

    GitWork(GitRepositories repositories, Programs programs) {
        this.repositories = repositories;
        this.programs = programs;
    }

    /**
     * Makes the checkout from the branch as the remote has it now; from nothing where there is no such branch yet.
     *
     * @param ownCopy whether it needs a copy of all objects, since its user may not read ours
     * @throws IOException with a message for a person
     */
    Place open(SinkDefinition.Git sink, Path worktree, boolean ownCopy) throws IOException, InterruptedException {
        check(sink);
        deleteOldOnes(worktree);
        String branchRef = "refs/heads/" + sink.branch();
        try (GitRepository repository = repositories.open(sink, sink.timeLimit())) {
            String base = repository.fetch(branchRef).get(branchRef);
            Path dotGit = worktree.resolve(".git");
            Map<String, String> own = Map.of("GIT_DIR", dotGit.toString(), "GIT_WORK_TREE", worktree.toString());
            Files.createDirectories(worktree);
            Map<String, String> toBe = Map.of("GIT_DIR", dotGit.toString());
            in(repository, toBe, "init", "--quiet", "--template=", "--initial-branch=" + sink.branch());
            if (ownCopy) {
                if (base != null) { // and no more: there are objects of other branches and other jobs
                    byte[] wanted = (base + "\n").getBytes(StandardCharsets.US_ASCII);
                    Path pack = Files.createDirectories(dotGit.resolve("objects/pack"));
                    GitRepository.succeeded(repository.run(
                            Map.of(), wanted, "pack-objects", "--quiet", "--revs", pack.resolve("pack") + ""));
                }
            } else {
                Files.createDirectories(dotGit.resolve("objects/info"));
                Files.writeString(dotGit.resolve("objects/info/alternates"), repository.objects() + "\n");
            }
            int address = sink.author().indexOf('<');
            in(
                    repository,
                    own,
                    "config",
                    "user.name",
                    sink.author().substring(0, address).strip());
            in(
                    repository,
                    own,
                    "config",
                    "user.email",
                    sink.author().substring(address + 1, sink.author().length() - 1));
            if (base != null) {
                in(repository, own, "checkout", "--quiet", "--detach", base);
            }
            repository.tidy();
            return new Place(worktree, null, Map.of("FENCEPOST_WORKTREE", worktree.toString()), base);
        }
    }

    private static void in(GitRepository repository, Map<String, String> variables, String... words)
            throws IOException, InterruptedException {
        GitRepository.succeeded(repository.run(variables, NOTHING, words));
    }

    private static void check(SinkDefinition.Git sink) throws IOException {
        if (!AUTHOR.matcher(sink.author()).matches()) {
            throw new IOException("author of sink " + sink.name() + " is not of the form Name <address>");
        }
        if (!BRANCH.matcher(sink.branch()).matches()) {
            throw new IOException("branch " + sink.branch() + " of sink " + sink.name() + " is no name of a branch");
        }
        for (String path : sink.paths()) {
            if (path.startsWith("/")
                    || path.indexOf('\0') >= 0
                    || List.of(path.split("/", -1)).contains("..")) {
                throw new IOException("path " + path + " of sink " + sink.name()
                        + " leads out of the tree; write it relative to the top of the repository");
            }
        }
    }

    /** Of the job's worktrees that were kept, all but the newest. They are not in use: a job has one run at a time. */
    private void deleteOldOnes(Path worktree) throws IOException, InterruptedException {
        Path attempt = worktree.getParent();
        Path slot = attempt == null ? null : attempt.getParent();
        Path job = slot == null ? null : slot.getParent();
        if (job == null) {
            return;
        }
        List<Path> kept = new ArrayList<>();
        for (Path one : folders(job)) {
            for (Path other : folders(one)) {
                if (Files.isDirectory(other.resolve(FOLDER), LinkOption.NOFOLLOW_LINKS)) {
                    kept.add(other);
                }
            }
        }
        Map<Path, Instant> made = new HashMap<>();
        for (Path folder : kept) {
            made.put(folder, Files.getLastModifiedTime(folder).toInstant());
        }
        kept.sort(Comparator.comparing(
                made::get, Comparator.<Instant>naturalOrder().reversed()));
        for (Path folder : kept.subList(Math.min(KEPT_WORKTREES, kept.size()), kept.size())) {
            delete(folder.resolve(FOLDER));
        }
    }

    private static List<Path> folders(Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(file -> Files.isDirectory(file, LinkOption.NOFOLLOW_LINKS))
                    .toList();
        }
    }

    /** By the programs of the system, which follow no link however deep the tree is, and whoever changes it meanwhile. */
    void delete(Path worktree) throws IOException, InterruptedException {
        Ended ended = program("rm", "-rf", "--", worktree.toString());
        if (!ended.isFine()) { // a folder that its owner may not write
            program("chmod", "-R", "u+rwX", "--", worktree.toString());
            ended = program("rm", "-rf", "--", worktree.toString());
        }
        if (!ended.isFine()) {
            throw new IOException("worktree " + worktree + " cannot be deleted: " + ended.err());
        }
    }

    private void deleteThoughInterrupted(Path folder) {
        boolean interrupted = Thread.interrupted();
        try {
            delete(folder);
        } catch (IOException left) {
            // the next one has a folder of its own
        } catch (InterruptedException again) {
            interrupted = true;
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private Ended program(String... words) throws IOException, InterruptedException {
        return programs.run(List.of(words), PROGRAMS_ONLY, null, NOTHING, DELETE_LIMIT);
    }

    /**
     * What the run left in the paths that may be published, as a commit on top of what it began with.
     *
     * @param message of the commit
     * @return null if that is nothing
     */
    @Nullable
    Announcement collect(
            SinkDefinition.Git sink,
            String name,
            String key,
            Place place,
            Instant slot,
            String message,
            Secrets secrets)
            throws Unpublishable, InterruptedException {
        Path worktree = place.worktree();
        if (worktree == null || !Files.isDirectory(worktree, LinkOption.NOFOLLOW_LINKS)) {
            throw new Unpublishable("the worktree of the run is gone", null);
        }
        Path scratch = worktree.resolveSibling("publish.git");
        Path index = scratch.resolve("publish.index");
        try (GitRepository shared = repositories.open(sink, COLLECT_LIMIT)) {
            // Contents are masked after git has stored them: what still holds a secret must not come among the shared
            // objects.
            delete(scratch);
            GitRepository repository = shared.scratch(scratch);
            GitStaging staging = new GitStaging(repository, worktree, index, place.base());
            String tree = staging.tree(sink.paths(), secrets);
            if (tree == null) {
                return null;
            }
            String who = sink.author() + " " + slot.getEpochSecond() + " +0000\n";
            String text = "tree " + tree + "\n"
                    + (place.base() == null ? "" : "parent " + place.base() + "\n")
                    + "author " + who
                    + "committer " + who
                    + "\n"
                    + secrets.masked(message).replace("\0", "").strip() + "\n";
            String commit = repository.store("commit", text.getBytes(StandardCharsets.UTF_8));
            Content content =
                    new Content("application/x-git-bundle", commit, bundle(repository, scratch, commit, place.base()));
            return new Announcement(
                    name, key, sink.name(), content, content.digestWithoutBytes(sink.name()), sink.maxAge());
        } catch (IOException e) {
            throw new Unpublishable("the work cannot be committed: " + secrets.masked(e.getMessage() + ""), e);
        } finally {
            deleteThoughInterrupted(scratch);
        }
    }

    /** By a file, since one that is too big must not come into memory. */
    private static byte[] bundle(GitRepository repository, Path scratch, String commit, @Nullable String base)
            throws IOException, InterruptedException, Unpublishable {
        Path bundle = scratch.resolve("publish.bundle");
        String ref = "refs/fencepost-out/" + commit;
        GitRepository.succeeded(repository.run("update-ref", ref, commit));
        List<String> words = new ArrayList<>(List.of("bundle", "create", "--quiet", bundle.toString(), ref));
        if (base != null) {
            words.add("^" + base);
        }
        GitRepository.succeeded(repository.run(words.toArray(String[]::new)));
        if (Files.size(bundle) > Content.MAX_BYTES) {
            throw new Unpublishable(
                    "the commit is too big to be published: packed it has more than " + (Content.MAX_BYTES >> 20)
                            + " MiB; publish less, for instance by paths",
                    null);
        }
        return Files.readAllBytes(bundle);
    }
}
