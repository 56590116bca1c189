package dev.fencepost.edge.sink;

import dev.fencepost.edge.sink.GitRepository.Push;
import dev.fencepost.edge.sink.GitRepository.Pushed;
import dev.fencepost.edge.sink.GitRepository.Update;
import dev.fencepost.effect.Delivery;
import dev.fencepost.effect.Effect;
import dev.fencepost.effect.Fence;
import dev.fencepost.effect.ReadBack;
import dev.fencepost.effect.Receipt;
import dev.fencepost.effect.Sink;
import dev.fencepost.effect.SinkDefinition;
import dev.fencepost.host.Programs.Ended;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A branch of a git repository, guarded by a token that lies in that repository itself.
 *
 * <p>Branch and token ref go in one atomic push that names what both have to be before. So it is the remote that refuses: of two senders
 * that both believe to be allowed, one finds the refs moved, looks again, and sees the other's token. Refs of this sink are moved in no
 * other way, and for that reason an effect that is not in the chain now cannot come into it by a push that began before: read-back may
 * say "absent".
 *
 * <p>A token ref that is not there yet is made first, by a push of its own: a remote that hides such refs from writers takes the other
 * part of an "atomic" push all the same, and the branch would move without its token.
 */
public final class GitSink implements Sink {

    private static final int MAX_ROUNDS = 8;

    private final SinkDefinition.Git definition;
    private final GitRepositories repositories;
    private final String branchRef;

    public GitSink(SinkDefinition.Git definition, GitRepositories repositories) {
        this.definition = definition;
        this.repositories = repositories;
        this.branchRef = "refs/heads/" + definition.branch();
    }

    @Override
    public Duration timeLimit() {
        return definition.timeLimit();
    }

    /** None: the remote knows the token. */
    @Override
    public Duration lockDelay() {
        return Duration.ZERO;
    }

    @Override
    public boolean isIdempotent() {
        return false;
    }

    @Override
    public int maxTries() {
        return 0;
    }

    @Override
    public Delivery deliver(Effect effect) throws InterruptedException {
        try (GitRepository repository = repositories.open(definition, definition.timeLimit())) {
            return deliver(effect, repository);
        } catch (IOException e) { // before the push: what comes of that is an answer
            return new Delivery.NotNow(String.valueOf(e.getMessage()), null);
        }
    }

    private Delivery deliver(Effect effect, GitRepository repository) throws IOException, InterruptedException {
        String commit = String.valueOf(effect.content().target());
        if (!GitRepository.COMMIT.matcher(commit).matches()) {
            return new Delivery.Dead("the stored effect names no commit", null);
        }
        String tokenRef = tokenRef(effect.pair().resource());
        String why = "";
        for (int round = 0; round < MAX_ROUNDS && !repository.isOutOfTime(); round++) {
            Map<String, String> refs = repository.fetch(branchRef, tokenRef);
            String head = refs.get(branchRef);
            String tip = refs.get(tokenRef);
            TokenChain chain = new TokenChain(repository, tip);
            TokenChain.Entry known = chain.entry(effect.key());
            if (known != null) {
                return new Delivery.Confirmed(receipt(known));
            }
            Fence accepted = chain.fence(effect.pair().resource());
            if (!accepted.lets(effect.fence(), effect.runId()) && !effect.override()) {
                return refused(effect, accepted);
            }
            String missing = unpack(effect, commit, repository);
            if (missing != null) {
                return new Delivery.Dead(missing, null);
            }
            Landing landing = landing(commit, head, repository);
            if (landing.conflict() != null) {
                return kept(effect, commit, landing.conflict(), repository);
            }
            if (tip == null) {
                Push begun = repository.push(List.of(new Update(tokenRef, null, chain.begun(effect))));
                if (begun.how() == Pushed.REFUSED) {
                    return new Delivery.Dead(begun.text() + hint(begun.text(), tokenRef), null);
                }
                if (begun.how() != Pushed.DONE && begun.how() != Pushed.MOVED) {
                    return new Delivery.NotNow("no token ref could be made yet: " + begun.text(), null);
                }
                continue;
            }
            String fresh = landing.head();
            List<Update> updates = new ArrayList<>();
            if (!fresh.equals(head) && landing.moves()) {
                updates.add(new Update(branchRef, head, fresh));
            }
            updates.add(new Update(tokenRef, tip, chain.advanced(effect, accepted, fresh, definition.branch())));
            Push push;
            try {
                push = repository.push(updates);
            } catch (IOException notStarted) {
                return new Delivery.NotNow(String.valueOf(notStarted.getMessage()), null);
            }
            switch (push.how()) {
                case DONE -> {
                    return new Delivery.Confirmed(receipt(new TokenChain.Entry(fresh, definition.branch())));
                }
                case REFUSED -> {
                    return new Delivery.Dead(push.text() + hint(push.text(), tokenRef), null);
                }
                case NOT_SENT -> {
                    return new Delivery.NotNow(push.text(), null);
                }
                case UNKNOWN -> {
                    return new Delivery.Unknown(push.text());
                }
                case MOVED -> why = push.text();
            }
        }
        return new Delivery.NotNow("the remote moved again and again while this was sent: " + why, null);
    }

