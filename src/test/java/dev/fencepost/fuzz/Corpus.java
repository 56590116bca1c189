package dev.fencepost.fuzz;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The cases of a target, and the words of its language in the form that libFuzzer reads. */
final class Corpus {

    /** Larger cases are slow by their purpose, and changing them makes nothing new. */
    static final int LARGEST_SEED = 4 << 10;

    private static final Path ROOT = Path.of("src/test/resources/fuzz");
    private static final Pattern WORD = Pattern.compile("\\s*\"(.*)\"\\s*");
    private static final Pattern ESCAPED = Pattern.compile("\\\\(?:x([0-9a-fA-F]{2})|([\"\\\\]))");

    private Corpus() {}

    static Path dictionary(Target target) {
        return ROOT.resolve(target.word() + ".dict");
    }

    /** By the names of their files. */
    static Map<String, byte[]> cases(Target target) throws IOException {
        Map<String, byte[]> cases = new TreeMap<>();
        try (Stream<Path> files = Files.list(ROOT.resolve(target.word()))) {
            for (Path file : files.toList()) {
                cases.put(file.getFileName().toString(), Files.readAllBytes(file));
            }
        }
        return cases;
    }

    static List<byte[]> words(Target target) throws IOException {
        List<byte[]> words = new ArrayList<>();
        for (String line : Files.readAllLines(dictionary(target))) {
            Matcher word = WORD.matcher(line);
            if (word.matches()) {
                words.add(unescaped(word.group(1)));
            }
        }
        return words;
    }

    private static byte[] unescaped(String text) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        Matcher escaped = ESCAPED.matcher(text);
        int at = 0;
        while (escaped.find()) {
            out.writeBytes(text.substring(at, escaped.start()).getBytes(StandardCharsets.UTF_8));
            if (escaped.group(1) == null) {
                out.writeBytes(escaped.group(2).getBytes(StandardCharsets.UTF_8));
            } else {
                out.write(Integer.parseInt(escaped.group(1), 16));
            }
            at = escaped.end();
        }
        out.writeBytes(text.substring(at).getBytes(StandardCharsets.UTF_8));
        return out.toByteArray();
    }
}
