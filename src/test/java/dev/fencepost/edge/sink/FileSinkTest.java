package dev.fencepost.edge.sink;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import dev.fencepost.edge.host.SystemTime;
import dev.fencepost.effect.Content;
import dev.fencepost.effect.Delivery;
import dev.fencepost.effect.Effect;
import dev.fencepost.effect.ReadBack;
import dev.fencepost.effect.SinkDefinition;
import dev.fencepost.host.Time;
import dev.fencepost.lease.RunId;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class FileSinkTest {

    private static final String HELLO_RECEIPT =
            "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824 5 bytes at a/b/hello.txt";

    private final Time time = new SystemTime();

    @TempDir
    private Path folder;

    private Path root = Path.of("/nowhere");

    @BeforeEach
    void makeRoot() throws IOException {
        root = Files.createDirectory(folder.resolve("root"));
    }

    @Test
    void aFileIsPlacedWithItsFoldersAndTheReceiptIsItsHash() throws Exception {
        assertEquals(HELLO_RECEIPT, confirmed(sink().deliver(hello("k", 7, Effects.RUN))));
        assertEquals("hello", Files.readString(root.resolve("a/b/hello.txt")));
        assertEquals(List.of("hello.txt"), names(root.resolve("a/b")));
        assertEquals(List.of(".fencepost", "a"), names(root));
    }

    @Test
    void aNewFileHasTheUsualModeAndAReplacedOneKeepsItsOwn() throws Exception {
        sink().deliver(file("k1", 7, "plain", "1"));
        Path usual = Files.createFile(
                folder.resolve("usual"),
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-r--r--")));
        assertEquals(Files.getPosixFilePermissions(usual), Files.getPosixFilePermissions(root.resolve("plain")));
        Files.setPosixFilePermissions(root.resolve("plain"), PosixFilePermissions.fromString("rwxrwx--x"));
        sink().deliver(file("k2", 7, "plain", "2"));
        assertEquals("2", Files.readString(root.resolve("plain")));
        assertEquals(
                PosixFilePermissions.fromString("rwxrwx--x"), Files.getPosixFilePermissions(root.resolve("plain")));
    }

    @Test
    void aLowerTokenIsRefusedAndTheNewestNamed() throws Exception {
        confirmed(sink().deliver(file("new", 8, "f", "new")));
        assertEquals(8L, refused(sink().deliver(file("old", 7, "f", "old"))).newest());
        assertEquals("new", Files.readString(root.resolve("f")));
        confirmed(sink().deliver(file("newer", 9, "f", "newer")));
        assertEquals(9L, refused(sink().deliver(file("again", 8, "g", "again"))).newest());
        assertFalse(Files.exists(root.resolve("g")));
    }

    @Test
    void theSameTokenPassesForItsRunAndNotForATwin() throws Exception {
        confirmed(sink().deliver(file("one", 8, "one", "1")));
        confirmed(sink().deliver(file("two", 8, "two", "2")));
        Effect twin = Effects.file("three", 8, Effects.OTHER_RUN, "three", "3");
        assertEquals(8L, refused(sink().deliver(twin)).newest());
        assertFalse(Files.exists(root.resolve("three")));
        Effect twinsKey = Effects.file("one", 8, Effects.OTHER_RUN, "one", "other");
        assertEquals(8L, refused(sink().deliver(twinsKey)).newest());
        assertEquals("1", Files.readString(root.resolve("one")));
    }

    @Test
    void aPersonsWordLetsALowerTokenPassAndDoesNotLowerTheFence() throws Exception {
        confirmed(sink().deliver(file("new", 8, "f", "new")));
        Effect old = file("old", 7, "f", "old");
        confirmed(sink().deliver(Effects.overridden(old)));
        assertEquals("old", Files.readString(root.resolve("f")));
        assertEquals(8L, refused(sink().deliver(file("x", 7, "f", "x"))).newest());
        confirmed(sink().deliver(file("y", 8, "f", "y")));
    }

    @Test
    void aKeySeenBeforeGetsItsFirstReceiptAndTouchesNothing() throws Exception {
        assertEquals(HELLO_RECEIPT, confirmed(sink().deliver(hello("k", 7, Effects.RUN))));
        Files.writeString(root.resolve("a/b/hello.txt"), "a person wrote this");
        assertEquals(HELLO_RECEIPT, confirmed(sink().deliver(hello("k", 7, Effects.RUN))));
        assertEquals("a person wrote this", Files.readString(root.resolve("a/b/hello.txt")));
        confirmed(sink().deliver(file("later", 9, "other", "x")));
        assertEquals(HELLO_RECEIPT, confirmed(sink().deliver(hello("k", 7, Effects.RUN))), "although the fence rose");
    }

    @Test
    void resourcesHaveFencesOfTheirOwnWhateverTheirNames() throws Exception {
        List<String> resources = List.of("article", "digest", "..", ".", "a/b", "日記", "x".repeat(500), "%2E");
        for (String resource : resources) {
            Effect effect = Effects.file("k", 7, Effects.RUN, "f", resource);
            confirmed(sink().deliver(ofResource(effect, resource)));
        }
        try (Stream<Path> files = Files.list(root.resolve(".fencepost"))) {
            assertEquals(
                    resources.size(),
                    files.filter(file -> file.toString().endsWith(".fence")).count());
        }
        assertEquals(List.of(".fencepost", "f"), names(root));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "/etc/passwd",
                "..",
                "../x",
                "a/../../x",
                "a/..",
                "./x",
                "a//b",
                "a/",
                "a/./b",
                ".fencepost/article.fence",
                "a/.fencepost/x",
                ".fencepost-x.tmp",
                "a\u0000b",
                "a\nb",
                "a\u0085b"
            })
    void aPathThatLeadsElsewhereEndsTheEffect(String path) throws Exception {
        assertInstanceOf(Delivery.Dead.class, sink().deliver(file("k", 7, path, "x")));
        assertInstanceOf(ReadBack.Absent.class, sink().readBack(file("k", 7, path, "x")));
        assertEquals(List.of("root"), names(folder));
    }

    @Test
    void aPathThatIsMissingTooLongOrTooDeepEndsTheEffect() throws Exception {
        Effect without = Effects.of("k", 7, Effects.RUN, new Content(null, null, new byte[0]));
        assertInstanceOf(Delivery.Dead.class, sink().deliver(without));
        assertInstanceOf(Delivery.Dead.class, sink().deliver(file("k", 7, "x".repeat(256), "x")));
        assertInstanceOf(Delivery.Dead.class, sink().deliver(file("k", 7, "é".repeat(128), "x")));
        assertInstanceOf(Delivery.Dead.class, sink().deliver(file("k", 7, "a/".repeat(40) + "b", "x")));
        confirmed(sink().deliver(file("k", 7, "x".repeat(255), "x")));
    }

    @Test
    void aLinkOnTheWayOrInThePlaceOfTheFileIsNotFollowed() throws Exception {
        Path outside = Files.createDirectory(folder.resolve("outside"));
        Files.writeString(outside.resolve("file"), "mine");
        Files.createSymbolicLink(root.resolve("way"), outside);
        Files.createDirectory(root.resolve("real"));
        Files.createSymbolicLink(root.resolve("real/file"), outside.resolve("file"));
        Files.createSymbolicLink(root.resolve("dangling"), folder.resolve("nothing"));
        Files.createSymbolicLink(root.resolve("inside"), root.resolve("real"));
        for (String path : List.of("way/file", "real/file", "dangling", "dangling/x", "inside/x", "way/new/x")) {
            Delivery delivery = sink().deliver(file("k", 7, path, "evil"));
            assertTrue(
                    assertInstanceOf(Delivery.Dead.class, delivery, delivery::toString)
                            .reason()
                            .contains("is a link"),
                    path);
            assertInstanceOf(ReadBack.Absent.class, sink().readBack(file("k", 7, path, "mine")), path);
        }
        assertEquals("mine", Files.readString(outside.resolve("file")));
        assertEquals(List.of("file"), names(outside));
        assertFalse(Files.exists(folder.resolve("nothing")));
    }

    @Test
    void aFolderInThePlaceOfTheFileAndAFileInThePlaceOfAFolderEndTheEffect() throws Exception {
        Files.createDirectory(root.resolve("folder"));
        Files.createFile(root.resolve("file"));
        assertInstanceOf(Delivery.Dead.class, sink().deliver(file("k", 7, "folder", "x")));
        assertInstanceOf(Delivery.Dead.class, sink().deliver(file("k", 7, "file/x", "x")));
        assertEquals(List.of(".fencepost", "file", "folder"), names(root));
    }

    @Test
    void aPipeInThePlaceOfTheFileBlocksNobody() throws Exception {
        assertEquals(
                0,
                new ProcessBuilder("mkfifo", root.resolve("pipe").toString())
                        .start()
                        .waitFor());
        assertInstanceOf(Delivery.Dead.class, sink().deliver(file("k", 7, "pipe", "x")));
        assertInstanceOf(ReadBack.Absent.class, sink().readBack(file("k", 7, "pipe", "x")));
    }

    @Test
    void theSinksOwnFolderIsNoLink() throws Exception {
        Path outside = Files.createDirectory(folder.resolve("outside"));
        Files.createSymbolicLink(root.resolve(".fencepost"), outside);
        assertInstanceOf(Delivery.NotNow.class, sink().deliver(file("k", 7, "f", "x")));
        assertEquals(List.of(), names(outside));
        assertFalse(Files.exists(root.resolve("f")));
    }

    @Test
    void theRootItselfMayBeALinkAndHasToExist() throws Exception {
        Path link = Files.createSymbolicLink(folder.resolve("link"), root);
        confirmed(sinkAt(link).deliver(file("k", 7, "f", "x")));
        assertEquals("x", Files.readString(root.resolve("f")));
        Delivery.NotNow notNow = assertInstanceOf(
                Delivery.NotNow.class, sinkAt(folder.resolve("missing")).deliver(file("k", 7, "f", "x")));
        assertTrue(notNow.reason().endsWith("missing: it does not exist"), notNow::reason);
        assertFalse(Files.exists(folder.resolve("missing")));
    }

    @Test
    void aFenceFileThatCannotBeReadStopsEverything() throws Exception {
        confirmed(sink().deliver(file("k", 7, "f", "x")));
        Path fence = root.resolve(".fencepost/article.fence");
        String whole = Files.readString(fence);
        for (String broken : List.of(
                "",
                whole.substring(0, whole.length() - 5),
                "nonsense\n",
                whole + whole,
                whole.replaceFirst("[0-9a-f]{64}", "\u00e9"))) {
            Files.writeString(fence, broken);
            Delivery.NotNow notNow = assertInstanceOf(Delivery.NotNow.class, sink().deliver(file("k2", 9, "f", "y")));
            assertTrue(notNow.reason().contains(".fencepost/article.fence"), notNow::reason);
            assertInstanceOf(ReadBack.NoAnswer.class, sink().readBack(file("k2", 9, "f", "y")));
        }
        assertEquals("x", Files.readString(root.resolve("f")));
        Files.writeString(fence, whole);
        confirmed(sink().deliver(file("k2", 9, "f", "y")));
    }

    @Test
    void whereNothingMayBeWrittenItIsNotNow() throws Exception {
        assumeFalse(System.getProperty("user.name").equals("root"), "root may write everywhere");
        Files.setPosixFilePermissions(root, PosixFilePermissions.fromString("r-xr-xr-x"));
        Delivery.NotNow notNow = assertInstanceOf(Delivery.NotNow.class, sink().deliver(file("k", 7, "f", "x")));
        assertTrue(notNow.reason().contains("permission denied"), notNow::reason);
    }

    @Test
    void theStepsComeInTheOrderThatMakesEachDurableBeforeTheNext() throws Exception {
        List<String> seen = new ArrayList<>();
        FileSink sink = sink(step -> seen.add(step + " file=" + Files.exists(root.resolve("f")) + " token="
                + state().contains("highest 7 ") + " placing=" + state().contains("\nplacing ") + " placed="
                + state().contains("\nplaced ")));
        confirmed(sink.deliver(file("k", 7, "f", "x")));
        assertEquals(
                List.of(
                        "WRITTEN file=false token=false placing=false placed=false",
                        "ADVANCED file=false token=true placing=true placed=false",
                        "RENAMED file=true token=true placing=true placed=false",
                        "RECORDED file=true token=true placing=false placed=true"),
                seen);
    }

    @ParameterizedTest
    @EnumSource(FileSink.Step.class)
    void afterACrashAtAnyStepTheNextTryPlacesItOnceAndLeavesNothingBehind(FileSink.Step crash) throws Exception {
        confirmed(sink().deliver(file("before", 6, "a/b/hello.txt", "old content")));
        FileSink dying = sink(step -> {
            if (step == crash) {
                throw new Crash();
            }
        });
        Effect effect = hello("k", 7, Effects.RUN);
        assertThrows(Crash.class, () -> dying.deliver(effect));
        boolean isPlaced = crash.compareTo(FileSink.Step.RENAMED) >= 0;
        ReadBack back = sink().readBack(effect);
        assertEquals(isPlaced ? ReadBack.Found.class : ReadBack.Absent.class, back.getClass());
        boolean isAdvanced = crash != FileSink.Step.WRITTEN;
        Delivery older = sink().deliver(file("older", 6, "a/b/c", "x"));
        assertEquals(isAdvanced ? Delivery.Refused.class : Delivery.Confirmed.class, older.getClass());
        assertEquals(HELLO_RECEIPT, confirmed(sink().deliver(effect)));
        assertEquals("hello", Files.readString(root.resolve("a/b/hello.txt")));
        assertEquals(isAdvanced ? List.of("hello.txt") : List.of("c", "hello.txt"), names(root.resolve("a/b")));
    }

    @Test
    void afterACrashBehindTheNameTheReceiptIsRecordedEvenIfANewerTokenComesFirst() throws Exception {
        FileSink dying = sink(step -> {
            if (step == FileSink.Step.RENAMED) {
                throw new Crash();
            }
        });
        Effect effect = hello("k", 7, Effects.RUN);
        assertThrows(Crash.class, () -> dying.deliver(effect));
        confirmed(sink().deliver(file("newer", 8, "a/b/hello.txt", "newer")));
        assertEquals(
                new ReadBack.Found(((Delivery.Confirmed) sink().deliver(effect)).receipt()), sink().readBack(effect));
        assertEquals("newer", Files.readString(root.resolve("a/b/hello.txt")));
    }

    @Test
    void aReadBackFindsTheContentWithoutARecord() throws Exception {
        Files.createDirectories(root.resolve("a/b"));
        Files.writeString(root.resolve("a/b/hello.txt"), "hello");
        ReadBack.Found found = assertInstanceOf(ReadBack.Found.class, sink().readBack(hello("k", 7, Effects.RUN)));
        assertEquals(HELLO_RECEIPT, found.receipt().text());
        Files.writeString(root.resolve("a/b/hello.txt"), "hellO");
        assertInstanceOf(ReadBack.Absent.class, sink().readBack(hello("k", 7, Effects.RUN)));
        assertInstanceOf(ReadBack.Absent.class, sink().readBack(file("k", 7, "no/such/folder", "x")));
        assertFalse(Files.exists(root.resolve("no")), "asking makes nothing");
    }

    @Test
    void anErrorBehindTheNameIsUnknownAndSettledByTheNextLook() throws Exception {
        Path fresh = root.resolve(".fencepost/article.fence.new");
        FileSink unlucky = sink(step -> {
            if (step == FileSink.Step.RENAMED) { // what the record would be written to is in the way
                Files.createDirectory(fresh);
                Files.createFile(fresh.resolve("x"));
            }
        });
        Effect effect = hello("k", 7, Effects.RUN);
        assertInstanceOf(Delivery.Unknown.class, unlucky.deliver(effect));
        assertInstanceOf(Delivery.NotNow.class, sink().deliver(effect), "the disk is still in trouble");
        Files.delete(fresh.resolve("x"));
        Files.delete(fresh);
        assertInstanceOf(ReadBack.Found.class, sink().readBack(effect));
        assertEquals(HELLO_RECEIPT, confirmed(sink().deliver(effect)));
    }

    @Test
    void anErrorBeforeTheNameIsNotNowAndLeavesNoTemporaryFile() throws Exception {
        Path fresh = root.resolve(".fencepost/article.fence.new");
        FileSink unlucky = sink(step -> {
            if (step == FileSink.Step.WRITTEN) {
                Files.createDirectory(fresh);
                Files.createFile(fresh.resolve("x"));
            }
        });
        assertInstanceOf(Delivery.NotNow.class, unlucky.deliver(hello("k", 7, Effects.RUN)));
        assertEquals(List.of(), names(root.resolve("a/b")));
    }

    @Test
    void manyThreadsAtOnceLeaveTheNewestAndNothingElse() throws Exception {
        List<Throwable> failures = new CopyOnWriteArrayList<>();
        List<Thread> threads = new ArrayList<>();
        for (int i = 1; i <= 20; i++) {
            long fence = i;
            FileSink own = sink();
            threads.add(Thread.ofVirtual().start(() -> {
                try {
                    Delivery delivery = own.deliver(
                            Effects.file("k" + fence, fence, new RunId(new UUID(2, fence)), "f", "by " + fence));
                    assertFalse(delivery instanceof Delivery.Unknown || delivery instanceof Delivery.Dead);
                } catch (Throwable e) {
                    failures.add(e);
                }
            }));
        }
        for (Thread thread : threads) {
            assertTrue(thread.join(Duration.ofSeconds(30)));
        }
        assertEquals(List.of(), failures);
        assertEquals("by 20", Files.readString(root.resolve("f")));
        assertEquals(List.of(".fencepost", "f"), names(root));
    }

    @Test
    void twoProcessesAtOnceNeverGoBack() throws Exception {
        Process odd = writer("1", "60", "none");
        Process even = writer("30", "60", "none");
        String last = "";
        while (odd.isAlive() || even.isAlive()) {
            if (Files.exists(root.resolve("posts/now.txt"))) {
                String now = Files.readString(root.resolve("posts/now.txt"));
                assertEquals(now.lines().findFirst(), now.lines().reduce((first, second) -> second), "a whole file");
                String token = now.lines().findFirst().orElseThrow().substring("by token ".length());
                assertTrue(last.isEmpty() || Long.parseLong(token) >= Long.parseLong(last), last + " then " + token);
                last = token;
            }
        }
        String outputs = output(odd) + output(even);
        assertFalse(outputs.contains("Unknown") || outputs.contains("NotNow") || outputs.contains("Dead"), outputs);
        assertTrue(outputs.contains("89 Confirmed"), outputs);
        assertTrue(Files.readString(root.resolve("posts/now.txt")).startsWith("by token 89\n"));
        assertEquals(List.of("now.txt"), names(root.resolve("posts")));
    }

    @Test
    void aProcessThatDiedLeavesItsLockAndItsTemporaryFileToTheNextOne() throws Exception {
        Process dead = writer("5", "1", "ADVANCED");
        assertTrue(dead.waitFor(30, TimeUnit.SECONDS));
        assertEquals("dies\n", output(dead));
        assertEquals(1, names(root.resolve("posts")).size());
        Effect late = Effects.file("late", 4, new RunId(new UUID(1, 4)), "posts/now.txt", "late");
        assertEquals(5L, refused(sink().deliver(late)).newest());
        confirmed(sink().deliver(Effects.file("next", 6, new RunId(new UUID(1, 6)), "posts/now.txt", "next")));
        assertEquals(List.of("now.txt"), names(root.resolve("posts")));
    }

    @Test
    void whileAnotherProcessHoldsTheLockItIsNotNow() throws Exception {
        confirmed(sink().deliver(file("k", 7, "f", "x")));
        Process holder = new ProcessBuilder(
                        "python3",
                        "-c",
                        "import fcntl,sys,time\n"
                                + "f=open(sys.argv[1],'w')\n"
                                + "fcntl.lockf(f,fcntl.LOCK_EX)\n"
                                + "print('held',flush=True)\n"
                                + "time.sleep(60)",
                        root.resolve(".fencepost/article.lock").toString())
                .start();
        try {
            assertEquals("held", holder.inputReader().readLine());
            FileSink hasty = new FileSink(definition(root), new FastTime());
            assertInstanceOf(Delivery.NotNow.class, hasty.deliver(file("k2", 8, "f", "y")));
            assertInstanceOf(ReadBack.NoAnswer.class, hasty.readBack(file("k2", 8, "f", "y")));
            assertEquals("x", Files.readString(root.resolve("f")));
        } finally {
            holder.destroyForcibly();
        }
        holder.waitFor();
        confirmed(sink().deliver(file("k2", 8, "f", "y")));
    }

    @Test
    void theLargestContentGoesThrough() throws Exception {
        try (RandomAccessFile ignored = new RandomAccessFile(root.resolve("big").toFile(), "rw")) {
            ignored.setLength(Content.MAX_BYTES + 1L); // is replaced, and not read before
        }
        Effect effect = Effects.of("k", 7, Effects.RUN, new Content(null, "big", new byte[Content.MAX_BYTES]));
        confirmed(sink().deliver(effect));
        assertEquals(Content.MAX_BYTES, Files.size(root.resolve("big")));
        assertInstanceOf(ReadBack.Found.class, sink().readBack(effect));
    }

    @Test
    void whatTheDispatcherIsToldOfTheSink() {
        assertTrue(sink().isIdempotent());
        assertEquals(Duration.ZERO, sink().lockDelay());
        assertEquals(0, sink().maxTries());
        assertTrue(sink().timeLimit().compareTo(Duration.ofSeconds(20)) > 0);
    }

    /** A process ends here: nothing that comes after it in the code is done, and the kernel takes its locks. */
    private static final class Crash extends Error {}

    /** An hour goes by with every look. */
    private static final class FastTime implements Time {
        private long now;

        @Override
        public java.time.Instant wallClock() {
            return Effects.NOW;
        }

        @Override
        public long bootMillis() {
            now += Duration.ofHours(1).toMillis();
            return now;
        }

        @Override
        public String bootId() {
            return "boot";
        }

        @Override
        public void sleep(Duration duration) {
            now += duration.toMillis();
        }
    }

    private interface Step {
        void at(FileSink.Step step) throws IOException;
    }

    private Process writer(String first, String count, String crash) throws IOException {
        return new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:TieredStopAtLevel=1",
                        "-cp",
                        System.getProperty("java.class.path"),
                        FileWriterMain.class.getName(),
                        root.toString(),
                        first,
                        count,
                        crash)
                .redirectErrorStream(true)
                .start();
    }

    private static String output(Process process) throws IOException {
        return new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    }

    private FileSink sink() {
        return sinkAt(root);
    }

    private FileSink sinkAt(Path path) {
        return new FileSink(definition(path), time);
    }

    private FileSink sink(Step each) {
        return new FileSink(definition(root), time, step -> {
            try {
                each.at(step);
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        });
    }

    private static SinkDefinition.Files definition(Path path) {
        return new SinkDefinition.Files("site", Duration.ofHours(24), path);
    }

    private String state() throws IOException {
        Path fence = root.resolve(".fencepost/article.fence");
        return Files.exists(fence) ? Files.readString(fence) : "";
    }

    private static Effect hello(String key, long fence, RunId run) {
        return Effects.file(key, fence, run, "a/b/hello.txt", "hello");
    }

    private static Effect file(String key, long fence, String path, String text) {
        return Effects.file(key, fence, Effects.RUN, path, text);
    }

    private static Effect ofResource(Effect effect, String resource) {
        return new Effect(
                effect.key(),
                effect.job(),
                effect.slotKey(),
                effect.name(),
                new dev.fencepost.effect.Pair("site", resource),
                effect.fence(),
                effect.runId(),
                effect.content(),
                effect.announcedAt(),
                effect.expiresAt(),
                effect.state(),
                effect.tries(),
                effect.mayBeSent(),
                effect.override(),
                effect.checks(),
                effect.lastSentAt(),
                effect.now());
    }

    private static List<String> names(@Nullable Path of) throws IOException {
        try (Stream<Path> files = Files.list(of)) {
            return List.copyOf(new TreeSet<>(
                    files.map(file -> file.getFileName().toString()).toList()));
        }
    }

    private static String confirmed(Delivery delivery) {
        return assertInstanceOf(Delivery.Confirmed.class, delivery, delivery::toString)
                .receipt()
                .text();
    }

    private static Delivery.Refused refused(Delivery delivery) {
        return assertInstanceOf(Delivery.Refused.class, delivery, delivery::toString);
    }
}