    private static Delivery refused(Effect effect, Fence accepted) {
        String twin = accepted.fence() == effect.fence().value() ? ", given to the run " + accepted.runId() : "";
        return new Delivery.Refused(
                "the remote has accepted token " + accepted.fence() + twin + "; this is token " + effect.fence()
                        + (twin.isEmpty() ? "" : " of the run " + effect.runId()),
                accepted.fence());
    }

    private static String hint(String text, String tokenRef) {
        return text.contains(tokenRef)
                ? "; if the remote does not take refs such as " + tokenRef + ", set fence-ref to another one"
                : "";
    }

    /** @return why it cannot be had, or null */
    private @Nullable String unpack(Effect effect, String commit, GitRepository repository)
            throws IOException, InterruptedException {
        Path bundle = Files.createTempFile("fencepost", ".bundle");
        try {
            Files.write(bundle, effect.content().bytes());
            Ended ended = repository.run("bundle", "unbundle", bundle.toString());
            if (ended.timedOut()) {
                throw new IOException(repository.words(ended));
            }
            if (!ended.isFine()) {
                return "the commit " + commit + " does not fit on the remote any more, its history was rewritten: "
                        + repository.words(ended);
            }
        } finally {
            Files.deleteIfExists(bundle);
        }
        return repository.hasCommit(commit) ? null : "the stored bundle does not hold the commit " + commit;
    }

    /**
     * What the branch becomes.
     *
     * @param moves whether it has to be pushed
     * @param conflict why it cannot be, or null
     */
    private record Landing(
            String head, boolean moves, @Nullable String conflict) {}

    private Landing landing(String commit, @Nullable String head, GitRepository repository)
            throws IOException, InterruptedException {
        String[] ids =
                repository.line("rev-list", "--parents", "-n", "1", commit).split(" ", -1);
        String parent = ids.length > 1 ? ids[1] : null;
        if (head == null) {
            return parent == null
                    ? new Landing(commit, true, null)
                    : new Landing(commit, false, "branch " + definition.branch() + " is gone from the remote");
        }
        if (head.equals(parent)) {
            return new Landing(commit, true, null);
        }
        if (repository.isAncestor(commit, head)) {
            return new Landing(commit, false, null);
        }
        Ended merged = merged(commit, parent, head, repository);
        String tree = GitRepository.firstLine(merged);
        if (merged.timedOut()) {
            throw new IOException(repository.words(merged));
        }
        if (!merged.isFine()) {
            String what =
                    merged.code() == 1 ? conflicts(merged) : "this git cannot rebase: " + repository.words(merged);
            return new Landing(commit, false, "conflict with " + head + " on " + definition.branch() + what);
        }
        if (tree.equals(repository.line("rev-parse", head + "^{tree}"))) {
            return new Landing(head, false, null); // somebody made the same change
        }
        return new Landing(repository.moved(commit, tree, head), true, null);
    }

