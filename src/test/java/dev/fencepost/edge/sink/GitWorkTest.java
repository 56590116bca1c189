package dev.fencepost.edge.sink;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.edge.sink.GitSite.Node;
import dev.fencepost.edge.sink.GitSite.Run;
import dev.fencepost.effect.Announcement;
import dev.fencepost.effect.Content;
import dev.fencepost.effect.SinkDefinition;
import dev.fencepost.run.Job;
import dev.fencepost.run.Publication;
import dev.fencepost.run.Publications.Announced;
import dev.fencepost.run.Publications.Unpublishable;
import dev.fencepost.schedule.Slot;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The checkout of a run, and the commit that is made of what it left there. */
@SuppressWarnings("NullAway.Init")
class GitWorkTest {

    private GitSite site;
    private Node node;
    private String base;

    @BeforeEach
    void setUp(@TempDir Path root) throws Exception {
        site = new GitSite(root);
        base = site.push(Map.of("content/old.md", "old\n", "README", "read me\n"));
        node = site.node("one");
    }

    private Run open(String... paths) throws Exception {
        return node.open(GitSite.job(site.definition(paths), "hunter22"));
    }

    /** The commit of the only announcement, brought into the remote so that it can be looked at. */
    private String commit(Announced announced) throws Exception {
        assertEquals(1, announced.effects().size());
        assertFalse(announced.nothingToPublish());
        Announcement effect = announced.effects().getFirst();
        Path bundle = site.root.resolve("look.bundle");
        Files.write(bundle, effect.content().bytes());
        site.git(site.remote, "bundle", "unbundle", bundle.toString());
        return String.valueOf(effect.content().target());
    }

    private static String refusal(Run run) {
        return String.valueOf(assertThrows(Unpublishable.class, run::collect).getMessage());
    }

    @Test
    void aRunGetsAFreshCheckoutInWhichItMayWorkAndCommitButNotPush() throws Exception {
        Run run = open();
        assertEquals(base, run.place().base());
        assertEquals(run.worktree().toString(), run.place().environment().get("FENCEPOST_WORKTREE"));
        assertEquals(run.worktree(), run.place().workingDir());
        assertEquals("old\n", Files.readString(run.worktree().resolve("content/old.md")));
        assertEquals("", site.git(run.worktree(), "remote"));
        assertEquals("", site.git(run.worktree(), "status", "--porcelain"));
        assertEquals(base, site.git(run.worktree(), "rev-parse", "HEAD"));
        assertEquals("Agent", site.git(run.worktree(), "config", "--local", "user.name"));
        run.write("content/new.md", "new\n");
        site.git(run.worktree(), "add", "--all");
        site.git(run.worktree(), "commit", "--quiet", "-m", "of the agent");
        String commit = commit(run.collect());
        assertEquals("new", site.file(commit, "content/new.md"), "what it committed counts by its files");
        assertEquals(base, site.git(site.remote, "rev-parse", commit + "^"));
        assertEquals(
                "article 2026-03-29T01:00:00Z\n\nby article, try 1, token 7",
                site.git(site.remote, "log", "-1", "--format=%B", commit));
        node.publisher.close(run.job(), run.files(), run.place(), false);
        assertFalse(Files.exists(run.worktree()));
    }

    @Test
    void announcementTellsTheCommitAndTheSameWorkIsTheSameCommit() throws Exception {
        Announcement first = node.work(site.definition(), "content/new.md", "new\n");
        Announcement again = site.node("two").work(site.definition(), "content/new.md", "new\n");
        assertEquals("git", first.name());
        assertEquals("article@2026-03-29T01:00:00Z/git", first.key());
        assertEquals("article/git", first.sink());
        assertEquals("application/x-git-bundle", first.content().type());
        assertEquals(first.content().target(), again.content().target());
        assertEquals(first.digest(), again.digest());
        assertEquals(first.content().digestWithoutBytes("article/git"), first.digest());
        assertEquals(Duration.ofHours(24), first.maxAge());
    }

