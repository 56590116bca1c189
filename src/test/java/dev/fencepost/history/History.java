package dev.fencepost.history;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** All the lines of a folder, in the order of their times; those of one file keep their order. */
public final class History {

    private static final ObjectMapper JSON = new ObjectMapper();

    /** The store that the world ended with; another one is what a lost primary kept. */
    static final String MAIN = "main";

    private static final Set<String> OF_CHILDREN = Set.of("start", "stamp", "done");
    private static final Set<String> SIGNALS = Set.of("kill", "stop", "cont", "end");

    private final List<Line> lines;
    private final Map<String, List<Line>> byWhat = new HashMap<>();
    private final Map<String, List<Line>> ofRun = new HashMap<>();
    private final List<Line> signals = new ArrayList<>();
    private final int files;
    private final int torn;
    private final List<String> unreadable;

    private History(List<Line> lines, int files, int torn, List<String> unreadable) {
        this.lines = List.copyOf(lines);
        this.files = files;
        this.torn = torn;
        this.unreadable = List.copyOf(unreadable);
        for (Line line : lines) {
            add(byWhat, line.text("what"), line);
            if (OF_CHILDREN.contains(line.text("what"))) {
                add(ofRun, line.text("run"), line);
            } else if (SIGNALS.contains(line.text("what"))) {
                signals.add(line);
            }
        }
    }

    private static void add(Map<String, List<Line>> parts, String key, Line line) {
        parts.computeIfAbsent(key, none -> new ArrayList<>()).add(line);
    }

    /** A last line without its end is what a kill leaves behind: it is counted. Any other line that is no JSON object is told. */
    public static History read(Path folder) {
        List<Line> lines = new ArrayList<>();
        List<String> unreadable = new ArrayList<>();
        int torn = 0;
        List<Path> files;
        try (Stream<Path> all = Files.list(folder)) {
            files = all.filter(file -> file.toString().endsWith(HistoryFile.ENDING))
                    .sorted()
                    .toList();
            for (Path file : files) {
                torn += read(file, lines, unreadable);
            }
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
        lines.sort(Comparator.comparingLong(Line::up)); // stable
        return new History(lines, files.size(), torn, unreadable);
    }

    /** Returns how many lines were torn: none or one. */
    private static int read(Path file, List<Line> lines, List<String> unreadable) throws IOException {
        String text = Files.readString(file, StandardCharsets.UTF_8);
        String name = String.valueOf(file.getFileName());
        int number = 0;
        int from = 0;
        for (int end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', from)) {
            number++;
            Line line = line(name, number, text.substring(from, end));
            if (line == null) {
                unreadable.add(name + ":" + number + ": " + text.substring(from, end));
            } else {
                lines.add(line);
            }
            from = end + 1;
        }
        return from < text.length() ? 1 : 0;
    }

    private static @Nullable Line line(String file, int number, String text) {
        try {
            JsonNode json = JSON.readTree(text);
            return json != null && json.isObject() && json.path("up").isNumber() && json.hasNonNull("what")
                    ? new Line(file, number, json)
                    : null;
        } catch (JsonProcessingException noJson) {
            return null;
        }
    }

    public List<Line> lines() {
        return lines;
    }

    public List<Line> all(String what) {
        return byWhat.getOrDefault(what, List.of());
    }

    /** What the child of this run wrote. */
    List<Line> ofRun(String run) {
        return ofRun.getOrDefault(run, List.of());
    }

    /** What befell services: kill, stop, cont, end. */
    List<Line> signals() {
        return signals;
    }

    /** Rows of the store that the world ended with. */
    List<Line> rows(String table) {
        return rows(table, MAIN);
    }

    List<Line> rows(String table, String store) {
        return rowsOfAll(table).stream()
                .filter(line -> line.text("store").equals(store))
                .toList();
    }

    /** Rows of every store, lost ones too. */
    List<Line> rowsOfAll(String table) {
        return all("row").stream().filter(line -> line.isRowOf(table)).toList();
    }

    /** The boot clock at this instant of the wall clock, in milliseconds. */
    long upAt(long wall) {
        Line clock = all("clock").getFirst();
        return wall - clock.number("wall") + clock.up();
    }

    /** Whether a standby took over between these two times of the boot clock. */
    boolean promotedBetween(long from, long to) {
        return all("promoted").stream().anyMatch(line -> line.up() >= from && line.up() <= to);
    }

    public int files() {
        return files;
    }

    public int torn() {
        return torn;
    }

    List<String> unreadable() {
        return unreadable;
    }
}
