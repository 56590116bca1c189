package dev.fencepost.edge.sink;

import dev.fencepost.effect.SinkDefinition;
import dev.fencepost.host.Programs.Ended;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A bare repository of the runner and the remote that it stands for, in the hands of one thread until it is closed. What the remote's refs
 * were when they were last asked for stands in it under {@code refs/mirror/}.
 */
final class GitRepository implements AutoCloseable {

    static final Pattern COMMIT = Pattern.compile("[0-9a-f]{40}");

    private static final String MIRROR = "refs/mirror/";
    private static final byte[] NOTHING = new byte[0];

    private final Path path;
    private final Git git;
    private final SinkDefinition.Git sink;
    private final GitRemote remote;
    private final AutoCloseable lock;

    GitRepository(Path path, Git git, SinkDefinition.Git sink, GitRemote remote, AutoCloseable lock) {
        this.path = path;
        this.git = git;
        this.sink = sink;
        this.remote = remote;
        this.lock = lock;
    }

    @Override
    public void close() {
        GitRepositories.close(lock);
    }

    /**
     * A bare repository that is empty but for what this one has, for work that shall leave nothing behind here.
     *
     * @param folder where it is made; whoever asks deletes it
     */
    GitRepository scratch(Path folder) throws IOException, InterruptedException {
        succeeded(run("init", "--quiet", "--bare", "--template=", folder.toString()));
        Files.writeString(folder.resolve("objects/info/alternates"), objects() + "\n");
        return new GitRepository(folder, git, sink, remote, () -> {});
    }

    Path objects() {
        return path.resolve("objects");
    }

    /** Whether the time for it is over. */
    boolean isOutOfTime() {
        return git.left().isZero();
    }

    /** What git said of a failure, as it may be shown. */
    String words(Ended ended) {
        return remote.masked(Git.words(ended));
    }

    /** Runs git in this repository, without its remote. */
    Ended run(String... words) throws IOException, InterruptedException {
        return run(Map.of(), NOTHING, words);
    }

    /** Runs git in this repository, without its remote, with more variables and an input. */
    Ended run(Map<String, String> variables, byte[] stdin, String... words) throws IOException, InterruptedException {
        Map<String, String> all = new HashMap<>(variables);
        all.putIfAbsent("GIT_DIR", path.toString());
        return git.local(List.of(words), all, stdin);
    }

    /** The first line of what git wrote, of a call that has to succeed. */
    String line(String... words) throws IOException, InterruptedException {
        return firstLine(succeeded(run(words)));
    }

    static String firstLine(Ended ended) {
        return ended.text().lines().findFirst().orElse("");
    }

    static Ended succeeded(Ended ended) throws IOException {
        if (!ended.isFine()) {
            throw new IOException("git failed: " + Git.words(ended));
        }
        return ended;
    }

    /** Stores an object and gives its id. */
    String store(String type, byte[] content) throws IOException, InterruptedException {
        return firstLine(succeeded(run(Map.of(), content, "hash-object", "-w", "-t", type, "--stdin")));
    }

    /** Packs what has gathered, where git finds that it is time for it. What fails here is done another time. */
    void tidy() throws IOException, InterruptedException {
        run("-c", "gc.auto=5000", "-c", "gc.autoDetach=false", "gc", "--auto", "--quiet");
    }

    boolean hasCommit(String id) throws IOException, InterruptedException {
        return run("cat-file", "-e", id + "^{commit}").isFine();
    }

    /** Whether the first is the second or comes before it. */
    boolean isAncestor(String commit, String of) throws IOException, InterruptedException {
        Ended ended = run("merge-base", "--is-ancestor", commit, of);
        if (ended.timedOut() || ended.code() > 1) {
            succeeded(ended);
        }
        return ended.isFine();
    }

