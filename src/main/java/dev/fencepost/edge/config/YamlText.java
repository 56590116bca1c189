package dev.fencepost.edge.config;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CoderResult;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.Iterator;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.api.ConstructNode;
import org.snakeyaml.engine.v2.api.LoadSettings;
import org.snakeyaml.engine.v2.api.lowlevel.Compose;
import org.snakeyaml.engine.v2.api.lowlevel.Parse;
import org.snakeyaml.engine.v2.events.Event;
import org.snakeyaml.engine.v2.exceptions.Mark;
import org.snakeyaml.engine.v2.exceptions.MarkedYamlEngineException;
import org.snakeyaml.engine.v2.exceptions.ReaderException;
import org.snakeyaml.engine.v2.exceptions.YamlEngineException;
import org.snakeyaml.engine.v2.nodes.MappingNode;
import org.snakeyaml.engine.v2.nodes.Node;
import org.snakeyaml.engine.v2.nodes.Tag;
import org.snakeyaml.engine.v2.resolver.CoreScalarResolver;
import org.snakeyaml.engine.v2.resolver.ScalarResolver;
import org.snakeyaml.engine.v2.schema.Schema;

/**
 * From bytes to the node tree of one YAML 1.2 document. Nothing is constructed: scalars stay the text that was written.
 *
 * <p>Bounds hold before any tree is built: size, depth, number of aliases, one document.
 */
final class YamlText {

    static final int MOST_BYTES = 1 << 20;
    private static final int DEEPEST = 16;
    private static final int MOST_ALIASES = 100;

    /** The two bytes of the byte order mark of UTF-16. */
    private static final byte LOW = (byte) 0xfe;

    private static final byte HIGH = (byte) 0xff;

    private static final Pattern STAR_IN_CRON = Pattern.compile("\\*(?:[/,\\s]|$)");
    private static final Pattern MACRO_VALUE = Pattern.compile(".*:\\s+@\\w+.*");
    private static final Pattern TAB_INDENT = Pattern.compile("^ *\\t.*");

    /** The core schema of YAML 1.2, of which only null is asked for, without the merge keys of YAML 1.1. */
    private record Unmerged() implements Schema {
        @Override
        public ScalarResolver getScalarResolver() {
            return new CoreScalarResolver(false);
        }

        @Override
        public Map<Tag, ConstructNode> getSchemaTagConstructors() {
            return Map.of();
        }
    }

    private final Findings findings;

    YamlText(Findings findings) {
        this.findings = findings;
    }

    /** The mapping at the top of the document, or null after an error was added to the findings. */
    @Nullable
    MappingNode root(byte[] bytes) {
        String text = decoded(bytes);
        if (text == null) {
            return null;
        }
        LoadSettings settings = LoadSettings.builder()
                .setLabel(findings.file().toString())
                .setCodePointLimit(2 * MOST_BYTES)
                .setMaxAliasesForCollections(MOST_ALIASES)
                .setAllowDuplicateKeys(true)
                .setAllowNonScalarKeys(true)
                .setSchema(new Unmerged())
                .build();
        try {
            if (!withinBounds(settings, text)) {
                return null;
            }
            Optional<Node> root = new Compose(settings).composeString(text);
            if (root.isEmpty()) {
                findings.error(
                        0,
                        0,
                        "the file is empty",
                        "write at least a job: jobs: { hello: { every: 1h, command: [date] } }");
                return null;
            }
            if (root.get() instanceof MappingNode mapping) {
                return mapping;
            }
            findings.error(
                    root.get(),
                    "",
                    "the file is not a mapping of keys to values",
                    "begin with jobs: and a job below it");
        } catch (MarkedYamlEngineException e) {
            syntaxError(e, text);
        } catch (ReaderException e) {
            place(
                    text,
                    e.getPosition(),
                    "the character U+%04X is not allowed in YAML".formatted(e.getCodePoint()),
                    "remove it");
        } catch (YamlEngineException e) {
            findings.error(0, 0, "the YAML cannot be read: " + Finding.quotable(String.valueOf(e.getMessage())), "");
        }
        return null;
    }

