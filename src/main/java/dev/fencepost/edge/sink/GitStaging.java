package dev.fencepost.edge.sink;

import dev.fencepost.effect.Content;
import dev.fencepost.host.Programs.Ended;
import dev.fencepost.run.Publications.Unpublishable;
import dev.fencepost.run.Secrets;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Makes a tree of the files of a worktree, in an index of the runner's own. Names of files are bytes, here in texts of one character a
 * byte, so that they come back as they were whatever they are.
 */
final class GitStaging {

    private static final byte[] NOTHING = new byte[0];
    private static final String LINK = "120000";
    private static final String SUBMODULE = "160000";
    private static final String NONE = "000000";
    private static final long MAX_SEARCHED_BYTES = Content.MAX_BYTES + 1000L;

    private final GitRepository repository;
    private final Path worktree;
    private final Map<String, String> variables;
    private final @Nullable String base;

    GitStaging(GitRepository repository, Path worktree, Path index, @Nullable String base) {
        this.repository = repository;
        this.worktree = worktree;
        this.variables = Map.of("GIT_WORK_TREE", worktree.toString(), "GIT_INDEX_FILE", index.toString());
        this.base = base;
    }

    private record Entry(String mode, String id, String path) {

        boolean isBelow(String folder) {
            return folder.isEmpty() || path.equals(folder) || path.startsWith(folder + "/");
        }

        /** As git shows it to a person. */
        String shown() {
            return new String(path.getBytes(StandardCharsets.ISO_8859_1), StandardCharsets.UTF_8)
                    .replaceAll("\\p{Cntrl}", "?");
        }
    }

    /**
     * The tree of the base with what is in the worktree below these paths, secrets masked. Submodules stay as they were.
     *
     * @param paths relative to the top; none for all of it
     * @return null if it is the base's
     */
    @Nullable
    String tree(List<String> paths, Secrets secrets) throws IOException, InterruptedException, Unpublishable {
        git(NOTHING, "read-tree", base == null ? "--empty" : base);
        List<Entry> before = entries();
        List<Entry> submodules =
                before.stream().filter(entry -> entry.mode().equals(SUBMODULE)).toList();
        // git would ask a repository that lies there, by what stands in that one's configuration.
        write(submodules.stream()
                .map(entry -> new Entry("0", "0".repeat(40), entry.path()))
                .toList());
        add(paths, before);
        List<Entry> changes = changes();
        for (Entry change : changes) {
            check(change, secrets);
        }
        mask(changes, secrets);
        if (!submodules.isEmpty()) {
            List<Entry> after = entries();
            write(submodules.stream()
                    .filter(entry -> after.stream().noneMatch(one -> one.isBelow(entry.path())))
                    .toList());
        }
        String tree = GitRepository.firstLine(git(NOTHING, "write-tree"));
        String baseTree =
                base == null ? repository.store("tree", NOTHING) : repository.line("rev-parse", base + "^{tree}");
        return tree.equals(baseTree) ? null : tree;
    }

    private Ended git(byte[] stdin, String... words) throws IOException, InterruptedException {
        return GitRepository.succeeded(repository.run(variables, stdin, words));
    }

    private static String latin(byte[] bytes) {
        return new String(bytes, StandardCharsets.ISO_8859_1);
    }

    private List<Entry> entries() throws IOException, InterruptedException {
        List<Entry> entries = new ArrayList<>();
        for (String line :
                latin(git(NOTHING, "ls-files", "--stage", "-z").out()).split("\0", -1)) {
            int tab = line.indexOf('\t');
            if (tab > 0) {
                String[] modeAndId = line.substring(0, tab).split(" ", -1);
                entries.add(new Entry(modeAndId[0], modeAndId[1], line.substring(tab + 1)));
            }
        }
        return entries;
    }

    private void write(List<Entry> entries) throws IOException, InterruptedException {
        if (!entries.isEmpty()) {
            String lines = entries.stream()
                    .map(entry -> entry.mode() + " " + entry.id() + "\t" + entry.path() + "\0")
                    .collect(Collectors.joining());
            git(lines.getBytes(StandardCharsets.ISO_8859_1), "update-index", "-z", "--index-info");
        }
    }

    private void add(List<String> paths, List<Entry> before) throws IOException, InterruptedException, Unpublishable {
        List<String> wanted = paths.isEmpty() ? List.of(".") : paths;
        ByteArrayOutputStream names = new ByteArrayOutputStream();
        for (String path : wanted) {
            String name = plain(path);
            if (isThere(name, before)) { // git takes a path without files for a mistake
                names.writeBytes((name.isEmpty() ? "." : name).getBytes(StandardCharsets.UTF_8));
                names.write(0);
            }
        }
        if (names.size() == 0) {
            return;
        }
        Ended ended = repository.run(
                variables, names.toByteArray(), "add", "--all", "--pathspec-from-file=-", "--pathspec-file-nul");
        if (ended.err().contains("does not have a commit checked out")) {
            throw nested(ended.err().replaceAll("(?s).*'(.*?)/?' does not have a commit.*", "$1"));
        }
        if (!ended.isFine()) {
            throw new Unpublishable("the work cannot be committed: " + Git.words(ended), null);
        }
    }

