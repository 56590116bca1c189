package dev.fencepost.edge.sink;

import static dev.fencepost.edge.sink.GitSite.TOKEN_REF;
import static dev.fencepost.edge.sink.GitSite.effect;
import static dev.fencepost.edge.sink.GitSite.run;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpServer;
import dev.fencepost.edge.sink.GitSite.Node;
import dev.fencepost.effect.Announcement;
import dev.fencepost.effect.Delivery;
import dev.fencepost.effect.Effect;
import dev.fencepost.effect.ReadBack;
import dev.fencepost.effect.Receipt;
import dev.fencepost.effect.SinkDefinition;
import dev.fencepost.lease.RunId;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Real git, and a real bare repository as the remote; two state directories are two nodes. */
@SuppressWarnings("NullAway.Init")
class GitSinkTest {

    private static final Duration LIMIT = Duration.ofSeconds(30);

    private GitSite site;
    private SinkDefinition.Git definition;
    private Node one;
    private Node two;
    private String base;

    @BeforeEach
    void setUp(@TempDir Path root) throws Exception {
        site = new GitSite(root);
        base = site.push(Map.of("content/old.md", "old\n", "README", "read me\n"));
        definition = site.definition("content");
        one = site.node("one");
        two = site.node("two");
    }

    @Test
    void commitLandsWithItsTokenAndItsReceipt() throws Exception {
        Announcement work = one.work(definition, "content/new.md", "new\n");
        RunId run = run();
        Receipt receipt = confirmed(one, effect(work, 7, run));
        String commit = commit(work);
        assertEquals("commit " + commit + " on main", receipt.text());
        assertEquals(commit, site.head("refs/heads/main"));
        assertEquals("new", site.file("main", "content/new.md"));
        assertEquals(base, site.git(site.remote, "rev-parse", "main^"));
        assertEquals(
                "Agent <agent@example> 1774746000 Agent <agent@example> 1774746000",
                site.git(site.remote, "log", "-1", "--format=%an <%ae> %at %cn <%ce> %ct", "main"));
        assertEquals(
                "Key: article@2026-03-29T01:00:00Z/git\nToken: 7\nRun: " + run + "\nCommit: " + commit
                        + "\nBranch: main",
                tokenMessage());
    }

    @Test
    void emptyRemoteGetsItsFirstCommitAndWhatAlsoBeganFromNothingIsRebased(@TempDir Path other) throws Exception {
        GitSite empty = new GitSite(other);
        Node node = empty.node("one");
        SinkDefinition.Git here = empty.definition();
        Announcement first = node.work(here, "a.md", "a\n");
        Announcement second = empty.node("two").work(here, "b.md", "b\n");
        assertInstanceOf(Delivery.Confirmed.class, node.sink(here).deliver(effect(first, 1, run())));
        assertEquals(commit(first), empty.head("refs/heads/main"));
        assertInstanceOf(Delivery.Confirmed.class, node.sink(here).deliver(effect(second, "another", 2, run(), false)));
        assertEquals("a.md\nb.md", empty.files("main"));
    }

    @Test
    void sendingAgainFromAnotherNodeChangesNothingAndHasTheSameReceipt() throws Exception {
        Effect effect = effect(one.work(definition, "content/new.md", "new\n"), 7, run());
        Receipt first = confirmed(one, effect);
        String token = site.head(TOKEN_REF);
        String head = site.push(Map.of("content/other.md", "other\n"));
        assertEquals(first, confirmed(two, effect));
        assertEquals(head, site.head("refs/heads/main"));
        assertEquals(token, site.head(TOKEN_REF));
        assertEquals(first, found(two, effect));
    }

    @Test
    void twoNodesThatSendTheSameMakeTheSameCommits() throws Exception {
        Announcement work = one.work(definition, "content/new.md", "new\n");
        site.push(Map.of("content/other.md", "other\n"));
        Effect effect = effect(work, 7, run());
        Path copy = site.root.resolve("copy.git");
        site.git(site.root, "clone", "--quiet", "--mirror", site.remote.toString(), copy.toString());
        confirmed(one, effect);
        SinkDefinition.Git elsewhere = GitSite.definition(copy.toString(), null, null, LIMIT, "content");
        assertInstanceOf(Delivery.Confirmed.class, two.sink(elsewhere).deliver(effect));
        assertEquals(site.head("refs/heads/main"), site.git(copy, "rev-parse", "main"));
        assertEquals(site.head(TOKEN_REF), site.git(copy, "rev-parse", TOKEN_REF));
        assertNotEquals(commit(work), site.head("refs/heads/main"), "it was rebased");
    }