    @Test
    void noChangeAnnouncesNothing() throws Exception {
        Run run = open("content");
        Announced untouched = run.collect();
        assertEquals(List.of(), untouched.effects());
        assertTrue(untouched.nothingToPublish());
        run.write("elsewhere.txt", "not to be published\n");
        run.write("content/old.md", "old\n");
        assertTrue(run.collect().nothingToPublish());
        assertTrue(open("no-such-folder").collect().nothingToPublish());
    }

    @Test
    void onlyThePathsThatMayBePublishedAreAndDeletionsAndModesToo() throws Exception {
        Run run = open("content", "./bin/");
        run.write("content/näw *.md", "new\n");
        Files.delete(run.worktree().resolve("content/old.md"));
        run.write("bin/tool", "#!/bin/sh\n");
        assertTrue(run.worktree().resolve("bin/tool").toFile().setExecutable(true));
        run.write("README", "changed\n");
        run.write("contents", "another name\n");
        String commit = commit(run.collect());
        assertEquals(
                "100644 README\n100755 bin/tool\n100644 content/näw *.md",
                site.git(
                        site.remote,
                        "-c",
                        "core.quotePath=false",
                        "ls-tree",
                        "-r",
                        "--format=%(objectmode) %(path)",
                        commit));
        assertEquals("read me", site.file(commit, "README"));
    }

    @Test
    void linksAreStoredAndNotFollowed() throws Exception {
        Run run = open("content");
        Path outside = Files.writeString(site.root.resolve("outside"), "not to be read\n");
        Files.createSymbolicLink(run.worktree().resolve("content/link"), outside);
        Files.createSymbolicLink(run.worktree().resolve("content/folder"), site.root);
        String commit = commit(run.collect());
        assertEquals(
                "120000 content/folder\n120000 content/link\n100644 content/old.md",
                site.git(site.remote, "ls-tree", "-r", "--format=%(objectmode) %(path)", commit, "content/"));
        assertEquals(outside.toString(), site.file(commit, "content/link"));
    }

    @Test
    void aFolderThatBecameALinkIsOnlyALink() throws Exception {
        Run run = open("content");
        Path outside = Files.createDirectory(site.root.resolve("outside"));
        Files.writeString(outside.resolve("secret.md"), "not to be read\n");
        Files.delete(run.worktree().resolve("content/old.md"));
        Files.delete(run.worktree().resolve("content"));
        Files.createSymbolicLink(run.worktree().resolve("content"), outside);
        String commit = commit(run.collect());
        assertEquals("README\ncontent", site.files(commit));
        Run gone = open();
        Path kept = gone.worktree().resolveSibling("kept");
        Files.move(gone.worktree(), kept);
        Files.createSymbolicLink(gone.worktree(), outside);
        assertTrue(refusal(gone).contains("worktree of the run is gone"));
    }

    /** Each of these would start a program of the run if the runner used the run's repository. */
    @Test
    void hooksConfigurationFiltersAndFsmonitorOfTheRunHaveNoSay() throws Exception {
        Run run = open();
        Path mark = site.root.resolve("mark");
        Path evil = Files.writeString(site.root.resolve("evil"), "#!/bin/sh\ntouch " + mark + "\ncat\n");
        Files.setPosixFilePermissions(evil, PosixFilePermissions.fromString("rwxr-xr-x"));
        Path dotGit = run.worktree().resolve(".git");
        Files.createDirectories(dotGit.resolve("hooks"));
        for (String hook : List.of("pre-commit", "post-commit", "post-index-change", "reference-transaction")) {
            Files.copy(evil, dotGit.resolve("hooks").resolve(hook));
        }
        for (String key : List.of(
                "core.fsmonitor",
                "filter.evil.clean",
                "filter.evil.smudge",
                "filter.evil.process",
                "diff.evil.textconv",
                "core.editor",
                "core.sshCommand",
                "gpg.program")) {
            site.git(run.worktree(), "config", key, evil.toString());
        }
        site.git(
                run.worktree(),
                "config",
                "core.hooksPath",
                dotGit.resolve("hooks").toString());
        site.git(run.worktree(), "config", "core.worktree", "/etc");
        site.git(run.worktree(), "config", "commit.gpgSign", "true");
        run.write(".gitattributes", "* filter=evil diff=evil\n");
        run.write("content/new.md", "new\n");
        String commit = commit(run.collect());
        assertFalse(Files.exists(mark));
        assertEquals("new", site.file(commit, "content/new.md"));
    }