    private boolean withinBounds(LoadSettings settings, String text) {
        int depth = 0;
        int aliases = 0;
        int documents = 0;
        Iterator<Event> events = new Parse(settings).parseString(text).iterator();
        Mark last = null;
        while (true) {
            Event event;
            try {
                if (!events.hasNext()) {
                    return true;
                }
                event = events.next();
            } catch (IllegalArgumentException
                    | IndexOutOfBoundsException e) { // its reader of escapes trips over a cut one
                findings.error(
                        last == null ? 1 : last.getLine() + 1,
                        last == null ? 1 : last.getColumn() + 1,
                        "the YAML cannot be read from here on",
                        "between double quotes a backslash begins an escape such as \\u00e9: is one cut off?");
                return false;
            }
            last = event.getEndMark().orElse(last);
            switch (event.getEventId()) {
                case MappingStart, SequenceStart -> depth++;
                case MappingEnd, SequenceEnd -> depth--;
                case Alias -> aliases++;
                case DocumentStart -> documents++;
                default -> {}
            }
            String problem = null;
            if (depth > DEEPEST) {
                problem = "the nesting is deeper than " + DEEPEST + " levels";
            } else if (aliases > MOST_ALIASES) {
                problem = "there are more than " + MOST_ALIASES + " aliases";
            } else if (documents > 1) {
                problem = "there is a second document after ---";
            }
            if (problem != null) {
                Mark mark = event.getStartMark().orElse(null);
                findings.error(
                        mark == null ? 0 : mark.getLine() + 1,
                        mark == null ? 0 : mark.getColumn() + 1,
                        problem,
                        documents > 1 ? "a jobs file is one document" : "");
                return false;
            }
        }
    }

    private @Nullable String decoded(byte[] bytes) {
        if (bytes.length > MOST_BYTES) {
            findings.error(
                    0,
                    0,
                    "the file is larger than 1 MiB",
                    "a jobs file of this size is a mistake; is it the right file?");
            return null;
        }
        if (bytes.length >= 2 && ((bytes[0] == LOW && bytes[1] == HIGH) || (bytes[0] == HIGH && bytes[1] == LOW))) {
            findings.error(1, 1, "the file is UTF-16, not UTF-8", "save it as UTF-8");
            return null;
        }
        CharsetDecoder decoder = StandardCharsets.UTF_8
                .newDecoder()
                .onMalformedInput(CodingErrorAction.REPORT)
                .onUnmappableCharacter(CodingErrorAction.REPORT);
        CharBuffer out = CharBuffer.allocate(bytes.length + 1);
        CoderResult result = decoder.decode(ByteBuffer.wrap(bytes), out, true);
        String text = out.flip().toString();
        if (result.isError()) {
            place(text, text.codePointCount(0, text.length()), "here the file is not UTF-8", "save it as UTF-8");
            return null;
        }
        return text.startsWith("\uFEFF") ? text.substring(1) : text;
    }

    private void place(String text, int codePoints, String message, String hint) {
        int end = text.offsetByCodePoints(0, Math.min(codePoints, text.codePointCount(0, text.length())));
        int line = 1;
        int start = 0;
        for (int i = 0; i < end; i++) {
            char c = text.charAt(i);
            if (c == '\n' || (c == '\r' && (i + 1 == text.length() || text.charAt(i + 1) != '\n'))) {
                line++;
                start = i + 1;
            }
        }
        findings.error(line, text.codePointCount(start, end) + 1, message, hint);
    }

    /** YAML's own words are for those who know YAML; the traps that everyone meets once get ours. */
    private void syntaxError(MarkedYamlEngineException e, String text) {
        Mark mark = e.getProblemMark().or(e::getContextMark).orElse(null);
        int line = mark == null ? 0 : mark.getLine() + 1;
        int column = mark == null ? 0 : mark.getColumn() + 1;
        String problem = String.valueOf(e.getProblem());
        String written = line(text, line);
        String context = line(text, e.getContextMark().map(Mark::getLine).orElse(-1) + 1);
        int star = starBefore(written, column);
        if (star > 0 && STAR_IN_CRON.matcher(written.substring(star - 1)).lookingAt()) {
            findings.error(
                    line,
                    star,
                    "a star begins an alias in YAML",
                    "put the cron expression in quotes: cron: \"*/15 * * * *\"");
        } else if (problem.contains("undefined alias")) {
            findings.error(
                    line,
                    column,
                    "this alias refers to no anchor",
                    "a star begins an alias in YAML: if a text is meant, put it in quotes");
        } else if (MACRO_VALUE.matcher(written).matches() && problem.contains("@")) {
            findings.error(
                    line,
                    column,
                    "a value cannot begin with @ in YAML",
                    "put the cron expression in quotes: cron: \"@daily\"");
        } else if (TAB_INDENT.matcher(written).matches()
                || TAB_INDENT.matcher(context).matches()) {
            findings.error(line, column, "there is a tab in the indentation", "indent with spaces");
        } else if (problem.contains("TAB")) {
            findings.error(line, column, "there is a tab where YAML wants a blank", "use spaces instead of tabs");
        } else {
            findings.error(
                    line,
                    column,
                    "the YAML cannot be read: " + Finding.quotable(problem),
                    "look at this line and the one above: indentation, quotes, a missing colon or blank after it");
        }
    }

    /** Column of the star at this column or just before it, from 1; 0 when there is none. */
    private static int starBefore(String line, int column) {
        for (int at = column; at >= Math.max(1, column - 1); at--) {
            if (at <= line.length() && line.charAt(at - 1) == '*') {
                return at;
            }
        }
        return 0;
    }

    private static String line(String text, int number) {
        return number < 1 ? "" : text.lines().skip(number - 1L).findFirst().orElse("");
    }
}