    @Test
    void aMovedBranchIsRebasedWithTheSameAuthorDatesAndMessage() throws Exception {
        Announcement work = one.work(definition, "content/new.md", "new\n");
        String head = site.push(Map.of("content/other.md", "other\n", "README", "changed\n"));
        Receipt receipt = confirmed(two, effect(work, 7, run()));
        assertEquals("commit " + site.head("refs/heads/main") + " on main", receipt.text());
        assertEquals(head, site.git(site.remote, "rev-parse", "main^"));
        assertEquals("new", site.file("main", "content/new.md"));
        assertEquals("changed", site.file("main", "README"), "what the base had does not come back");
        assertEquals(
                "Agent 1774746000 1774746000 article 2026-03-29T01:00:00Z",
                site.git(site.remote, "log", "-1", "--format=%an %at %ct %s", "main"));
    }

    @Test
    void aRewrittenBranchDoesNotGetBackWhatWasTakenAway() throws Exception {
        site.push(Map.of("content/mistake.md", "to be taken away\n"));
        Announcement work = one.work(definition, "content/new.md", "new\n");
        site.git(site.remote, "update-ref", "refs/heads/main", base);
        confirmed(one, effect(work, 7, run()));
        assertEquals("README\ncontent/new.md\ncontent/old.md", site.files("main"));
        assertEquals(base, site.git(site.remote, "rev-parse", "main^"));
    }

    @Test
    void aChangeThatIsThereAlreadyIsConfirmedWithTheHead() throws Exception {
        Announcement work = one.work(definition, "content/new.md", "new\n");
        String head = site.push(Map.of("content/new.md", "new\n"));
        assertEquals(
                "commit " + head + " on main",
                confirmed(one, effect(work, 7, run())).text());
        assertEquals(head, site.head("refs/heads/main"));
        assertTrue(tokenMessage().contains("Commit: " + head), tokenMessage());
    }

    @Test
    void aConflictIsKeptOnABranchOfItsOwn() throws Exception {
        Announcement work = one.work(definition, "content/old.md", "mine\n");
        String head = site.push(Map.of("content/old.md", "theirs\n"));
        Effect effect = effect(work, 7, run());
        String branch = "fencepost/article/2026-03-29T010000Z";
        for (Node node : List.of(one, two, one)) { // also when it is sent again
            Delivery.Dead dead = dead(node, effect);
            assertTrue(dead.reason().contains("conflict with " + head + " on main in content/old.md"), dead.reason());
            assertTrue(dead.reason().contains("kept on branch " + branch), dead.reason());
            assertEquals(
                    "commit " + commit(work) + " on " + branch,
                    Objects.requireNonNull(dead.kept()).text());
            assertEquals(commit(work), site.head("refs/heads/" + branch));
        }
        assertEquals(head, site.head("refs/heads/main"));
        assertEquals("", site.head(TOKEN_REF), "nothing was accepted");
        assertInstanceOf(ReadBack.Absent.class, two.sink(definition).readBack(effect));
    }

    @Test
    void anotherConflictOfTheSameSlotIsKeptBesideIt() throws Exception {
        Announcement work = one.work(definition, "content/old.md", "mine\n");
        Announcement other = one.work(definition, "content/old.md", "mine too\n");
        site.push(Map.of("content/old.md", "theirs\n"));
        dead(one, effect(work, 7, run()));
        String branch = "fencepost/article/2026-03-29T010000Z-" + commit(other).substring(0, 12);
        assertTrue(dead(one, effect(other, 8, run())).reason().contains(branch));
        assertEquals(commit(other), site.head("refs/heads/" + branch));
    }

    @Test
    void aBranchThatIsGoneIsNotBroughtBack() throws Exception {
        Announcement work = one.work(definition, "content/new.md", "new\n");
        site.git(site.remote, "update-ref", "-d", "refs/heads/main");
        Delivery.Dead dead = dead(one, effect(work, 7, run()));
        assertTrue(dead.reason().contains("branch main is gone"), dead.reason());
        assertTrue(dead.reason().contains("kept on branch"), dead.reason());
        assertEquals("", site.head("refs/heads/main"));
    }