    /** What the runner's user has configured is for that user's own repositories: a run must not be able to set it to work. */
    @Test
    void filtersOfTheRunnersUserHaveNoSay() throws Exception {
        Path mark = site.root.resolve("mark");
        Files.writeString(
                site.root.resolve("home/.gitconfig"),
                "[filter \"lfs\"]\n clean = touch " + mark + " && cat\n smudge = touch " + mark + " && cat\n"
                        + "[core]\n hooksPath = " + site.root + "\n fsmonitor = touch " + mark
                        + "\n excludesFile = " + Files.writeString(site.root.resolve("ignore"), "*.md\n") + "\n");
        Run run = open();
        run.write(".gitattributes", "* filter=lfs\n");
        run.write("content/new.md", "new\n");
        assertEquals("new", site.file(commit(run.collect()), "content/new.md"));
        assertFalse(Files.exists(mark));
    }

    @Test
    void nestedRepositoriesAreRefused() throws Exception {
        Run run = open("content");
        run.write("content/sub/file", "x\n");
        site.git(run.worktree().resolve("content/sub"), "init", "--quiet");
        String empty = refusal(run);
        assertTrue(empty.contains("the folder content/sub is a git repository of its own"), empty);
        site.git(run.worktree().resolve("content/sub"), "add", "--all");
        site.git(run.worktree().resolve("content/sub"), "commit", "--quiet", "-m", "nested");
        String full = refusal(run);
        assertTrue(full.contains("the folder content/sub is a git repository of its own"), full);
        run.write("content/new.md", "new\n");
        Files.move(run.worktree().resolve("content/sub"), run.worktree().resolve("outside-of-paths"));
        assertEquals("new", site.file(commit(run.collect()), "content/new.md"));
    }

    /** git asks the repository in a submodule's folder for its state, and that one's configuration may name a program. */
    @Test
    void submodulesStayAsTheyAreAndAreNotAsked() throws Exception {
        Path person = site.root.resolve("person");
        site.git(person, "update-index", "--add", "--cacheinfo", "160000," + base + ",sub");
        site.git(person, "commit", "--quiet", "-m", "a submodule");
        site.git(person, "push", "--quiet", "origin", "main");
        Run run = open();
        run.write("content/new.md", "new\n");
        String commit = commit(run.collect());
        assertEquals("160000 commit " + base + "\tsub", site.git(site.remote, "ls-tree", commit, "sub"));
        Run evil = open();
        Path mark = site.root.resolve("mark");
        Path sub = Files.createDirectories(evil.worktree().resolve("sub"));
        site.git(sub, "init", "--quiet");
        site.git(sub, "commit", "--quiet", "--allow-empty", "-m", "x");
        site.git(sub, "config", "core.fsmonitor", "touch " + mark);
        assertTrue(refusal(evil).contains("the folder sub is a git repository of its own"));
        assertFalse(Files.exists(mark));
    }

