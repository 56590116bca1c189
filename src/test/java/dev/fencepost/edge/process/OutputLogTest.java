package dev.fencepost.edge.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.edge.host.SystemTime;
import dev.fencepost.edge.process.OutputLog.Source;
import dev.fencepost.host.Event;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class OutputLogTest {

    private static final Pattern RECORD =
            Pattern.compile("(\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z) ([OoEe!]) (.*)", Pattern.DOTALL);

    private final List<Event> journal = new ArrayList<>();
    private Path path;

    @BeforeEach
    void setUp(@TempDir Path directory) {
        path = directory.resolve("run.log");
    }

    @Test
    void eachLineHasItsInstantAndItsStream() throws Exception {
        OutputLog log = log(1 << 20);
        write(log, Source.STDOUT, "one\ntwo\npart");
        write(log, Source.STDERR, "wrong\n");
        write(log, Source.STDOUT, "ly\n\nlast");
        log.close();
        assertEquals(
                List.of("O one", "O two", "o part", "E wrong", "O ly", "O ", "o last"),
                letters(Files.readString(path)));
        assertEquals("one\ntwo\npartwrong\nly\n\nlast", log.tail());
        assertEquals("one\ntwo\npartly\n\nlast", text(Files.readString(path), "Oo"));
        assertFalse(log.truncated());
        assertEquals(26, log.totalBytes());
    }

    @Test
    void lineThatIsSureToGoOnWaitsForItsEnd() throws Exception {
        OutputLog log = log(1 << 20);
        byte[] half = "half".getBytes(StandardCharsets.UTF_8);
        log.write(Source.STDOUT, half, half.length, true);
        write(log, Source.STDOUT, " and half\n");
        log.write(Source.STDERR, half, half.length, true);
        log.close();
        assertEquals(List.of("O half and half", "e half"), letters(Files.readString(path)));
    }

    @Test
    void headAndTailAreKeptAndTheCutIsSaid() throws Exception {
        OutputLog log = log(20_000);
        for (int i = 0; i < 10_000; i++) {
            write(log, Source.STDOUT, "line " + i + "\n");
        }
        log.close();
        String file = Files.readString(path);
        List<String> letters = letters(file);
        assertEquals("O line 0", letters.getFirst());
        assertEquals("O line 9999", letters.getLast());
        assertTrue(file.length() < 20_200, "bytes: " + file.length());
        assertTrue(file.length() > 19_000, "bytes: " + file.length());
        assertTrue(log.truncated());
        String remark = letters.stream()
                .filter(line -> line.startsWith("!"))
                .findFirst()
                .orElseThrow();
        long kept = (long) file.length() - remark.length() - 26;
        long all = 0;
        for (int i = 0; i < 10_000; i++) {
            all += 28 + ("line " + i).length();
        }
        assertEquals("! " + (all - kept) + " bytes of this log are cut out here, its limit is 20000", remark);
        assertEquals(List.of(path), files());
    }

    @Test
    void outputOfExactlyTheLimitIsWhole() throws Exception {
        OutputLog log = log(10 * 33);
        write(log, Source.STDOUT, "12345\n".repeat(10));
        log.close();
        assertEquals(10 * 33, Files.size(path));
        assertFalse(log.truncated());
        OutputLog more = log(10 * 33);
        write(more, Source.STDOUT, "12345\n".repeat(11));
        more.close();
        assertTrue(more.truncated());
    }

    @Test
    void floodWithoutNewlineIsCutAtCharacters() throws Exception {
        OutputLog log = log(1 << 20);
        byte[] block = "ä€😀".repeat(7000).getBytes(StandardCharsets.UTF_8);
        for (int i = 0; i < 50; i++) {
            log.write(Source.STDERR, block, block.length, true);
        }
        log.close();
        String file = Files.readString(path);
        assertFalse(file.contains("\uFFFD"));
        assertTrue(Files.size(path) < (1 << 20) + 200);
        assertTrue(log.tail().getBytes(StandardCharsets.UTF_8).length <= 64 * 1024);
        assertFalse(log.tail().contains("\uFFFD"));
        assertEquals(50L * block.length, log.totalBytes());
    }

    @Test
    void fullDiskIsToldOnceAndTheTailGoesOn() {
        path = Path.of("/dev/full");
        OutputLog log = log(1 << 20);
        for (int i = 0; i < 100; i++) {
            write(log, Source.STDOUT, "line " + i + "\n");
        }
        log.close();
        assertTrue(log.tail().endsWith("line 98\nline 99\n"));
        assertTrue(log.truncated());
        assertEquals(1, journal.size());
        assertTrue(journal.getFirst().toString().contains("/dev/full"));
    }

    @Test
    void missingDirectoryIsToldOnceAndTheTailGoesOn() {
        path = path.resolveSibling("no/such/directory.log");
        OutputLog log = log(1 << 20);
        write(log, Source.STDOUT, "text");
        log.close();
        assertEquals("text", log.tail());
        assertEquals(1, journal.size());
    }

    @Test
    void tailBeginsWithAWholeLine() {
        OutputLog log = log(1 << 20);
        write(log, Source.STDOUT, "some line\n".repeat(20_000));
        assertTrue(log.tail().startsWith("some line\n"));
        assertTrue(log.tail().length() > 64 * 1024 - 20);
        log.close();
    }

    private OutputLog log(long limit) {
        return new OutputLog(path, limit, List.of(), new SystemTime(), journal::add);
    }

    private static void write(OutputLog log, Source source, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        log.write(source, bytes, bytes.length, false);
    }

    private static List<String> letters(String file) {
        return file.lines()
                .map(line -> {
                    Matcher record = RECORD.matcher(line);
                    assertTrue(record.matches(), line);
                    return record.group(2) + " " + record.group(3);
                })
                .toList();
    }

    /** The child's own text, as the format promises. */
    private static String text(String file, String ofLetters) {
        StringBuilder text = new StringBuilder();
        for (String record : letters(file)) {
            if (ofLetters.indexOf(record.charAt(0)) >= 0) {
                text.append(record, 2, record.length());
                text.append(Character.isUpperCase(record.charAt(0)) ? "\n" : "");
            }
        }
        return text.toString();
    }

    private List<Path> files() throws IOException {
        try (Stream<Path> files = Files.list(path.getParent())) {
            return files.toList();
        }
    }
}