    @Test
    void anOldTokenIsRefusedByTheRemoteItself() throws Exception {
        Announcement late = one.work(definition, "content/late.md", "late\n");
        Announcement next = two.work(definition, "content/next.md", "next\n");
        confirmed(two, effect(next, "next", 8, run(), false));
        String head = site.head("refs/heads/main");
        Delivery.Refused refused = refused(one, effect(late, 7, run()));
        assertEquals(8L, refused.newest());
        assertTrue(refused.reason().contains("accepted token 8; this is token 7"), refused.reason());
        assertEquals(head, site.head("refs/heads/main"));
        assertInstanceOf(ReadBack.Absent.class, one.sink(definition).readBack(effect(late, 7, run())));
    }

    @Test
    void aTwinWithTheSameTokenIsRefusedAndASecondEffectOfTheRunPasses() throws Exception {
        RunId run = run();
        Announcement first = one.work(definition, "content/a.md", "a\n");
        Announcement second = one.work(definition, "content/b.md", "b\n");
        Announcement twins = two.work(definition, "content/c.md", "c\n");
        confirmed(one, effect(first, 7, run));
        Delivery.Refused refused = refused(two, effect(twins, "twin", 7, run(), false));
        assertTrue(refused.reason().contains("given to the run " + run), refused.reason());
        confirmed(one, effect(second, "second", 7, run, false));
        assertEquals("README\ncontent/a.md\ncontent/b.md\ncontent/old.md", site.files("main"));
    }

    @Test
    void anOverrideIsSentAndRecordedAndLowersNothing() throws Exception {
        Announcement late = one.work(definition, "content/late.md", "late\n");
        Announcement next = two.work(definition, "content/next.md", "next\n");
        Announcement another = one.work(definition, "content/another.md", "another\n");
        RunId newer = run();
        confirmed(two, effect(next, "next", 8, newer, false));
        confirmed(one, effect(late, "late", 7, run(), true));
        assertEquals("late", site.file("main", "content/late.md"));
        assertTrue(tokenMessage().contains("Token: 8\nRun: " + newer + "\n"), tokenMessage());
        assertTrue(tokenMessage().endsWith("\nOverride: 7"), tokenMessage());
        refused(one, effect(another, "another", 7, run(), false));
    }

    @Test
    void theWholeChainIsSearchedAndOnlyForTheExactKey() throws Exception {
        Announcement work = one.work(definition, "content/a.md", "a\n");
        Effect umlaut = effect(work, "schlüssel.1", 7, run(), false);
        Receipt first = confirmed(one, umlaut);
        Announcement plain = one.work(definition, "content/b.md", "b\n");
        Effect ascii = effect(plain, "more", 8, run(), false);
        Receipt second = confirmed(one, ascii);
        for (int i = 0; i < 2; i++) {
            Announcement more = one.work(definition, "content/" + i + ".md", i + "\n");
            confirmed(one, effect(more, "last" + i, 9 + i, run(), false));
        }
        assertEquals("5", site.git(site.remote, "rev-list", "--count", TOKEN_REF), "four and the beginning");
        assertEquals(first, found(two, umlaut));
        assertEquals(first, confirmed(two, umlaut));
        assertEquals(second, found(two, ascii));
        Announcement never = two.work(definition, "content/never.md", "never\n");
        for (String part : List.of("schlüssel", "schlüssel.", "mor", "ore", "m.re", "last", "Key: more")) {
            assertInstanceOf(
                    ReadBack.Absent.class,
                    two.sink(definition).readBack(effect(never, part, 7, run(), false)),
                    part + " is no key");
        }
    }

    @Test
    void aCommitThatSomebodyPushedByHandIsFoundAndNotSentTwice() throws Exception {
        Announcement work = one.work(definition, "content/new.md", "new\n");
        Path bundle = site.root.resolve("by-hand.bundle");
        Files.write(bundle, work.content().bytes());
        site.git(site.remote, "bundle", "unbundle", bundle.toString());
        site.git(site.remote, "update-ref", "refs/heads/main", commit(work));
        String head = site.push(Map.of("README", "more\n"));
        Effect effect = effect(work, 7, run());
        String receipt = "commit " + commit(work) + " on main";
        assertEquals(receipt, found(two, effect).text());
        assertEquals(receipt, confirmed(two, effect).text());
        assertEquals(head, site.head("refs/heads/main"));
        assertTrue(tokenMessage().contains("Token: 7"), "the token is advanced all the same");
    }