    /**
     * Asks the remote for these refs and brings their commits here.
     *
     * @return the commit of each ref that is there
     * @throws IOException if the remote does not answer; the message is for a person
     */
    Map<String, String> fetch(String... refs) throws IOException, InterruptedException {
        List<String> asked = new ArrayList<>(List.of("ls-remote", "--quiet", GitRemote.NAME));
        asked.addAll(List.of(refs));
        Map<String, String> there = new HashMap<>();
        for (String line : answered(asked).text().lines().toList()) {
            String[] idAndRef = line.split("\t", 2);
            if (idAndRef.length == 2 && List.of(refs).contains(idAndRef[1])) {
                there.put(idAndRef[1], idAndRef[0]);
            }
        }
        Map<String, String> here = mirrored(refs);
        List<String> fetched = new ArrayList<>(List.of(
                "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--refmap="));
        fetched.add(GitRemote.NAME);
        boolean news = false;
        for (String ref : refs) {
            String id = there.get(ref);
            if (id == null && here.containsKey(ref)) {
                succeeded(run("update-ref", "-d", mirror(ref)));
            } else if (id != null && !id.equals(here.get(ref))) {
                fetched.add("+" + ref + ":" + mirror(ref));
                news = true;
            }
        }
        if (news) {
            answered(fetched);
        }
        return mirrored(refs);
    }

    private Ended answered(List<String> words) throws IOException, InterruptedException {
        Ended ended = git.remote(words, path, sink, remote);
        if (!ended.isFine()) {
            throw new IOException("the remote does not answer: " + words(ended));
        }
        return ended;
    }

    private Map<String, String> mirrored(String... refs) throws IOException, InterruptedException {
        List<String> words = new ArrayList<>(List.of("for-each-ref", "--format=%(objectname) %(refname)"));
        Arrays.stream(refs).map(GitRepository::mirror).forEach(words::add);
        Map<String, String> found = new HashMap<>();
        for (String line :
                succeeded(run(words.toArray(String[]::new))).text().lines().toList()) {
            String[] idAndRef = line.split(" ", 2);
            for (String ref : refs) {
                if (idAndRef[1].equals(mirror(ref))) {
                    found.put(ref, idAndRef[0]);
                }
            }
        }
        return found;
    }

    private static String mirror(String ref) {
        return MIRROR + ref.substring("refs/".length());
    }

    /**
     * A ref of the remote and what it shall be.
     *
     * @param old what it has to be before, null if it may not be there yet
     */
    record Update(String ref, @Nullable String old, String fresh) {}

    /** How a push ended. */
    enum Pushed {
        /** All of it is in the remote. */
        DONE,
        /** Nothing of it is: somebody else was faster. */
        MOVED,
        /** Nothing of it is, and will be: the remote said no. */
        REFUSED,
        /** Nothing of it is: the remote could not be reached, or did not let us in, or could not store it. */
        NOT_SENT,
        /** It may be in the remote. */
        UNKNOWN
    }

    /** @param text why, for a person */
    record Push(Pushed how, String text) {}

    /** Pushes all of these or none. The remote itself compares each ref with what it has to be. */
    Push push(List<Update> updates) throws IOException, InterruptedException {
        List<String> words = new ArrayList<>(List.of(
                "push",
                "--porcelain",
                "--atomic",
                "--no-verify",
                "--no-follow-tags",
                "--no-signed",
                "--recurse-submodules=no"));
        for (Update update : updates) {
            words.add("--force-with-lease=" + update.ref() + ":" + (update.old() == null ? "" : update.old()));
        }
        words.add(GitRemote.NAME);
        for (Update update : updates) {
            words.add(update.fresh() + ":" + update.ref());
        }
        Ended ended = git.remote(words, path, sink, remote);
        Push push = judged(ended, updates);
        if (push.how() == Pushed.DONE) {
            for (Update update : updates) {
                remember(update);
            }
        }
        return push;
    }

    /** Where this fails the ref is fetched once more than needed. */
    private void remember(Update pushed) throws InterruptedException {
        try {
            run("update-ref", mirror(pushed.ref()), pushed.fresh());
        } catch (IOException notStarted) {
            // the push took place all the same
        }
    }

    private static final Pattern MOVED = Pattern.compile(
            "stale info|fetch first|non-fast-forward|needs force|already exists|cannot lock ref|failed to lock"
                    + "|failed to update ref|incorrect old value|reference already exists");
    private static final Pattern COMPANION =
            Pattern.compile("atomic push fail(ed|ure)|atomic transaction failed|transaction aborted");
    private static final Pattern NOT_STORED =
            Pattern.compile("unpacker error|unpack failed|failed to store|missing necessary objects");