    /**
     * The tree of the head with the commit's change. git takes as the base of a merge the newest common ancestor, which is an older one
     * where the branch was rewritten, and would then bring back what was taken away. So the head's tree is given as a child of the
     * commit's parent.
     */
    private static Ended merged(String commit, @Nullable String parent, String head, GitRepository repository)
            throws IOException, InterruptedException {
        if (parent == null) {
            return repository.run(
                    "merge-tree", "--write-tree", "--name-only", "--allow-unrelated-histories", head, commit);
        }
        String ours = repository.moved(commit, repository.line("rev-parse", head + "^{tree}"), parent);
        return repository.run("merge-tree", "--write-tree", "--name-only", ours, commit);
    }

    /** The names that git lists after the tree, up to an empty line. */
    private static String conflicts(Ended merged) {
        List<String> names = merged.text()
                .lines()
                .skip(1)
                .takeWhile(line -> !line.isEmpty())
                .limit(5)
                .toList();
        return names.isEmpty() ? "" : " in " + String.join(", ", names);
    }

    /** Puts the commit on a branch of its own: paid work is never lost. */
    private Delivery kept(Effect effect, String commit, String conflict, GitRepository repository)
            throws IOException, InterruptedException {
        String slot = effect.slotKey().replace(":", "").replace('/', '-');
        String plain = "fencepost/" + asRefName(effect.job()) + "/" + asRefName(slot);
        String text = "";
        for (String branch : List.of(plain, plain + "-" + commit.substring(0, 12))) {
            String ref = "refs/heads/" + branch;
            String there = repository.fetch(ref).get(ref);
            if (there != null && !there.equals(commit)) {
                continue;
            }
            Push push =
                    there != null ? new Push(Pushed.DONE, "") : repository.push(List.of(new Update(ref, null, commit)));
            text = push.text();
            switch (push.how()) {
                case DONE -> {
                    return new Delivery.Dead(
                            conflict + "; the commit is kept on branch " + branch,
                            new Receipt("commit " + commit + " on " + branch));
                }
                case REFUSED -> {
                    return new Delivery.Dead(
                            conflict + "; it could not be kept on branch " + branch + ": " + text, null);
                }
                default -> {
                    // for the branch that the effect is for, nothing was sent
                }
            }
            break;
        }
        return new Delivery.NotNow(conflict + "; it is not yet kept on a branch of its own: " + text, null);
    }

    @Override
    public ReadBack readBack(Effect effect) throws InterruptedException {
        String commit = String.valueOf(effect.content().target());
        String tokenRef = tokenRef(effect.pair().resource());
        try (GitRepository repository = repositories.open(definition, definition.timeLimit())) {
            Map<String, String> refs = repository.fetch(branchRef, tokenRef);
            TokenChain.Entry entry = new TokenChain(repository, refs.get(tokenRef)).entry(effect.key());
            if (entry != null) {
                return new ReadBack.Found(receipt(entry));
            }
            String head = refs.get(branchRef);
            if (head != null
                    && GitRepository.COMMIT.matcher(commit).matches()
                    && repository.hasCommit(commit)
                    && repository.isAncestor(commit, head)) {
                return new ReadBack.Found(receipt(new TokenChain.Entry(commit, definition.branch())));
            }
            return new ReadBack.Absent("neither is the key in " + tokenRef + " nor the commit in branch "
                    + definition.branch() + " of the remote");
        } catch (IOException e) {
            return new ReadBack.NoAnswer(String.valueOf(e.getMessage()));
        }
    }

    private static Receipt receipt(TokenChain.Entry entry) {
        return new Receipt("commit " + entry.commit() + " on " + entry.branch());
    }

    private String tokenRef(String resource) {
        return definition.fenceRef() != null ? definition.fenceRef() : "refs/fencepost/" + asRefName(resource);
    }

    /** Names of jobs are names of refs but for some dots; those of work items may hold anything. */
    private static String asRefName(String resource) {
        StringBuilder name = new StringBuilder();
        byte[] bytes = resource.getBytes(StandardCharsets.UTF_8);
        for (int i = 0; i < bytes.length; i++) {
            int b = bytes[i];
            boolean letter = b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9';
            boolean dot = b == '.' && i > 0 && i + 1 < bytes.length && bytes[i - 1] != '.' && bytes[i + 1] != 'l';
            name.append(letter || dot || b == '_' || b == '-' && i > 0 ? "" + (char) b : "%%%02X".formatted(b & 0xff));
        }
        return name.toString();
    }
}