    @Test
    void branchAndTokenMoveTogetherOrNotAtAll() throws Exception {
        Announcement work = one.work(definition, "content/new.md", "new\n");
        site.hook("update", "case $1 in refs/fencepost/*) echo no such refs >&2; exit 1;; esac");
        Delivery.Dead dead = dead(one, effect(work, 7, run()));
        assertEquals(base, site.head("refs/heads/main"));
        assertEquals("", site.head(TOKEN_REF));
        assertTrue(dead.reason().contains("no such refs"), dead.reason());
        assertTrue(dead.reason().contains("set fence-ref"), dead.reason());
        SinkDefinition.Git other =
                GitSite.definition(site.remote.toString(), null, "refs/heads/fencepost-token", LIMIT, "content");
        assertInstanceOf(Delivery.Confirmed.class, one.sink(other).deliver(effect(work, 7, run())));
        assertEquals(commit(work), site.head("refs/heads/main"));
        assertNotEquals("", site.head("refs/heads/fencepost-token"));
    }

    @Test
    void hiddenRefsAndMissingAtomicityAreSaid() throws Exception {
        Announcement work = one.work(definition, "content/new.md", "new\n");
        site.git(site.remote, "config", "receive.hideRefs", "refs/fencepost");
        Delivery.Dead hidden = dead(one, effect(work, 7, run()));
        assertTrue(hidden.reason().contains("hidden ref"), hidden.reason());
        assertTrue(hidden.reason().contains("set fence-ref"), hidden.reason());
        assertEquals(base, site.head("refs/heads/main"), "the branch does not move without its token");
        site.git(site.remote, "config", "--unset", "receive.hideRefs");
        site.git(site.remote, "config", "receive.advertiseAtomic", "false");
        Delivery.Dead plain = dead(one, effect(work, 7, run()));
        assertTrue(plain.reason().contains("does not support atomic pushes"), plain.reason());
        assertEquals(base, site.head("refs/heads/main"));
    }

    @Test
    void aTokenRefThatIsHiddenLaterLetsNothingPass() throws Exception {
        confirmed(one, effect(one.work(definition, "content/first.md", "first\n"), "first", 6, run(), false));
        String head = site.head("refs/heads/main");
        site.git(site.remote, "config", "receive.hideRefs", "refs/fencepost");
        notNow(definition, effect(one.work(definition, "content/new.md", "new\n"), 7, run()));
        assertEquals(head, site.head("refs/heads/main"));
    }

    @Test
    void theRemotesHookMayRefuseTheBranch() throws Exception {
        Announcement work = one.work(definition, "content/new.md", "new\n");
        site.hook("pre-receive", "echo this branch is protected >&2; exit 1");
        Delivery.Dead dead = dead(one, effect(work, 7, run()));
        assertTrue(dead.reason().contains("pre-receive hook declined"), dead.reason());
        assertTrue(dead.reason().contains("this branch is protected"), dead.reason());
    }

    /** The hook moves the branch in the middle of our push, as another push may: ours is refused, and done again on top. */
    @Test
    void aRemoteThatMovesMeanwhileIsTriedAgain() throws Exception {
        Announcement work = one.work(definition, "content/new.md", "new\n");
        String between = site.push(Map.of("content/between.md", "between\n"));
        site.git(site.remote, "update-ref", "refs/heads/main", base);
        moveOnce("refs/heads/main " + between);
        confirmed(one, effect(work, 7, run()));
        assertEquals(between, site.git(site.remote, "rev-parse", "main^"));
        assertEquals("new", site.file("main", "content/new.md"));
    }

    /** Between our look at the token and our push a newer run is accepted: the round after it sees that. */
    @Test
    void aNewerTokenThatComesMeanwhileWins() throws Exception {
        Announcement late = one.work(definition, "content/late.md", "late\n");
        Announcement next = two.work(definition, "content/next.md", "next\n");
        confirmed(two, effect(next, "next", 8, run(), false));
        String token = site.head(TOKEN_REF);
        String head = site.head("refs/heads/main");
        site.git(site.remote, "update-ref", "refs/heads/main", base);
        site.git(site.remote, "update-ref", TOKEN_REF, TOKEN_REF + "^"); // the chain's beginning
        moveOnce("refs/heads/main " + head, TOKEN_REF + " " + token);
        assertEquals(8L, refused(one, effect(late, 7, run())).newest());
        assertEquals(head, site.head("refs/heads/main"));
        assertEquals(token, site.head(TOKEN_REF));
    }