    @Test
    void secretsAreMaskedInWhatIsCommitted() throws Exception {
        Run run = open();
        run.write("content/new.md", "the password is hunter22, yes hunter22\n");
        run.write("content/old.md", "old and hunter22\n");
        run.write("content/fine.md", "nothing of it\n");
        Files.write(run.worktree().resolve("content/binary"), "\0\1hunter22\377".getBytes("ISO-8859-1"));
        Announced announced = run.collect();
        String commit = commit(announced);
        assertEquals("the password is ***, yes ***", site.file(commit, "content/new.md"));
        assertEquals("old and ***", site.file(commit, "content/old.md"));
        assertEquals("nothing of it", site.file(commit, "content/fine.md"));
        assertFalse(site.file(commit, "content/binary").contains("hunter22"));
        Path everything = site.root.resolve("everything.git");
        site.git(site.root, "init", "--quiet", "--bare", everything.toString());
        site.git(everything, "fetch", "--quiet", site.remote.toString(), "main");
        Path bundle = Files.write(
                site.root.resolve("b"), announced.effects().getFirst().content().bytes());
        site.git(everything, "bundle", "unbundle", bundle.toString());
        assertFalse(
                site.git(everything, "cat-file", "--batch-all-objects", "--batch")
                        .contains("hunter22"),
                "the bundle holds no unmasked object either");
    }

    @Test
    void secretsInNamesAndLinksAreRefusedWithoutTellingThem() throws Exception {
        Run named = open();
        named.write("content/hunter22.md", "x\n");
        String name = refusal(named);
        assertTrue(name.contains("content/***.md"), name);
        assertFalse(name.contains("hunter22"), name);
        Run linked = open();
        Files.createSymbolicLink(linked.worktree().resolve("content/link"), Path.of("/hunter22"));
        assertTrue(refusal(linked).contains("the link content/link"));
    }

    @Test
    void pathsThatLeadOutAndBadSettingsFailBeforeTheRun() {
        for (String path : List.of("/etc", "../other", "content/../../x")) {
            String refused = String.valueOf(
                    assertThrows(IOException.class, () -> open(path)).getMessage());
            assertTrue(refused.contains("path " + path) && refused.contains("leads out of the tree"), refused);
        }
    }

    @Test
    void aWorkThatIsTooBigIsRefused() throws Exception {
        Run run = open();
        byte[] noise = new byte[Content.MAX_BYTES + 1];
        new Random(1).nextBytes(noise);
        Files.write(run.worktree().resolve("noise"), noise);
        assertTrue(refusal(run).contains("more than 16 MiB"));
        Run flood = node.open(GitSite.job(site.definition()));
        byte[] more = new byte[20 << 20];
        new Random(1).nextBytes(more);
        Files.write(flood.worktree().resolve("a"), more);
        new Random(2).nextBytes(more);
        Files.write(flood.worktree().resolve("b"), more);
        assertTrue(refusal(flood).contains("more than 16 MiB"));
    }

    @Test
    void emptyRemoteStartsFromAnEmptyTree(@TempDir Path other) throws Exception {
        GitSite empty = new GitSite(other);
        Run run = empty.node("one").open(GitSite.job(empty.definition()));
        assertNull(run.place().base());
        assertEquals("main", empty.git(run.worktree(), "symbolic-ref", "--short", "HEAD"));
        assertTrue(run.collect().nothingToPublish());
        run.write("first.md", "first\n");
        assertNotEquals(List.of(), run.collect().effects());
    }

    @Test
    void workingDirectoryInsideOfTheRepositoryMeansTheSamePlaceInTheWorktree() throws Exception {
        Path clone = site.root.resolve("clone");
        site.git(site.root, "clone", "--quiet", site.remote.toString(), clone.toString());
        Path link = Files.createSymbolicLink(site.root.resolve("link"), clone);
        SinkDefinition.Git git = GitSite.definition("origin", clone, null, Duration.ofSeconds(30));
        for (Map.Entry<Path, String> place :
                List.of(Map.entry(clone, ""), Map.entry(clone.resolve("content"), "content"), Map.entry(link, ""))) {
            Job job = GitSite.job(List.of(new Publication("git", git, null, null)), place.getKey(), null);
            Run run = node.open(job);
            assertEquals(run.worktree().resolve(place.getValue()), run.place().workingDir());
        }
        Job elsewhere = GitSite.job(List.of(new Publication("git", git, null, null)), site.root, null);
        assertNull(node.open(elsewhere).place().workingDir());
    }