    /** Said after something was sent: whatever else is said, nobody knows. */
    private static final Pattern CUT = Pattern.compile(
            "RPC failed|hung up unexpectedly|unexpected disconnect|early EOF|send-pack|remote failure|Broken pipe");

    /** Said before anything was sent. */
    private static final Pattern NO_WAY_IN = Pattern.compile(
            "unable to access|Could not read from remote repository|Authentication failed|could not read Username"
                    + "|could not read Password|does not appear to be a git repository|not found|not allowed"
                    + "|hung up upon initial contact|unable to find remote helper|unable to connect to");

    private Push judged(Ended ended, List<Update> updates) {
        if (ended.timedOut()) {
            return new Push(Pushed.UNKNOWN, "the push did not end within the time limit");
        }
        Set<String> accepted = new HashSet<>();
        List<String> refusals = new ArrayList<>();
        for (String line : ended.text().lines().toList()) {
            String[] fields = line.split("\t", 3);
            if (fields.length == 3 && fields[0].equals("!")) {
                refusals.add(fields[1].substring(fields[1].indexOf(':') + 1) + " " + fields[2]);
            } else if (fields.length == 3 && fields[0].length() == 1) {
                accepted.add(fields[1].substring(fields[1].indexOf(':') + 1));
            }
        }
        if (ended.isFine() && refusals.isEmpty() && accepted.size() == updates.size()) {
            return new Push(Pushed.DONE, "");
        }
        String said = words(ended);
        if (said.contains("does not support --atomic")) {
            return new Push(
                    Pushed.REFUSED,
                    "the remote does not support atomic pushes, so it cannot guard a branch by a token");
        }
        if (!accepted.isEmpty() && !refusals.isEmpty()) { // git does so where one of the refs is hidden
            return new Push(
                    Pushed.UNKNOWN, "the remote took a part of an atomic push: " + remote.masked(refusals.toString()));
        }
        if (!accepted.isEmpty() || CUT.matcher(ended.err()).find() && refusals.isEmpty()) {
            return new Push(Pushed.UNKNOWN, "the connection ended in the middle of the push: " + said);
        }
        if (!refusals.isEmpty()) {
            return refused(refusals, said);
        }
        return NO_WAY_IN.matcher(ended.err()).find()
                ? new Push(Pushed.NOT_SENT, "nothing was sent: " + said)
                : new Push(Pushed.UNKNOWN, "the push ended without an answer: " + said);
    }

    private Push refused(List<String> refusals, String said) {
        List<String> causes = refusals.stream()
                .filter(refusal -> !COMPANION.matcher(refusal).find())
                .toList();
        String text = remote.masked(String.join("; ", causes.isEmpty() ? refusals : causes));
        if (text.contains("[remote failure]")) {
            return new Push(Pushed.UNKNOWN, "the remote did not report what it did: " + text);
        }
        if (causes.stream().anyMatch(cause -> NOT_STORED.matcher(cause).find())) {
            return new Push(Pushed.NOT_SENT, "the remote could not store it: " + text + "; " + said);
        }
        boolean moved = causes.isEmpty()
                || causes.stream().allMatch(cause -> MOVED.matcher(cause).find());
        return moved
                ? new Push(Pushed.MOVED, "the remote moved: " + text)
                : new Push(Pushed.REFUSED, "the remote refused it: " + text + "; " + said);
    }

    /**
     * The commit with another tree and parent: author, dates and message stay as they are, so that everybody who does this makes the same
     * commit.
     */
    String moved(String commit, String tree, String parent) throws IOException, InterruptedException {
        byte[] raw = succeeded(run("cat-file", "commit", commit)).out();
        String text = new String(raw, StandardCharsets.ISO_8859_1);
        int rest = text.indexOf("author ");
        String fresh = "tree " + tree + "\nparent " + parent + "\n" + text.substring(rest);
        return store("commit", fresh.getBytes(StandardCharsets.ISO_8859_1));
    }
}
