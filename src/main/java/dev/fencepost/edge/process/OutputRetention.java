package dev.fencepost.edge.process;

import dev.fencepost.edge.process.ProcessTable.Entry;
import dev.fencepost.host.Programs;
import dev.fencepost.host.Time;
import dev.fencepost.run.Attempt;
import dev.fencepost.run.History;
import dev.fencepost.run.Job;
import dev.fencepost.run.Outcome;
import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Clean-up of the run folders of this node, in small batches. The clock is the wall clock. For one thread at a time.
 *
 * <p><b>What goes</b>, oldest first: folders older than {@link Limits#keepFor}, but for the newest {@link Limits#keepNewest} of each job;
 * and while all folders together have more than {@link Limits#maxBytes}, further ones, but for the newest of each job.
 *
 * <p><b>What stays</b>, whatever the limits say: a folder of a run under way, which has no end in the store or a process on this host;
 * one with a worktree, which holds work that could not be stored or published; and, until it is as old as {@link Limits#keepFor}, one
 * whose end was not accepted: LEASE_LOST, ABANDONED or CANCELLED (a refusal loses no work, semantics 3.12). What the store does not know
 * at all may go to make room once it is a day old: the store may have forgotten it, or not be the one that it ran under.
 *
 * <p>Only folders of the form that {@link RunFolders} makes are looked at, and no link is followed.
 */
public final class OutputRetention {

    /**
     * @param keepFor from the end of the attempt
     * @param keepNewest of each job, however old
     * @param maxBytes of all run folders of this node
     */
    public record Limits(Duration keepFor, int keepNewest, long maxBytes) {

        public static final Limits DEFAULT = new Limits(Duration.ofDays(90), 20, 1L << 30);

        public Limits {
            if (keepFor.isNegative() || keepNewest < 0 || maxBytes < 0) {
                throw new IllegalArgumentException("limits of run folders are not below 0");
            }
        }
    }

    /** What the store knows. */
    @FunctionalInterface
    public interface Attempts {
        /**
         * Those of a job, the newest ones at least.
         *
         * @throws dev.fencepost.lease.StoreException if it does not answer; nothing more is removed then
         */
        List<Attempt> of(String job);
    }

    /**
     * What one batch did.
     *
     * @param folders how many went
     * @param bytes how many were freed
     * @param isDone whether nothing is left to do by now
     * @param failures why folders could not be removed, in words; they are tried again by the next batch
     */
    public record Removed(int folders, long bytes, boolean isDone, List<String> failures) {}

    /** Of GitWork, which deletes old ones itself. */
    private static final String WORKTREE = "worktree";

    private static final Pattern ATTEMPT = Pattern.compile("\\d{1,9}-[0-9a-f]{8}");
    private static final Duration FORGOTTEN_AFTER = Duration.ofDays(1);
    private static final int MOST_ATTEMPTS = 10_000;
    private static final Duration DELETE_LIMIT = Duration.ofMinutes(5);
    private static final Map<String, String> PROGRAMS_ONLY = Map.of("PATH", ChildEnvironment.DEFAULT_PATH);
    private static final Set<Outcome> NOT_ACCEPTED = Set.of(Outcome.LEASE_LOST, Outcome.ABANDONED, Outcome.CANCELLED);

    private final Path root;
    private final RunFolders folders;
    private final Limits limits;
    private final Attempts attempts;
    private final Programs programs;
    private final InstantSource wallClock;

    /** With the usual limits but for the age, of the runs that this store tells of. */
    public static OutputRetention of(Path root, Duration keepFor, History history, Programs programs, Time time) {
        return new OutputRetention(
                root,
                new Limits(keepFor, Limits.DEFAULT.keepNewest(), Limits.DEFAULT.maxBytes()),
                job -> history.history(job, MOST_ATTEMPTS).stream()
                        .map(History.Entry::attempt)
                        .filter(Objects::nonNull)
                        .toList(),
                programs,
                time::wallClock);
    }

    /** @param root where {@link RunFolders} makes them */
    OutputRetention(Path root, Limits limits, Attempts attempts, Programs programs, InstantSource wallClock) {
        this.root = root;
        this.folders = new RunFolders(root);
        this.limits = limits;
        this.attempts = attempts;
        this.programs = programs;
        this.wallClock = wallClock;
    }

    /**
     * @param at when its attempt ended, or what is newest in it
     * @param attempt null where the store does not know it
     * @param rank from 0, the newest of its job
     */
    private record Folder(
            Path path,
            String job,
            Instant at,
            long bytes,
            @Nullable Attempt attempt,
            int rank) {}

    /**
     * Removes so many folders at most.
     *
     * @throws IOException if the folders or the processes of this host cannot be listed; nothing is removed then
     */
    public Removed removeBatch(int most) throws IOException, InterruptedException {
        Set<String> running = runningTags();
        List<Folder> all = new ArrayList<>();
        for (Path job : directories(root)) {
            if (Job.ID.matcher(job.getFileName().toString()).matches()) {
                all.addAll(foldersOf(job));
            }
        }
        all.sort(Comparator.comparing(Folder::at));
        long bytes = all.stream().mapToLong(Folder::bytes).sum();
        Instant now = wallClock.instant();
        int removed = 0;
        long freed = 0;
        List<String> failures = new ArrayList<>();
        for (Folder folder : all) {
            boolean isOld = folder.at().isBefore(now.minus(limits.keepFor()));
            boolean byAge = isOld && folder.rank() >= limits.keepNewest();
            boolean forRoom = bytes - freed > limits.maxBytes() && folder.rank() > 0;
            if ((!byAge && !forRoom) || stays(folder, isOld, now, running)) {
                continue;
            }
            if (removed == most) {
                return new Removed(removed, freed, false, failures);
            }
            String failure = remove(folder.path());
            if (failure == null) {
                removed++;
                freed += folder.bytes();
            } else {
                failures.add(failure);
            }
        }
        return new Removed(removed, freed, true, failures);
    }

    private boolean stays(Folder folder, boolean isOld, Instant now, Set<String> running) {
        String name = folder.path().getFileName().toString();
        if (running.contains(name.substring(name.indexOf('-') + 1))
                || Files.exists(folder.path().resolve(WORKTREE), LinkOption.NOFOLLOW_LINKS)) {
            return true;
        }
        Attempt attempt = folder.attempt();
        if (attempt == null) {
            return folder.at().isAfter(now.minus(FORGOTTEN_AFTER));
        }
        return attempt.endedAt() == null || (!isOld && NOT_ACCEPTED.contains(attempt.outcome()));
    }

    /** The first parts of the ids of runs that have a process on this host. */
    private static Set<String> runningTags() throws IOException {
        Set<String> tags = new HashSet<>();
        for (Entry process : ProcessTable.all().values()) {
            String tag = process.isAlive() ? ProcessTable.tag(process.pid()) : null;
            if (tag != null && tag.length() >= 8) {
                tags.add(tag.substring(0, 8));
            }
        }
        return tags;
    }

    private List<Folder> foldersOf(Path job) throws IOException {
        String id = job.getFileName().toString();
        List<Path> paths = new ArrayList<>();
        for (Path slot : directories(job)) {
            for (Path attempt : directories(slot)) {
                if (ATTEMPT.matcher(attempt.getFileName().toString()).matches()) {
                    paths.add(attempt);
                }
            }
        }
        if (paths.isEmpty()) {
            return List.of();
        }
        Map<Path, Attempt> known = new HashMap<>();
        for (Attempt attempt : attempts.of(id)) {
            Path log = folders.logOf(id, attempt.slotKey(), attempt.number(), attempt.runId());
            known.put(log.getParent(), attempt);
        }
        List<Folder> unranked = new ArrayList<>();
        for (Path path : paths) {
            Attempt attempt = known.get(path);
            Size size = Size.of(path);
            Instant end = attempt == null ? null : attempt.endedAt();
            unranked.add(new Folder(path, id, end == null ? size.newest : end, size.bytes, attempt, 0));
        }
        unranked.sort(Comparator.comparing(Folder::at).reversed());
        List<Folder> ranked = new ArrayList<>();
        for (Folder each : unranked) {
            ranked.add(new Folder(each.path, each.job, each.at, each.bytes, each.attempt, ranked.size()));
        }
        return ranked;
    }

    /** What a folder takes on the disk, roughly, and when something in it last changed. */
    private static final class Size extends SimpleFileVisitor<Path> {
        private long bytes;
        private Instant newest = Instant.EPOCH;

        static Size of(Path folder) throws IOException {
            Size size = new Size();
            Files.walkFileTree(folder, size); // follows no links
            return size;
        }

        private FileVisitResult seen(BasicFileAttributes attributes) {
            bytes += attributes.isRegularFile() ? attributes.size() : 0;
            Instant changed = attributes.lastModifiedTime().toInstant();
            newest = changed.isAfter(newest) ? changed : newest;
            return FileVisitResult.CONTINUE;
        }

        @Override
        public FileVisitResult preVisitDirectory(Path folder, BasicFileAttributes attributes) {
            return seen(attributes);
        }

        @Override
        public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
            return seen(attributes);
        }

        @Override
        public FileVisitResult visitFileFailed(Path file, IOException goneOrClosed) {
            return FileVisitResult.CONTINUE;
        }

        @Override
        public FileVisitResult postVisitDirectory(Path folder, @Nullable IOException changedMeanwhile) {
            return FileVisitResult.CONTINUE;
        }
    }

    private static List<Path> directories(Path folder) throws IOException {
        List<Path> found = new ArrayList<>();
        try (DirectoryStream<Path> entries =
                Files.newDirectoryStream(folder, entry -> Files.isDirectory(entry, LinkOption.NOFOLLOW_LINKS))) {
            entries.forEach(found::add);
        } catch (NoSuchFileException none) {
            return List.of();
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
        return found;
    }

    /** By the programs of the system, which follow no link however deep the tree is. Returns what went wrong, or null. */
    private @Nullable String remove(Path folder) throws InterruptedException {
        try {
            Programs.Ended ended = program("rm", "-rf", "--", folder.toString());
            if (!ended.isFine()) { // a folder that its owner may not write
                program("chmod", "-R", "u+rwX", "--", folder.toString());
                ended = program("rm", "-rf", "--", folder.toString());
            }
            if (!ended.isFine()) {
                return "run folder " + folder + " cannot be removed: "
                        + ended.err().strip();
            }
            Files.deleteIfExists(folder.getParent()); // the slot's, unless other attempts have theirs there
            return null;
        } catch (DirectoryNotEmptyException othersAreThere) {
            return null;
        } catch (IOException e) {
            return "run folder " + folder + " cannot be removed: " + e.getMessage();
        }
    }

    private Programs.Ended program(String... words) throws IOException, InterruptedException {
        return programs.run(List.of(words), PROGRAMS_ONLY, null, new byte[0], DELETE_LIMIT);
    }
}