    /** Without what means nothing: {@code ./content/} is {@code content}. */
    private static String plain(String path) {
        return List.of(path.split("/", -1)).stream()
                .filter(part -> !part.isEmpty() && !part.equals("."))
                .collect(Collectors.joining("/"));
    }

    private boolean isThere(String name, List<Entry> before) {
        String bytes = latin(name.getBytes(StandardCharsets.UTF_8));
        try {
            return Files.exists(worktree.resolve(name), LinkOption.NOFOLLOW_LINKS)
                    || before.stream().anyMatch(entry -> entry.isBelow(bytes));
        } catch (InvalidPathException notInThisLocale) {
            return true;
        }
    }

    /** What differs from the base, with its new mode and content. */
    private List<Entry> changes() throws IOException, InterruptedException {
        String against = base == null ? repository.store("tree", NOTHING) : base;
        String[] fields = latin(git(NOTHING, "diff-index", "--cached", "--raw", "--no-renames", "-z", against)
                        .out())
                .split("\0", -1);
        List<Entry> changes = new ArrayList<>();
        for (int i = 0; i + 1 < fields.length; i += 2) {
            String[] change = fields[i].split(" ", -1); // :100644 100644 id id M
            changes.add(new Entry(change[1], change[3], fields[i + 1]));
        }
        return changes;
    }

    private void check(Entry change, Secrets secrets) throws Unpublishable {
        if (change.mode().equals(SUBMODULE)) {
            throw nested(change.shown());
        }
        if (!change.mode().equals(NONE) && secrets.isIn(change.shown())) {
            throw new Unpublishable(
                    "the name of a file that the run left holds a secret of the job: " + secrets.masked(change.shown())
                            + "; nothing is published",
                    null);
        }
    }

    private static Unpublishable nested(String path) {
        return new Unpublishable(
                "the folder " + path + " is a git repository of its own, which cannot be published as part of this one;"
                        + " delete its .git, or leave it outside of paths",
                null);
    }

    private void mask(List<Entry> changes, Secrets secrets) throws IOException, InterruptedException, Unpublishable {
        if (secrets.values().isEmpty()) {
            return;
        }
        List<Entry> files =
                changes.stream().filter(change -> !change.mode().equals(NONE)).toList();
        Map<String, String> masked = new HashMap<>();
        for (List<String> batch : batches(files)) {
            mask(batch, secrets, masked);
        }
        List<Entry> rewritten = new ArrayList<>();
        for (Entry file : files) {
            String id = masked.get(file.id());
            if (id != null && file.mode().equals(LINK)) {
                throw new Unpublishable(
                        "the link " + file.shown()
                                + " that the run left holds a secret of the job; nothing is published",
                        null);
            }
            if (id != null) {
                rewritten.add(new Entry(file.mode(), id, file.path()));
            }
        }
        write(rewritten);
    }

    /** The contents of the files, in parts that fit in what one call may give. */
    private List<List<String>> batches(List<Entry> files) throws IOException, InterruptedException, Unpublishable {
        if (files.isEmpty()) {
            return List.of();
        }
        Set<String> ids = files.stream().map(Entry::id).collect(Collectors.toSet());
        byte[] asked = String.join("\n", ids).concat("\n").getBytes(StandardCharsets.US_ASCII);
        List<List<String>> batches = new ArrayList<>();
        List<String> batch = new ArrayList<>();
        long bytes = 0;
        for (String line :
                git(asked, "cat-file", "--batch-check").text().lines().toList()) {
            String[] idTypeSize = line.split(" ", -1);
            long size = Long.parseLong(idTypeSize[2]) + 100;
            if (size > MAX_SEARCHED_BYTES) {
                String name = files.stream()
                        .filter(file -> file.id().equals(idTypeSize[0]))
                        .map(Entry::shown)
                        .findFirst()
                        .orElse("");
                throw new Unpublishable(
                        "the file " + name + " has " + idTypeSize[2] + " bytes: too many to look for secrets in", null);
            }
            if (bytes + size > MAX_SEARCHED_BYTES) {
                batches.add(batch);
                batch = new ArrayList<>();
                bytes = 0;
            }
            batch.add(idTypeSize[0]);
            bytes += size;
        }
        if (!batch.isEmpty()) {
            batches.add(batch);
        }
        return batches;
    }

    private void mask(List<String> ids, Secrets secrets, Map<String, String> masked)
            throws IOException, InterruptedException {
        byte[] asked = String.join("\n", ids).concat("\n").getBytes(StandardCharsets.US_ASCII);
        byte[] all = git(asked, "cat-file", "--batch").out();
        int at = 0;
        while (at < all.length) { // <id> blob <size>\n<content>\n
            int end = at;
            while (all[end] != '\n') {
                end++;
            }
            String[] idTypeSize = new String(all, at, end - at, StandardCharsets.US_ASCII).split(" ", -1);
            int size = Integer.parseInt(idTypeSize[2]);
            byte[] content = Arrays.copyOfRange(all, end + 1, end + 1 + size);
            byte[] clean = secrets.masked(content);
            if (clean != content) {
                masked.put(idTypeSize[0], repository.store("blob", clean));
            }
            at = end + 1 + size + 1;
        }
    }
}
