package dev.fencepost.edge.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.edge.host.SystemTime;
import dev.fencepost.edge.process.OutputLogReader.Entry;
import dev.fencepost.edge.process.OutputLogReader.Source;
import dev.fencepost.run.Secrets;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class OutputLogReaderTest {

    private static final int LIMIT = 4_000;

    private Path path;

    @BeforeEach
    void setUp(@TempDir Path dir) {
        path = dir.resolve("output.log");
    }

    private OutputLog log() {
        return new OutputLog(path, LIMIT, List.of(), new SystemTime(), event -> {});
    }

    private static void say(OutputLog log, OutputLog.Source source, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        log.write(source, bytes, bytes.length, false);
    }

    /** What is there by now: texts with a newline where one follows; remarks in brackets. */
    private static String read(OutputLogReader reader) throws IOException {
        StringBuilder text = new StringBuilder();
        for (Entry entry = reader.next(); entry != null; entry = reader.next()) {
            text.append(entry.source() == Source.REMARK ? "[" + entry.text() + "]" : entry.text());
            text.append(entry.endsLine() && entry.source() != Source.REMARK ? "\n" : "");
        }
        return text.toString();
    }

    private static String line(int number) {
        return "line %05d %s\n".formatted(number, "x".repeat(60));
    }

    private static String lines(int from, int to) {
        return IntStream.range(from, to).mapToObj(OutputLogReaderTest::line).reduce("", String::concat);
    }

    @Test
    void recordsAreReadAsTheyWereWritten() throws IOException {
        try (OutputLog log = log()) {
            say(log, OutputLog.Source.STDOUT, "one\ntw");
            say(log, OutputLog.Source.STDERR, "wrong\n");
            say(log, OutputLog.Source.STDOUT, "o\n\n");
            log.remark("said by us");
        }
        try (OutputLogReader reader = OutputLogReader.open(path)) {
            assertEquals(List.of("one", "STDOUT", "true"), parts(reader.next()));
            assertEquals(List.of("tw", "STDOUT", "false"), parts(reader.next()));
            assertEquals(List.of("wrong", "STDERR", "true"), parts(reader.next()));
            assertEquals(List.of("o", "STDOUT", "true"), parts(reader.next()));
            assertEquals(List.of("", "STDOUT", "true"), parts(reader.next()));
            assertEquals(List.of("said by us", "REMARK", "true"), parts(reader.next()));
            assertNull(reader.next());
        }
    }

    private static List<String> parts(@Nullable Entry entry) {
        Objects.requireNonNull(entry);
        return List.of(entry.text(), entry.source().name(), String.valueOf(entry.endsLine()));
    }

    @Test
    void aReaderFollowsFromTheHeadThroughEveryTailToTheEnd() throws IOException {
        StringBuilder seen = new StringBuilder();
        int count = 400;
        OutputLog log = log();
        try (OutputLogReader reader = OutputLogReader.open(path)) {
            for (int i = 0; i < count; i++) {
                say(log, OutputLog.Source.STDOUT, line(i));
                if (i % 7 == 0) {
                    seen.append(read(reader));
                }
            }
            log.close();
            seen.append(read(reader));
            assertNull(reader.next());
        }
        assertEquals(lines(0, count), seen.toString());
        assertFalse(Files.exists(OutputLog.lastTailOf(path)));
        assertTrue(Files.readString(path).contains("are cut out here"));
    }

    @Test
    void aReaderThatComesAfterTheEndSeesWhatIsKept() throws IOException {
        try (OutputLog log = log()) {
            say(log, OutputLog.Source.STDOUT, lines(0, 400));
        }
        try (OutputLogReader reader = OutputLogReader.open(path)) {
            String text = read(reader);
            assertTrue(text.startsWith(line(0)), text);
            assertTrue(text.contains("bytes of this log are cut out here"), text);
            assertTrue(text.endsWith(line(399)), text);
        }
    }

    @Test
    void aLogThatIsNotClosedIsReadWithItsTails() throws IOException {
        OutputLog log = log();
        int count = 45; // head, a full tail, and a part of the next one
        say(log, OutputLog.Source.STDOUT, lines(0, count));
        assertTrue(Files.exists(OutputLog.oldTailOf(path)));
        try (OutputLogReader reader = OutputLogReader.open(path)) {
            String text = read(reader);
            assertEquals(
                    lines(0, count),
                    text.replace("[output came faster than it was read, so a part may be missing here]", ""));
        }
        log.close();
    }

    @Test
    void aReaderThatWasTooSlowIsToldAndGoesOn() throws IOException {
        OutputLog log = log();
        try (OutputLogReader reader = OutputLogReader.open(path)) {
            say(log, OutputLog.Source.STDOUT, lines(0, 30));
            String first = read(reader);
            assertEquals(lines(0, 30), first);
            say(log, OutputLog.Source.STDOUT, lines(30, 200));
            String second = read(reader);
            assertTrue(second.contains("[output came faster"), second);
            assertTrue(second.endsWith(line(199)), second);
            say(log, OutputLog.Source.STDOUT, lines(200, 300));
            log.close();
            String third = read(reader);
            assertTrue(third.endsWith("]") || third.endsWith(line(299)), third);
            assertNull(reader.next());
        }
    }

    @Test
    void anythingElseIsShownAsARemark() throws IOException {
        Files.writeString(path, "no record\n2026-03-29T01:00:00.123Z ? what\n");
        try (OutputLogReader reader = OutputLogReader.open(path)) {
            assertEquals("[no record][2026-03-29T01:00:00.123Z ? what]", read(reader));
        }
    }

    @Test
    void aReaderBesideABusyWriterLosesNothingUnlessItSaysSo() throws Exception {
        OutputLog log = new OutputLog(path, 400_000, List.of(), new SystemTime(), event -> {});
        int count = 20_000;
        Thread writer = Thread.ofPlatform().start(() -> {
            for (int i = 0; i < count; i++) {
                say(log, OutputLog.Source.STDOUT, line(i));
            }
            log.close();
        });
        StringBuilder seen = new StringBuilder();
        try (OutputLogReader reader = OutputLogReader.open(path)) {
            while (writer.isAlive()) {
                seen.append(read(reader));
            }
            seen.append(read(reader));
        }
        String text = seen.toString();
        if (!text.contains("[output came faster")) {
            assertEquals(lines(0, count), text);
        }
        // Whatever is missing, nothing comes twice or in another order.
        List<String> numbers = text.lines()
                .filter(line -> line.contains("line "))
                .map(line -> line.substring(line.indexOf("line ")))
                .toList();
        assertEquals(numbers.stream().distinct().sorted().toList(), numbers);
    }

    /** SEC-02: a value that is cut by the blocks of the pipe, by the pieces of a long line and by the turn of the files. */
    @Test
    void aSecretIsReadNowhereHoweverItWasCut() throws IOException {
        String secret = "CANARY-7f3a91";
        String text = ("x".repeat(61) + secret + "y".repeat(7)).repeat(40) + "\n" + (secret + "\n").repeat(30);
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        for (int block : new int[] {1, 5, 13, 64, 1000}) {
            try (OutputLog log = new OutputLog(path, LIMIT, List.of(secret), new SystemTime(), event -> {})) {
                for (int from = 0; from < bytes.length; from += block) {
                    byte[] next = Arrays.copyOfRange(bytes, from, Math.min(bytes.length, from + block));
                    log.write(OutputLog.Source.STDOUT, next, next.length, from + block < bytes.length);
                }
            }
            try (OutputLogReader reader = OutputLogReader.open(path)) {
                String read = read(reader);
                assertFalse(read.contains(secret), "blocks of " + block);
                assertFalse(read.replace("\n", "").contains("CANARY"), "blocks of " + block);
                assertTrue(read.contains(Secrets.MASK), "blocks of " + block);
            }
        }
    }
}