    /** The push names what was seen of the refs, so that the remote sees whether they are still that. */
    @Test
    void aNewerTokenThatComesBetweenTheLookAndThePushWins() throws Exception {
        Announcement late = one.work(definition, "content/late.md", "late\n");
        Announcement next = two.work(definition, "content/next.md", "next\n");
        confirmed(two, effect(next, "next", 8, run(), false));
        String token = site.head(TOKEN_REF);
        String head = site.head("refs/heads/main");
        site.git(site.remote, "update-ref", "refs/heads/main", base);
        site.git(site.remote, "update-ref", TOKEN_REF, TOKEN_REF + "^"); // the chain's beginning
        AtomicBoolean moved = new AtomicBoolean();
        Node frozen = site.node("frozen", (command, environment, workingDir, stdin, limit) -> {
            if (command.contains("push") && moved.compareAndSet(false, true)) {
                site.git(site.remote, "update-ref", "refs/heads/main", head);
                site.git(site.remote, "update-ref", TOKEN_REF, token);
            }
            return site.programs.run(command, environment, workingDir, stdin, limit);
        });
        assertEquals(8L, refused(frozen, effect(late, 7, run())).newest());
        assertTrue(moved.get());
        assertEquals(head, site.head("refs/heads/main"));
        assertEquals(token, site.head(TOKEN_REF));
    }

    private void moveOnce(String... updates) throws IOException {
        site.hook(
                "pre-receive",
                "grep -q refs/heads/main || exit 0; [ -e once ] && exit 0; touch once; unset GIT_QUARANTINE_PATH; "
                        + Stream.of(updates)
                                .map(update -> "git update-ref " + update)
                                .collect(Collectors.joining(" && ")));
    }

