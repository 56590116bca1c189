package dev.fencepost.edge.config;

import dev.fencepost.edge.config.Finding.Severity;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A file of secrets: one {@code KEY=VALUE} a line, {@code #} comments on lines of their own, {@code export} allowed in front. A value
 * may stand in single or double quotes, which are taken off; between them there are no escapes, and nothing is expanded. Findings name
 * the line and never repeat what stands in it.
 */
final class EnvFile {

    private static final int MOST_BYTES = 1 << 20;
    private static final Pattern LINE =
            Pattern.compile("(?:export[ \\t]+)?([A-Za-z_][A-Za-z0-9_]*)=(.*)", Pattern.DOTALL);
    private static final Pattern QUOTED = Pattern.compile("(?:\"([^\"]*)\"|'([^']*)')[ \\t]*(?:#.*)?");
    private static final Pattern LATE_COMMENT = Pattern.compile(".*[ \\t]#.*");

    private final Path file;
    private final String path;
    private final Findings findings;

    EnvFile(Path file, String path, Findings findings) {
        this.file = file;
        this.path = path;
        this.findings = findings;
    }

    /** Reads the file; {@code whole} is told what is wrong with the file itself. */
    Map<String, String> read(BiConsumer<String, String> whole) {
        if (Files.exists(file)
                && !Files.isDirectory(file)
                && !Files.isRegularFile(file)) { // not opened: a pipe would block
            whole.accept(Finding.quote(file.toString()) + " is no plain file", "name a file that holds the secrets");
            return Map.of();
        }
        byte[] bytes;
        try (InputStream in = Files.newInputStream(file)) {
            bytes = in.readNBytes(MOST_BYTES + 1);
        } catch (IOException e) {
            whole.accept(JobsFileReader.whyUnreadable(file, e), "");
            return Map.of();
        }
        if (bytes.length > MOST_BYTES) {
            whole.accept("the file " + Finding.quote(file.toString()) + " is larger than 1 MiB", "");
            return Map.of();
        }
        checkRights();
        try {
            String text = StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(bytes))
                    .toString();
            return lines(text.startsWith("\uFEFF") ? text.substring(1) : text);
        } catch (CharacterCodingException e) {
            whole.accept("the file " + Finding.quote(file.toString()) + " is not UTF-8", "save it as UTF-8");
            return Map.of();
        }
    }

    private Map<String, String> lines(String text) {
        Map<String, String> values = new LinkedHashMap<>();
        Map<String, Integer> seen = new LinkedHashMap<>();
        List<String> lines = text.lines().toList();
        for (int i = 0; i < lines.size(); i++) {
            String line = lines.get(i).strip();
            if (line.isEmpty() || line.startsWith("#")) {
                continue;
            }
            Matcher m = LINE.matcher(line);
            if (!m.matches()) {
                add(
                        Severity.ERROR,
                        i + 1,
                        "the line is not KEY=VALUE",
                        "a key is letters, digits and _, with no blank before =");
                continue;
            }
            String key = m.group(1);
            Integer first = seen.putIfAbsent(key, i + 1);
            if (first != null) {
                add(
                        Severity.ERROR,
                        i + 1,
                        Finding.cut(key) + " is given twice, first in line " + first,
                        "remove one of the two");
            } else {
                values.put(key, value(key, m.group(2).strip(), i + 1));
            }
        }
        return values;
    }

    private String value(String key, String written, int line) {
        if (written.indexOf('\0') >= 0) {
            add(Severity.ERROR, line, "the value of " + Finding.cut(key) + " holds a NUL character", "remove it");
        }
        if (written.startsWith("\"") || written.startsWith("'")) {
            Matcher m = QUOTED.matcher(written);
            if (!m.matches()) {
                add(
                        Severity.ERROR,
                        line,
                        "the quotes around the value of " + Finding.cut(key) + " do not fit",
                        "end with the quote it begins with; there are no escapes, so use the other kind inside");
                return written;
            }
            return m.group(1) != null ? m.group(1) : m.group(2);
        }
        if (LATE_COMMENT.matcher(written).matches()) {
            add(
                    Severity.WARNING,
                    line,
                    "the value of " + Finding.cut(key) + " holds a # and goes on to the end of the line",
                    "put a comment on a line of its own, or the value in quotes");
        }
        return written;
    }

    private void checkRights() {
        try {
            if (Files.getPosixFilePermissions(file).contains(PosixFilePermission.OTHERS_READ)) {
                add(Severity.WARNING, 0, "everyone on this host can read this file of secrets", "chmod o-rwx " + file);
            }
        } catch (IOException | UnsupportedOperationException e) {
            // A file system without such rights has none to check.
        }
    }

    private void add(Severity severity, int line, String message, String hint) {
        findings.add(severity, file, line, line == 0 ? 0 : 1, path, message, hint);
    }
}
