package dev.fencepost.edge.sink;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.edge.sink.GitSite.Node;
import dev.fencepost.edge.sink.GitSite.Run;
import dev.fencepost.effect.Announcement;
import dev.fencepost.effect.HttpEndpoint;
import dev.fencepost.effect.SinkDefinition;
import dev.fencepost.effect.TextOrFile;
import dev.fencepost.run.Publication;
import dev.fencepost.run.Publications.Announced;
import dev.fencepost.run.Publications.Unpublishable;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What runs announce by {@code $FENCEPOST_EFFECTS}, and what jobs publish besides git. */
@SuppressWarnings("NullAway.Init")
class EffectLinesTest {

    private static final Duration AGE = Duration.ofHours(24);

    private GitSite site;
    private SinkDefinition.Http hook;
    private SinkDefinition.Files folder;
    private Node node;
    private Run run;

    @BeforeEach
    void setUp(@TempDir Path root) throws Exception {
        site = new GitSite(root);
        HttpEndpoint endpoint = new HttpEndpoint(
                "POST",
                new TextOrFile("https://hooks.example/x", null),
                Map.of(),
                "text/plain",
                Duration.ofSeconds(5),
                Set.of(),
                false,
                null);
        hook = new SinkDefinition.Http("hook", AGE, endpoint, true, false, Duration.ZERO, 0, null);
        folder = new SinkDefinition.Files("folder", AGE, root.resolve("site"));
        SinkDefinition.Git git = site.definition();
        node = site.node("one", hook, folder, named(git, "blog"), named(git, "article/git"));
        run = node.open(GitSite.job(List.of(), null, null, "hunter22"));
    }

    private static SinkDefinition.Git named(SinkDefinition.Git git, String name) {
        return new SinkDefinition.Git(
                name,
                git.maxAge(),
                null,
                git.remote(),
                "main",
                List.of(),
                git.message(),
                git.author(),
                null,
                git.timeLimit(),
                null,
                null,
                null);
    }

    private Announced collect(String... lines) throws Exception {
        Files.writeString(run.files().effects(), String.join("\n", lines));
        return run.collect();
    }

    private String refusal(String... lines) {
        return String.valueOf(
                assertThrows(Unpublishable.class, () -> collect(lines)).getMessage());
    }

    private static String text(Announcement effect) {
        return new String(effect.content().bytes(), StandardCharsets.UTF_8);
    }

    @Test
    void linesBecomeAnnouncements() throws Exception {
        Files.writeString(run.files().output().resolve("page.html"), "<p>hunter22</p>");
        Files.createDirectories(run.files().output().resolve("a"));
        Files.writeString(run.files().output().resolve("a/b.txt"), "b");
        Announced announced = collect(
                "{\"name\":\"one\",\"sink\":\"hook\",\"body\":\"say ü hunter22\"}",
                "",
                "  \t\r",
                "{\"name\":\"two\",\"sink\":\"hook\",\"key\":\"my key\",\"body_file\":\"page.html\",\"content_type\":\"text/html; charset=utf-8\"}\r",
                "{\"name\":\"three\",\"sink\":\"folder\",\"path\":\"a/b.txt\"}",
                "{\"name\":\"four\",\"sink\":\"folder\",\"path\":\"x/y\",\"body_file\":\""
                        + run.files().output() + "/page.html\"}",
                "{\"name\":\"five\",\"sink\":\"folder\",\"path\":\"z\",\"body\":\"\"}");
        List<Announcement> effects = announced.effects();
        assertEquals(
                List.of(
                        "article@2026-03-29T01:00:00Z/one",
                        "my key",
                        "article@2026-03-29T01:00:00Z/three",
                        "article@2026-03-29T01:00:00Z/four",
                        "article@2026-03-29T01:00:00Z/five"),
                effects.stream().map(Announcement::key).toList());
        assertEquals(
                List.of("say ü ***", "<p>***</p>", "b", "<p>***</p>", ""),
                effects.stream().map(EffectLinesTest::text).toList());
        assertEquals("text/html; charset=utf-8", effects.get(1).content().type());
        assertEquals("a/b.txt", effects.get(2).content().target());
        assertEquals("folder", effects.get(2).sink());
        assertEquals(effects.get(2).content().digest("folder"), effects.get(2).digest());
        assertEquals(
                effects.stream().map(Announcement::key).toList(),
                node.publisher.keys(run.job(), run.slot(), run.files()));
    }