    @Test
    void manySendersAtOnceLandOneAfterTheOtherOrAreRefused() throws Exception {
        List<Effect> effects = new ArrayList<>();
        for (int i = 1; i <= 6; i++) {
            Announcement work = one.work(definition, "content/" + i + ".md", i + "\n");
            effects.add(effect(work, "key" + i, i, run(), false));
        }
        List<Delivery> answers = new CopyOnWriteArrayList<>();
        List<Thread> threads = new ArrayList<>();
        for (Effect effect : effects) {
            Node node = site.node("node-" + effect.key());
            threads.add(Thread.ofPlatform().start(() -> {
                try {
                    answers.add(node.sink(definition).deliver(effect));
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }));
        }
        for (Thread thread : threads) {
            thread.join();
        }
        assertEquals(6, answers.size());
        long landed =
                answers.stream().filter(Delivery.Confirmed.class::isInstance).count();
        assertTrue(landed >= 1, answers::toString);
        assertTrue(
                answers.stream()
                        .noneMatch(answer -> answer instanceof Delivery.Dead || answer instanceof Delivery.Unknown),
                answers::toString);
        assertEquals(Long.toString(landed + 1), site.git(site.remote, "rev-list", "--count", TOKEN_REF));
        assertEquals(Long.toString(landed), site.git(site.remote, "rev-list", "--count", base + "..main"));
        List<String> tokens = site.git(site.remote, "log", "--reverse", "--format=%B", TOKEN_REF)
                .lines()
                .filter(line -> line.startsWith("Token: "))
                .toList();
        assertEquals(tokens.stream().sorted().toList(), tokens, "tokens only rise");
    }

    /** The remote accepts, and dies before it says so: its hook kills the process that talks to us. */
    @Test
    void aConnectionThatIsCutAfterAcceptanceIsUnknownAndThenFound() throws Exception {
        Announcement work = one.work(definition, "content/new.md", "new\n");
        Effect effect = effect(work, 7, run());
        site.hook("post-receive", "grep -q refs/heads/main && kill -9 $PPID; exit 0");
        Delivery.Unknown unknown =
                assertInstanceOf(Delivery.Unknown.class, one.sink(definition).deliver(effect));
        assertTrue(unknown.reason().contains("middle of the push"), unknown.reason());
        assertEquals(commit(work), site.head("refs/heads/main"));
        Files.delete(site.remote.resolve("hooks/post-receive"));
        for (Node node : List.of(one, two)) {
            assertEquals(
                    "commit " + commit(work) + " on main", found(node, effect).text());
        }
    }

    @Test
    void aConnectionThatIsCutBeforeAcceptanceIsUnknownAndThenAbsent() throws Exception {
        Announcement work = one.work(definition, "content/new.md", "new\n");
        Effect effect = effect(work, 7, run());
        site.hook("pre-receive", "grep -q refs/heads/main && kill -9 $PPID; exit 0");
        assertInstanceOf(Delivery.Unknown.class, one.sink(definition).deliver(effect));
        Files.delete(site.remote.resolve("hooks/pre-receive"));
        assertInstanceOf(ReadBack.Absent.class, one.sink(definition).readBack(effect));
        confirmed(two, effect);
        assertEquals(commit(work), site.head("refs/heads/main"));
    }

    @Test
    void aPushThatTakesTooLongIsUnknownAndItsProcessesAreGone() throws Exception {
        Announcement work = one.work(definition, "content/new.md", "new\n");
        SinkDefinition.Git hasty =
                GitSite.definition(site.remote.toString(), null, null, Duration.ofSeconds(5), "content");
        String number = Long.toString(System.nanoTime());
        site.hook("pre-receive", "grep -q refs/heads/main && sleep " + number + "; exit 0");
        long start = System.nanoTime();
        Delivery.Unknown unknown =
                assertInstanceOf(Delivery.Unknown.class, one.sink(hasty).deliver(effect(work, 7, run())));
        assertTrue(unknown.reason().contains("time limit"), unknown.reason());
        assertTrue(System.nanoTime() - start < 15_000_000_000L, "it took too long");
        assertEquals("", commandLines(number), "what is left could still push");
    }

    private static String commandLines(String part) {
        return ProcessHandle.allProcesses()
                .flatMap(process -> process.info().commandLine().stream())
                .filter(line -> line.contains(part))
                .collect(Collectors.joining("\n"));
    }

    @Test
    void lockFilesOfADeadRunnerDoNotBlock() throws Exception {
        Announcement work = one.work(definition, "content/new.md", "new\n");
        Path repository;
        try (Stream<Path> files = Files.list(one.state.resolve("git"))) {
            repository = files.filter(file -> file.toString().endsWith(".git"))
                    .findFirst()
                    .orElseThrow();
        }
        for (String lock :
                List.of("index.lock", "shallow.lock", "packed-refs.lock", "HEAD.lock", "refs/mirror/heads/main.lock")) {
            Files.createDirectories(repository.resolve(lock).resolveSibling("."));
            Files.writeString(repository.resolve(lock), "");
        }
        site.push(Map.of("content/other.md", "other\n"));
        confirmed(one, effect(work, 7, run()));
        try (Stream<Path> left = Files.walk(repository)) {
            assertEquals(
                    List.of(),
                    left.filter(file -> file.toString().endsWith(".lock")).toList());
        }
    }

    @Test
    void aRemoteThatIsNotThereIsNotNow() throws Exception {
        Effect effect = effect(one.work(definition, "content/new.md", "new\n"), 7, run());
        Files.move(site.remote, site.root.resolve("moved.git"));
        Delivery.NotNow notNow = notNow(definition, effect);
        assertTrue(notNow.reason().contains("does not answer"), notNow.reason());
        assertInstanceOf(ReadBack.NoAnswer.class, one.sink(definition).readBack(effect));
    }

    @Test
    void nobodyIsAskedForAPasswordAndNothingOfTheAddressIsSaid() throws Exception {
        Effect effect = effect(one.work(definition, "content/new.md", "new\n"), 7, run());
        List<String> shown = new CopyOnWriteArrayList<>();
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", exchange -> {
            shown.add(String.valueOf(exchange.getRequestHeaders().getFirst("Authorization")));
            exchange.getResponseHeaders().set("WWW-Authenticate", "Basic realm=\"git\"");
            exchange.sendResponseHeaders(401, -1);
            exchange.close();
        });
        server.start();
        try {
            String host = "127.0.0.1:" + server.getAddress().getPort();
            for (String user : List.of("", "someuser@", "someuser:topsecret@")) {
                SinkDefinition.Git guarded =
                        GitSite.definition("http://" + user + host + "/blog.git", null, null, LIMIT, "content");
                long start = System.nanoTime();
                Delivery.NotNow notNow = notNow(guarded, effect);
                assertTrue(System.nanoTime() - start < 10_000_000_000L, "it waited for somebody");
                assertFalse(notNow.reason().contains("topsecret"), notNow.reason());
                assertFalse(notNow.reason().contains("someuser"), notNow.reason());
            }
        } finally {
            server.stop(0);
        }
        assertTrue(shown.contains("Basic c29tZXVzZXI6dG9wc2VjcmV0"), () -> "the password was not shown: " + shown);
    }

    @Test
    void noSecretOfTheAddressIsAnArgument() throws Exception {
        Effect effect = effect(one.work(definition, "content/new.md", "new\n"), 7, run());
        AtomicReference<String> seen = new AtomicReference<>("");
        try (ServerSocket silent = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            String port = Integer.toString(silent.getLocalPort());
            SinkDefinition.Git guarded = GitSite.definition(
                    "http://someuser:topsecret@127.0.0.1:" + port + "/blog.git", null, null, LIMIT, "content");
            Thread watcher = Thread.ofPlatform().start(() -> {
                try (Socket connection = silent.accept()) { // now git is at it
                    seen.set(commandLines(port));
                    connection.setSoLinger(true, 0);
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            });
            notNow(guarded, effect);
            watcher.join();
        }
        assertTrue(seen.get().contains("blog.git"), () -> "git was not seen: " + seen);
        assertFalse(seen.get().contains("topsecret"), seen::get);
        assertFalse(seen.get().contains("c29tZXVzZXI6dG9wc2VjcmV0"), seen::get);
    }

    @Test
    void sshIsGivenTheKeyAndTheHostsAndMayAskNobody() throws Exception {
        Effect effect = effect(one.work(definition, "content/new.md", "new\n"), 7, run());
        Path programs = Files.createDirectory(site.root.resolve("bin"));
        Path seen = site.root.resolve("seen");
        Path ssh = Files.writeString(
                programs.resolve("ssh"),
                "#!/bin/sh\nprintf '%s\\n' \"$@\" >" + seen + "; echo ask=$SSH_ASKPASS_REQUIRE >>" + seen
                        + "; echo 'Host key verification failed.' >&2; exit 255\n");
        assertTrue(ssh.toFile().setExecutable(true));
        site.environment.put("PATH", programs + ":.:/usr/bin:/bin");
        Node node = site.node("three");
        SinkDefinition.Git secure = new SinkDefinition.Git(
                "article/git",
                definition.maxAge(),
                null,
                "git@host.example:blog.git",
                "main",
                List.of(),
                "m",
                definition.author(),
                null,
                LIMIT,
                Path.of("/keys/it's 100%"),
                Path.of("/keys/known hosts"),
                null);
        Delivery.NotNow notNow =
                assertInstanceOf(Delivery.NotNow.class, node.sink(secure).deliver(effect));
        assertTrue(notNow.reason().contains("Host key verification failed"), notNow.reason());
        List<String> words = Files.readAllLines(seen);
        for (String word : List.of(
                "-oBatchMode=yes",
                "-oStrictHostKeyChecking=yes",
                "-oIdentitiesOnly=yes",
                "/keys/it's 100%%",
                "-oUserKnownHostsFile=\"/keys/known hosts\"",
                "git@host.example",
                "ask=never")) {
            assertTrue(words.contains(word), () -> word + " in " + words);
        }
    }

    @Test
    void credentialsComeFromTheConfiguredFileAlone() throws Exception {
        Effect effect = effect(one.work(definition, "content/new.md", "new\n"), 7, run());
        Files.writeString(
                site.root.resolve("home/.gitconfig"),
                "[credential]\n helper = \"!echo username=other; echo password=other; #\"\n");
        List<String> shown = new CopyOnWriteArrayList<>();
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", exchange -> {
            shown.add(String.valueOf(exchange.getRequestHeaders().getFirst("Authorization")));
            exchange.getResponseHeaders().set("WWW-Authenticate", "Basic realm=\"git\"");
            exchange.sendResponseHeaders(401, -1);
            exchange.close();
        });
        server.start();
        try {
            String host = "127.0.0.1:" + server.getAddress().getPort();
            Path file = Files.writeString(site.root.resolve("the credentials"), "http://u:topsecret@" + host + "\n");
            SinkDefinition.Git guarded = new SinkDefinition.Git(
                    "article/git",
                    definition.maxAge(),
                    null,
                    "http://" + host + "/blog.git",
                    "main",
                    List.of(),
                    "m",
                    definition.author(),
                    null,
                    LIMIT,
                    null,
                    null,
                    file);
            Delivery.NotNow notNow = notNow(guarded, effect);
            assertFalse(notNow.reason().contains("topsecret"), notNow.reason());
        } finally {
            server.stop(0);
        }
        assertEquals(
                List.of("null", "Basic dTp0b3BzZWNyZXQ="),
                shown.stream().distinct().toList());
    }

    @Test
    void tokensOfAnotherJobInTheSameFenceRefSayNothingOfOurs() throws Exception {
        SinkDefinition.Git shared =
                GitSite.definition(site.remote.toString(), null, "refs/fencepost/all", LIMIT, "content");
        Announcement first = one.work(shared, "content/first.md", "1\n");
        assertInstanceOf(Delivery.Confirmed.class, one.sink(shared).deliver(effect(first, 7, run())));
        Announcement work = one.work(shared, "content/new.md", "new\n");
        String before = site.head("refs/heads/main");
        for (long fence : List.of(3L, 7L, 9L)) {
            Delivery.NotNow no = notNow(shared, GitSite.effect(work, "other@1/git", "other", fence, run(), false));
            assertTrue(no.reason().contains("each job needs one of its own"), no.reason());
        }
        assertEquals(before, site.head("refs/heads/main"));
    }

    @Test
    void programsInTheAddressAreNotStarted() throws Exception {
        Effect effect = effect(one.work(definition, "content/new.md", "new\n"), 7, run());
        Path mark = site.root.resolve("mark");
        for (String address : List.of("ext::touch " + mark, "ext::sh -c touch% " + mark, "--upload-pack=x:y")) {
            notNow(GitSite.definition(address, null, null, LIMIT, "content"), effect);
        }
        assertFalse(Files.exists(mark));
        for (String address : List.of("ext://touch", "fd://7/x", "other://host/x")) {
            Delivery.NotNow no = notNow(GitSite.definition(address, null, null, LIMIT, "content"), effect);
            assertTrue(no.reason().contains("by none of https"), no.reason());
        }
    }

    @Test
    void aBundleWhoseBaseIsGoneFromTheRemoteIsDead() throws Exception {
        Announcement work = one.work(definition, "content/new.md", "new\n");
        site.git(site.remote, "update-ref", "-d", "refs/heads/main");
        site.git(site.remote, "gc", "--quiet", "--prune=now");
        Delivery.Dead dead = dead(two, effect(work, 7, run()));
        assertTrue(dead.reason().contains("history was rewritten"), dead.reason());
    }

    @Test
    void remoteIsLookedUpInTheLocalCloneWithoutCarryingOutAnythingOfIt() throws Exception {
        Path clone = site.root.resolve("clone");
        site.git(site.root, "clone", "--quiet", site.remote.toString(), clone.toString());
        Path mark = site.root.resolve("mark");
        site.git(clone, "config", "core.fsmonitor", "touch " + mark);
        site.git(clone, "config", "remote.origin.receivepack", "touch " + mark);
        SinkDefinition.Git named = GitSite.definition("origin", clone, null, LIMIT, "content");
        Announcement work = one.work(named, "content/new.md", "new\n");
        assertInstanceOf(Delivery.Confirmed.class, one.sink(named).deliver(effect(work, 7, run())));
        assertEquals(commit(work), site.head("refs/heads/main"));
        assertFalse(Files.exists(mark));
        Delivery.NotNow notNow =
                notNow(GitSite.definition("upstream", clone, null, LIMIT, "content"), effect(work, 7, run()));
        assertTrue(notNow.reason().contains("has no remote upstream"), notNow.reason());
    }

    private Receipt confirmed(Node node, Effect effect) throws InterruptedException {
        return assertInstanceOf(Delivery.Confirmed.class, node.sink(definition).deliver(effect))
                .receipt();
    }

    private Delivery.Dead dead(Node node, Effect effect) throws InterruptedException {
        return assertInstanceOf(Delivery.Dead.class, node.sink(definition).deliver(effect));
    }

    private Delivery.Refused refused(Node node, Effect effect) throws InterruptedException {
        return assertInstanceOf(Delivery.Refused.class, node.sink(definition).deliver(effect));
    }

    private Delivery.NotNow notNow(SinkDefinition.Git to, Effect effect) throws InterruptedException {
        return assertInstanceOf(Delivery.NotNow.class, one.sink(to).deliver(effect));
    }

    private Receipt found(Node node, Effect effect) throws InterruptedException {
        return assertInstanceOf(ReadBack.Found.class, node.sink(definition).readBack(effect))
                .receipt();
    }

    private String tokenMessage() throws Exception {
        return site.git(site.remote, "log", "-1", "--format=%b", TOKEN_REF);
    }

    private static String commit(Announcement work) {
        return String.valueOf(work.content().target());
    }
}
