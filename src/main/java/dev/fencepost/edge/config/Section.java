package dev.fencepost.edge.config;

import dev.fencepost.host.Nearest;
import dev.fencepost.schedule.ScheduleException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.nodes.MappingNode;
import org.snakeyaml.engine.v2.nodes.Node;
import org.snakeyaml.engine.v2.nodes.NodeTuple;
import org.snakeyaml.engine.v2.nodes.ScalarNode;
import org.snakeyaml.engine.v2.nodes.SequenceNode;
import org.snakeyaml.engine.v2.nodes.Tag;

/**
 * One mapping of the file, read strictly. Whatever is wrong goes to the findings and is then treated as absent, so that reading goes on
 * and finds the rest.
 */
final class Section {

    private static final Set<Tag> PLAIN_TAGS =
            Set.of(Tag.STR, Tag.INT, Tag.FLOAT, Tag.BOOL, Tag.NULL, Tag.SEQ, Tag.MAP);
    private static final Pattern WHOLE_NUMBER = Pattern.compile("0|[1-9][0-9]{0,17}");
    private static final Pattern LEADING_ZERO = Pattern.compile("0[0-9]+");

    private final Node node;
    private final String path;
    private final Findings findings;
    private final Origin.Kind kind;
    private final Map<String, Node> values = new LinkedHashMap<>();
    private final Map<String, Node> keyNodes = new LinkedHashMap<>();

    private final Set<String> misspelt = new HashSet<>();

    private Section(Node node, String path, Findings findings, Origin.Kind kind) {
        this.node = node;
        this.path = path;
        this.findings = findings;
        this.kind = kind;
    }

    /** A mapping with fixed keys; unknown, planned and doubled ones are errors. What is missing is told at {@code at}. */
    static Section of(MappingNode mapping, Node at, String path, Findings findings, Origin.Kind kind, Keys keys) {
        Section section = open(mapping, at, path, findings, kind);
        for (String key : List.copyOf(section.values.keySet())) {
            if (!keys.known().contains(key)) {
                section.refuse(key, keys);
                section.values.remove(key);
            }
        }
        return section;
    }

    /** A mapping whose keys are names that the user chose. */
    static Section open(MappingNode mapping, Node at, String path, Findings findings, Origin.Kind kind) {
        Section section = new Section(at, path, findings, kind);
        for (NodeTuple tuple : mapping.getValue()) {
            section.add(tuple.getKeyNode(), tuple.getValueNode());
        }
        return section;
    }

    /** A mapping that is not there. */
    static Section absent(Node parent, String path, Findings findings, Origin.Kind kind) {
        return new Section(parent, path, findings, kind);
    }

    private void add(Node keyNode, Node value) {
        if (!(keyNode instanceof ScalarNode scalar)) {
            findings.error(keyNode, path, "a key must be a single word here", "");
            return;
        }
        String key = scalar.getValue();
        if (key.equals("<<") && scalar.isPlain()) {
            findings.error(
                    keyNode,
                    path,
                    "YAML 1.2 has no merge key <<",
                    "write common values once under defaults:, or repeat them");
        } else if (isNull(scalar)) {
            findings.error(keyNode, path, "the key is empty", "if the name is meant as text, put it in quotes");
        } else if (values.containsKey(key)) {
            findings.error(
                    keyNode,
                    pathOf(key),
                    "the key is given twice, first in line " + Findings.line(keyNodes.getOrDefault(key, keyNode)),
                    "remove one of the two");
        } else {
            values.put(key, value);
            keyNodes.put(key, keyNode);
            checkTag(value, pathOf(key));
        }
    }

    private void checkTag(Node value, String where) {
        if (!PLAIN_TAGS.contains(value.getTag())) {
            findings.error(
                    value,
                    where,
                    "the tag " + Finding.quote(value.getTag().getValue()) + " is not supported",
                    "remove it");
        }
    }

    private void refuse(String key, Keys keys) {
        Node at = keyNodes.getOrDefault(key, node);
        if (!keys.planned().contains(key)) {
            Nearest.to(key, keys.known()).ifPresent(misspelt::add);
            findings.error(at, pathOf(key), "the key " + Finding.quote(key) + " is unknown", keys.hintFor(key));
        } else {
            findings.error(at, pathOf(key), "this is not available in this version", "remove the key");
        }
    }

    /** Whether an unknown key most likely meant this one: that is error enough, it need not be called missing too. */
    boolean isMisspelt(String key) {
        return misspelt.contains(key);
    }

    Node node() {
        return node;
    }

    String path() {
        return path;
    }

    String pathOf(String key) {
        return path.isEmpty() ? Finding.cut(key) : path + "." + Finding.cut(key);
    }

    Set<String> keys() {
        return values.keySet();
    }

    /** Where findings about this key point to: its value, else its name, else the section. */
    Node at(String key) {
        Node value = values.get(key);
        return value != null && !isNull(value) ? value : keyNodes.getOrDefault(key, node);
    }

    /** Where the name of the key stands. */
    Node keyAt(String key) {
        return keyNodes.getOrDefault(key, node);
    }

    /** The value as it stands in the tree; null when the key is absent or its value is YAML's null, which means the default. */
    @Nullable
    Node value(String key) {
        Node value = values.get(key);
        return value == null || isNull(value) ? null : value;
    }

    boolean has(String key) {
        return value(key) != null;
    }