    @Test
    void worktreesAreKeptWhereTheWorkIsNotStoredButOnlyTheNewestThree() throws Exception {
        List<Run> runs = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            Run run = node.open(GitSite.job(site.definition()), Slot.at(Instant.EPOCH.plusSeconds(i)));
            run.write("deep/er/file", "x");
            Files.setPosixFilePermissions(
                    run.worktree().resolve("deep/er"), PosixFilePermissions.fromString("---------"));
            Path folder = run.files().output().getParent();
            Files.setLastModifiedTime(
                    folder, java.nio.file.attribute.FileTime.from(Instant.EPOCH.plusSeconds(100 + i)));
            node.publisher.close(run.job(), run.files(), run.place(), true);
            runs.add(run);
        }
        assertEquals(
                List.of(false, false, true, true, true, true), // the newest three, and the one that was opened then
                runs.stream()
                        .map(run -> Files.exists(run.worktree(), LinkOption.NOFOLLOW_LINKS))
                        .toList());
        assertTrue(Files.exists(runs.getFirst().files().output()), "only worktrees are deleted");
    }

    /** Objects of the shared repository may be read by the runs of all jobs. */
    @Test
    void whatARunLeavesComesNotAmongTheSharedObjects() throws Exception {
        Run run = open();
        String before = objects();
        run.write("content/leak.md", "my key is hunter22\n");
        run.collect();
        assertEquals(before, objects());
        assertFalse(Files.exists(run.worktree().resolveSibling("publish.git")));
    }

    private String objects() throws Exception {
        try (Stream<Path> repositories = Files.list(node.state.resolve("git"))) {
            Path shared = repositories
                    .filter(each -> each.toString().endsWith(".git"))
                    .findFirst()
                    .orElseThrow();
            return site.git(shared, "cat-file", "--batch-all-objects", "--batch-check");
        }
    }

    @Test
    void anotherUserGetsNoObjectsOfOthers() throws Exception {
        node.work(site.definition(), "content/other.md", "of another run\n");
        String other = site.git(site.root.resolve("person"), "rev-parse", "HEAD:content/old.md");
        Job job =
                GitSite.job(List.of(new Publication("git", site.definition(), null, null)), null, "nobody", "hunter22");
        Run run = node.open(job, Slot.at(Instant.parse("2026-03-29T02:00:00Z")));
        String own = site.git(run.worktree(), "cat-file", "--batch-all-objects", "--batch-check=%(objectname)");
        assertTrue(own.contains(other), own);
        String all = site.git(run.worktree(), "rev-list", "--objects", "--no-object-names", "HEAD");
        assertEquals(all.lines().sorted().toList(), own.lines().sorted().toList());
    }

    @Test
    void anotherUserGetsAllObjectsAsItsOwn() throws Exception {
        Job job = GitSite.job(List.of(new Publication("git", site.definition(), null, null)), null, "somebody");
        Run run = node.open(job);
        assertFalse(Files.exists(run.worktree().resolve(".git/objects/info/alternates")));
        assertEquals(base, site.git(run.worktree(), "rev-parse", "HEAD"));
        site.git(run.worktree(), "fsck", "--no-dangling");
    }

    @Test
    void aRemoteThatCannotBeReachedFailsTheStart() throws Exception {
        Files.move(site.remote, site.root.resolve("moved.git"));
        String refused =
                String.valueOf(assertThrows(IOException.class, this::open).getMessage());
        assertTrue(refused.contains("the worktree for article/git cannot be made"), refused);
        assertTrue(refused.contains("does not answer"), refused);
    }
}