    @Test
    void whatALineHoldsIsShownSoThatItTurnsNothingAround() {
        Unpublishable refused = assertThrows(Unpublishable.class, () -> collect("{\"a\u202eb\": \"x\"}\n"));
        assertTrue(String.valueOf(refused.getMessage()).contains("a\\u202eb"), refused.getMessage());
    }

    @Test
    void noFileOrAnEmptyOneAnnouncesNothing() throws Exception {
        assertEquals(List.of(), run.collect().effects());
        assertEquals(List.of(), collect("").effects());
        assertFalse(run.collect().nothingToPublish());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "nonsense | no JSON",
                "{'name':'a' | no JSON",
                "{'name':'a','sink':'hook','body':'b'} x | no JSON",
                "{'name':'a','sink':'hook','body':'b'} {} | something follows",
                "['name'] | not a JSON object",
                "\"name\" | not a JSON object",
                "null | not a JSON object",
                "{'sink':'hook','body':'b'} | name is missing",
                "{'name':'a','body':'b'} | sink is missing",
                "{'name':'a','sink':'hook','body':'b','more':'c'} | unknown field more",
                "{'name':'a','sink':'hook','body':'b','body':'c'} | Duplicate field",
                "{'name':'a','sink':'hook','body':1} | body is not a text",
                "{'name':'a','sink':'hook','body':null} | body is not a text",
                "{'name':'a','sink':'hook','body':{'x':1}} | body is not a text",
                "{'name':'-a','sink':'hook','body':'b'} | name -a is not made of",
                "{'name':'a/b','sink':'hook','body':'b'} | name a/b is not made of",
                "{'name':'','sink':'hook','body':'b'} | is not made of",
                "{'name':'a','sink':'hook','body':'b','key':' '} | key is not of 1 to 255",
                "{'name':'a','sink':'hook','body':'b','key':'a\\nb'} | key is not of 1 to 255",
                "{'name':'a','sink':'hook','body':'b','key':'hunter22'} | holds a secret",
                "{'name':'a','sink':'nowhere','body':'b'} | no sink nowhere under sinks; known are blog, folder, hook",
                "{'name':'a','sink':'article/git','body':'b'} | no sink article/git under sinks",
                "{'name':'a','sink':'blog','body':'b'} | sink blog is a git repository",
                "{'name':'a','sink':'hook'} | neither body nor body_file",
                "{'name':'a','sink':'hook','body':'b','body_file':'c'} | body and body_file at once",
                "{'name':'a','sink':'hook','body':'b','path':'c'} | path is for a sink that is a folder",
                "{'name':'a','sink':'hook','body':'b','content_type':'html'} | no media type",
                "{'name':'a','sink':'hook','body_file':'missing'} | body_file missing does not exist",
                "{'name':'a','sink':'hook','body_file':''} | body_file is empty",
                "{'name':'a','sink':'hook','body_file':'/etc/passwd'} | lies outside of",
                "{'name':'a','sink':'hook','body_file':'../output.log'} | lies outside of",
                "{'name':'a','sink':'hook','body_file':'link'} | lies outside of",
                "{'name':'a','sink':'hook','body_file':'way/passwd'} | lies outside of",
                "{'name':'a','sink':'hook','body_file':'sub'} | is not a plain file",
                "{'name':'a','sink':'hook','body_file':'pipe'} | is not a plain file",
                "{'name':'a','sink':'hook','body_file':'.'} | lies outside of",
                "{'name':'a','sink':'hook','body_file':'big'} | the limit is 16777216",
                "{'name':'a','sink':'folder','body':'b'} | path is missing",
                "{'name':'a','sink':'hook','key':'other@2026-03-29T01:00:00Z/git','body':'b'} | effects of the job other",
                "{'name':'a','sink':'hook','key':'other@manual:2026/x/git','body':'b'} | effects of the job other",
                "{'name':'a','sink':'hook','key':'k\\ud800','body':'b'} | key has one half of a character",
                "{'name':'a','sink':'folder','path':'c'} | the file c of path in $FENCEPOST_OUTPUT_DIR does not exist",
                "{'name':'a','sink':'folder','path':'/c','body':'b'} | leads out of the sink's folder",
                "{'name':'a','sink':'folder','path':'c/../../d','body':'b'} | leads out of the sink's folder",
                "{'name':'a','sink':'folder','path':'c//d','body':'b'} | has empty parts",
                "{'name':'a','sink':'folder','path':'c','body':'b','content_type':'a/b'} | content_type is for",
            })
    void whatIsWrongIsSaidWithItsLineAndNothingIsAnnounced(String line, String words) throws Exception {
        Path output = run.files().output();
        Files.writeString(run.files().log(), "log");
        Files.createSymbolicLink(output.resolve("link"), Path.of("/etc/passwd"));
        Files.createSymbolicLink(output.resolve("way"), Path.of("/etc"));
        Files.createDirectory(output.resolve("sub"));
        site.programs.run(
                List.of("mkfifo", output.resolve("pipe").toString()),
                site.environment,
                null,
                new byte[0],
                Duration.ofSeconds(10));
        try (RandomAccessFile big = new RandomAccessFile(output.resolve("big").toFile(), "rw")) {
            big.setLength(8L << 30);
        }
        String good = "{\"name\":\"good\",\"sink\":\"hook\",\"body\":\"fine\"}";
        String said = refusal(good, "", line.replace('\'', '"'), good);
        assertTrue(said.startsWith("line 3 of $FENCEPOST_EFFECTS: "), said);
        assertTrue(said.contains(words), said);
        assertFalse(said.contains("hunter22"), said);
    }

    @Test
    void linksThatStayInsideAndFilesOfTheWorktreeAreRead() throws Exception {
        site.push(Map.of("page.md", "page\n"));
        SinkDefinition.Git git = site.definition();
        run = node.open(GitSite.job(List.of(new Publication("git", git, null, null)), null, null));
        Files.createDirectories(run.files().output().resolve("real"));
        Files.writeString(run.files().output().resolve("real/file"), "inside");
        Files.createSymbolicLink(run.files().output().resolve("link"), Path.of("real"));
        List<Announcement> effects = collect(
                        "{\"name\":\"a\",\"sink\":\"hook\",\"body_file\":\"link/file\"}",
                        "{\"name\":\"b\",\"sink\":\"hook\",\"body_file\":\"" + run.worktree() + "/page.md\"}")
                .effects();
        assertEquals(
                List.of("inside", "page\n"),
                effects.stream().map(EffectLinesTest::text).toList());
    }

    @Test
    void brokenBytesLongLinesAndFloodsAreRefusedWithoutMemory() throws Exception {
        Files.write(run.files().effects(), new byte[] {'{', '"', (byte) 0xff, '"', '}'});
        assertTrue(said().contains("line 1 of $FENCEPOST_EFFECTS: not UTF-8"), said());
        try (RandomAccessFile flood = new RandomAccessFile(run.files().effects().toFile(), "rw")) {
            flood.setLength(8L << 30);
        }
        assertTrue(said().contains("line 1 of $FENCEPOST_EFFECTS: longer than 1048576"), said());
        assertEquals(List.of(), node.publisher.keys(run.job(), run.slot(), run.files()));
        Files.writeString(run.files().effects(), " \n".repeat(20 << 20));
        assertTrue(said().contains("the file is longer than 33554432"), said());
        Files.delete(run.files().effects());
        Files.createSymbolicLink(run.files().effects(), Path.of("/dev/zero"));
        assertTrue(said().contains("not a plain file"), said());
        assertEquals(List.of(), node.publisher.keys(run.job(), run.slot(), run.files()));
    }

    private String said() {
        return String.valueOf(assertThrows(Unpublishable.class, run::collect).getMessage());
    }

    @Test
    void moreThanTheLimitOfEffectsIsRefused() throws Exception {
        String lines = IntStream.rangeClosed(1, 1_000)
                .mapToObj(i -> "{\"name\":\"n" + i + "\",\"sink\":\"hook\",\"body\":\"b\"}")
                .collect(Collectors.joining("\n"));
        assertEquals(1_000, collect(lines).effects().size());
        assertTrue(refusal(lines, "{\"name\":\"last\",\"sink\":\"hook\",\"body\":\"b\"}")
                .contains("line 1001 of $FENCEPOST_EFFECTS: more than 1000"));
    }

    @Test
    void aNameOrKeyTwiceIsOneEffectOrAnError() throws Exception {
        String line = "{\"name\":\"a\",\"sink\":\"hook\",\"body\":\"b\"}";
        assertEquals(1, collect(line, line).effects().size());
        assertTrue(refusal(line, line.replace("\"b\"", "\"c\"")).contains("name a is announced twice"));
        String keyed = "{\"name\":\"a\",\"sink\":\"hook\",\"body\":\"b\",\"key\":\"k\"}";
        assertTrue(refusal(keyed, "{\"name\":\"z\",\"sink\":\"hook\",\"body\":\"c\",\"key\":\"k\"}")
                .contains("key k is announced twice"));
        assertEquals(
                1,
                collect(keyed, "{\"name\":\"z\",\"sink\":\"hook\",\"body\":\"b\",\"key\":\"k\"}")
                        .effects()
                        .size());
    }

    @Test
    void publishEntriesSendTheResultOrTheirText() throws Exception {
        assertEquals("the *** result", published(hook, null, null, "the hunter22 result"));
        assertEquals(
                "article 2026-03-29T01:00:00Z 1 7 {other}",
                published(hook, "{job} {slot} {attempt} {fence} {other}", null, null));
        Announcement placed = publish(folder, null, "{job}/{slot}-{attempt}.md", "text");
        assertEquals("article/2026-03-29T010000Z-1.md", placed.content().target());
        assertArrayEquals(
                "text".getBytes(StandardCharsets.UTF_8), placed.content().bytes());
        assertEquals("article@2026-03-29T01:00:00Z/entry", placed.key());
        for (SinkDefinition sink : List.of(hook, folder)) {
            Unpublishable nothing = assertThrows(Unpublishable.class, () -> publish(sink, null, "x", null));
            assertTrue(String.valueOf(nothing.getMessage()).contains("there is nothing to send"));
        }
        Unpublishable out = assertThrows(Unpublishable.class, () -> publish(folder, "x", "../{job}", null));
        assertTrue(String.valueOf(out.getMessage()).contains("leads out"));
    }

    private String published(SinkDefinition sink, @Nullable String body, @Nullable String path, @Nullable String result)
            throws Exception {
        return text(publish(sink, body, path, result));
    }

    private Announcement publish(
            SinkDefinition sink, @Nullable String body, @Nullable String path, @Nullable String result)
            throws Exception {
        Run one = node.open(GitSite.job(List.of(new Publication("entry", sink, body, path)), null, null, "hunter22"));
        List<Announcement> effects = one.collect(result == null ? null : result.getBytes(StandardCharsets.UTF_8))
                .effects();
        assertEquals(1, effects.size());
        assertEquals(
                List.of("article@2026-03-29T01:00:00Z/entry"), node.publisher.keys(one.job(), one.slot(), one.files()));
        return effects.getFirst();
    }

    @Test
    void aWrongLineTakesTheCommitWithIt() throws Exception {
        site.push(Map.of("page.md", "page\n"));
        run = node.open(GitSite.job(List.of(new Publication("git", site.definition(), null, null)), null, null));
        run.write("page.md", "new\n");
        assertTrue(refusal("{\"name\":\"a\",\"sink\":\"nowhere\"}").contains("line 1"));
        assertEquals(
                2,
                collect("{\"name\":\"a\",\"sink\":\"hook\",\"body\":\"b\"}")
                        .effects()
                        .size());
        assertTrue(
                refusal("{\"name\":\"git\",\"sink\":\"hook\",\"body\":\"b\"}").contains("name git is announced twice"));
    }
}