    /** A single value, made into something by a function that throws {@link BadValueException} or {@link ScheduleException}. */
    <T> @Nullable Given<T> read(String key, Function<String, T> parser) {
        Node value = value(key);
        if (value == null) {
            return null;
        }
        if (!(value instanceof ScalarNode scalar)) {
            error(key, "this must be a single value, not a " + shape(value), "");
            return null;
        }
        try {
            return new Given<>(parser.apply(scalar.getValue()), origin(key));
        } catch (BadValueException e) {
            error(key, String.valueOf(e.getMessage()), e.hint());
        } catch (ScheduleException e) {
            error(key, String.valueOf(e.getMessage()), "");
        }
        return null;
    }

    @Nullable
    Given<Integer> number(String key, int least, int most) {
        return read(key, text -> wholeNumber(text.strip(), least, most));
    }

    /** The words {@code true} and {@code false} and no others. */
    @Nullable
    Given<Boolean> truth(String key) {
        return read(key, text -> switch (text.strip()) {
            case "true" -> true;
            case "false" -> false;
            default ->
                throw new BadValueException(Finding.quote(text) + " is neither true nor false", "write true or false");
        });
    }

    static int wholeNumber(String text, int least, int most) {
        String range = "write a whole number from " + least + " to " + most;
        if (LEADING_ZERO.matcher(text).matches()) {
            throw new BadValueException(Finding.quote(text) + " is ambiguous: some readers take it as octal", range);
        }
        if (!WHOLE_NUMBER.matcher(text).matches()) {
            throw new BadValueException(Finding.quote(text) + " is no whole number", range);
        }
        long n = Long.parseLong(text);
        if (n < least || n > most) {
            throw new BadValueException(Finding.quote(text) + " is out of range", range);
        }
        return (int) n;
    }

    /** A nested mapping with fixed keys; an absent one has no keys. */
    Section section(String key, Keys keys, String example) {
        Node value = value(key);
        if (value instanceof MappingNode mapping) {
            return of(mapping, keyAt(key), pathOf(key), findings, kind, keys);
        }
        if (value != null) {
            error(key, "this must be a mapping, not a " + shape(value), "write " + example);
        }
        return absent(node, pathOf(key), findings, kind);
    }

    /** A nested mapping whose keys are names that the user chose; an absent one has no keys. */
    Section open(String key, String example) {
        Node value = value(key);
        if (value instanceof MappingNode mapping) {
            return open(mapping, keyAt(key), pathOf(key), findings, kind);
        }
        if (value != null) {
            error(key, "this must be a mapping, not a " + shape(value), "write " + example);
        }
        return absent(node, pathOf(key), findings, kind);
    }

    /** A list of single values, which is not empty; null when it is absent or after an error. */
    @Nullable
    Given<List<String>> list(String key, String example) {
        Node value = value(key);
        if (value == null) {
            return null;
        }
        if (!(value instanceof SequenceNode list)) {
            error(key, "this must be a list, not a " + shape(value), "write " + example);
            return null;
        }
        if (list.getValue().isEmpty()) {
            error(key, "the list is empty", "write " + example + ", or remove the key");
            return null;
        }
        List<String> words = words(key, list);
        return words == null ? null : new Given<>(words, origin(key));
    }

    /** A list of single values, each made into something by a function as of {@link #read}, which is not empty. */
    <T> @Nullable Given<List<T>> list(String key, String example, Function<String, T> parser) {
        Given<List<String>> words = list(key, example);
        if (words == null || !(value(key) instanceof SequenceNode list)) {
            return null;
        }
        List<T> all = new ArrayList<>();
        for (int i = 0; i < words.value().size(); i++) {
            try {
                all.add(parser.apply(words.value().get(i)));
            } catch (BadValueException e) {
                findings.error(
                        list.getValue().get(i), pathOf(key) + "[" + i + "]", String.valueOf(e.getMessage()), e.hint());
            }
        }
        return all.size() < words.value().size() ? null : new Given<>(all, words.origin());
    }

    /** The single values of a list; null after an error. */
    @Nullable
    List<String> words(String key, SequenceNode list) {
        List<String> words = new ArrayList<>();
        boolean good = true;
        for (int i = 0; i < list.getValue().size(); i++) {
            Node item = list.getValue().get(i);
            String where = pathOf(key) + "[" + i + "]";
            checkTag(item, where);
            if (!(item instanceof ScalarNode scalar)) {
                findings.error(item, where, "each word must be a single value, not a " + shape(item), "");
                good = false;
            } else if (isNull(item)) {
                findings.error(
                        item,
                        where,
                        "the word "
                                + (scalar.getValue().isEmpty()
                                        ? "is empty"
                                        : scalar.getValue() + " means null in YAML"),
                        "put it in quotes");
                good = false;
            } else {
                words.add(scalar.getValue());
            }
        }
        return good ? words : null;
    }

    /** Tells that this key has no value, unless it was written and refused, or misspelt. */
    void missing(String key, String message, String hint) {
        if (!has(key) && !isMisspelt(key)) {
            error(key, message, hint);
        }
    }

    void error(String key, String message, String hint) {
        findings.error(at(key), pathOf(key), message, hint);
    }

    void warning(String key, String message, String hint) {
        findings.warning(at(key), pathOf(key), message, hint);
    }

    Findings findings() {
        return findings;
    }

    Origin origin(String key) {
        return new Origin(kind, findings.file(), Findings.line(keyAt(key)), "");
    }

    /** Nothing, {@code ~} or {@code null}, without quotes. */
    static boolean isNull(Node value) {
        return value.getTag().equals(Tag.NULL);
    }

    static String shape(Node value) {
        return switch (value.getNodeType()) {
            case MAPPING -> "mapping";
            case SEQUENCE -> "list";
            default -> "single value";
        };
    }
}
