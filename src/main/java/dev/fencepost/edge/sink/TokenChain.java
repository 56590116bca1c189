package dev.fencepost.edge.sink;

import dev.fencepost.effect.Effect;
import dev.fencepost.effect.Fence;
import dev.fencepost.lease.RunId;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The chain of commits in a remote's token ref: one for each effect that the remote accepted, the newest first. Its tip tells the highest
 * token and the run that had it; the whole of it tells which keys were accepted. It begins with a commit without a token.
 *
 * <pre>
 * Key: article@2026-03-29T01:00:00Z/git
 * Token: 7
 * Run: 01234567-89ab-4cde-8fab-0123456789ab
 * Commit: the commit that came into the branch
 * Branch: main
 * Override: 5        (only where a person had a late effect sent: its own token)
 * </pre>
 */
final class TokenChain {

    private static final String BEGINNING = "Tokens of ";
    private static final String OF = " of ";
    private static final Pattern TOKEN = Pattern.compile("(?md)^Token: ([1-9][0-9]{0,18})$");
    private static final Pattern RUN = Pattern.compile("(?md)^Run: ([0-9a-f-]{36})$");
    private static final Pattern COMMIT = Pattern.compile("(?md)^Commit: ([0-9a-f]{40})$");
    private static final Pattern BRANCH = Pattern.compile("(?md)^Branch: (.*)$");
    private static final Pattern ASCII = Pattern.compile("\\p{ASCII}*");

    private final GitRepository repository;
    private final @Nullable String tip;

    /** @param tip null where nothing was accepted yet */
    TokenChain(GitRepository repository, @Nullable String tip) {
        this.repository = repository;
        this.tip = tip;
    }

    /**
     * The highest token.
     *
     * @throws IOException if the ref holds something else than such a chain, or that of another resource, whose tokens say nothing of ours
     */
    Fence fence(String resource) throws IOException, InterruptedException {
        if (tip == null) {
            return Fence.NONE;
        }
        String message = GitRepository.succeeded(repository.run("log", "-1", "--format=%B", tip))
                .text();
        Matcher token = TOKEN.matcher(message);
        Matcher run = RUN.matcher(message);
        int of = message.indexOf(OF);
        if (message.startsWith("Token") && of > 0 && !message.startsWith(resource + "\n", of + OF.length())) {
            throw new IOException("the token ref of the remote holds the tokens of another job, in the commit " + tip
                    + "; name another fence-ref, since each job needs one of its own");
        }
        if (message.startsWith(BEGINNING) && !token.find()) {
            return Fence.NONE;
        }
        try {
            if (token.reset().find() && run.find()) {
                return new Fence(Long.parseLong(token.group(1)), RunId.parse(run.group(1)));
            }
        } catch (IllegalArgumentException noToken) {
            // as if it were not there
        }
        throw new IOException("the token ref of the remote holds the commit " + tip
                + ", which Fencepost did not make; name another fence-ref");
    }

    /** @param commit and {@code branch}: what was accepted and where */
    record Entry(String commit, String branch) {}

    /** The entry of this key, or null. The tip alone would prove nothing: another effect may have been accepted since. */
    @Nullable
    Entry entry(String key) throws IOException, InterruptedException {
        if (tip == null) {
            return null;
        }
        String line = "Key: " + key;
        List<String> words = new ArrayList<>(List.of("log", "-z", "--format=%B"));
        if (ASCII.matcher(key).matches()) { // other characters may not get through as an argument
            words.addAll(List.of("--fixed-strings", "--grep=" + line));
        }
        words.add(tip);
        String messages = GitRepository.succeeded(repository.run(words.toArray(String[]::new)))
                .text();
        for (String message : messages.split("\0", -1)) {
            Matcher commit = COMMIT.matcher(message);
            Matcher branch = BRANCH.matcher(message);
            if (message.lines().anyMatch(line::equals) && commit.find() && branch.find()) {
                return new Entry(commit.group(1), branch.group(1));
            }
        }
        return null;
    }

    /**
     * Makes the commit that follows the tip, here alone. It is the same wherever it is made.
     *
     * @param accepted the highest token so far
     */
    String advanced(Effect effect, Fence accepted, String commit, String branch)
            throws IOException, InterruptedException {
        Fence after = accepted.advancedBy(effect.fence(), effect.runId());
        boolean late = !accepted.lets(effect.fence(), effect.runId());
        String text = "Token " + after.fence() + " of " + effect.pair().resource() + "\n"
                + "\n"
                + "Key: " + effect.key() + "\n"
                + "Token: " + after.fence() + "\n"
                + "Run: " + after.runId() + "\n"
                + "Commit: " + commit + "\n"
                + "Branch: " + branch + "\n"
                + (late ? "Override: " + effect.fence() + "\n" : "");
        return commit(effect, text);
    }

    /** Makes the first commit of a chain, here alone. */
    String begun(Effect effect) throws IOException, InterruptedException {
        return commit(effect, BEGINNING + effect.pair().resource() + "\n");
    }

    private String commit(Effect effect, String message) throws IOException, InterruptedException {
        String emptyTree = repository.store("tree", new byte[0]);
        String who = "Fencepost <fencepost@localhost> " + effect.announcedAt().getEpochSecond() + " +0000\n";
        String text = "tree " + emptyTree + "\n"
                + (tip == null ? "" : "parent " + tip + "\n")
                + "author " + who
                + "committer " + who
                + "\n"
                + message;
        return repository.store("commit", text.getBytes(StandardCharsets.UTF_8));
    }
}
