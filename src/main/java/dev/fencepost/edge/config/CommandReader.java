package dev.fencepost.edge.config;

import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.nodes.Node;
import org.snakeyaml.engine.v2.nodes.ScalarNode;
import org.snakeyaml.engine.v2.nodes.SequenceNode;

/**
 * Reads {@code command}: a list is program and arguments, started as they are; a single text goes to {@code /bin/sh -c}.
 *
 * <p>The program must exist when the file is loaded. A name without a slash is looked up in the PATH that the run will have, a
 * relative path starts from the job's working directory.
 */
final class CommandReader {

    private static final String SHELL = "/bin/sh";
    private static final String DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin";
    private static final Set<String> SHELLS = Set.of("sh", "bash", "dash", "zsh", "ksh", "busybox");
    private static final Pattern SHELL_SYNTAX = Pattern.compile(
            "~|~/.*|[0-9]*>>?(&?[0-9-]|.*)|[0-9]?<.*|&>.*|\\||\\|\\||&&|;|&|\\$\\{?[A-Za-z_].*|.*\\$\\([^ ]*|`.*|[^ ]*\\*[^ ]*|.*\\$\\{[A-Za-z_][A-Za-z0-9_]*}.*");
    private static final Pattern SECRET_WORD =
            Pattern.compile("(?i)-{0,2}[a-z0-9_-]*(password|passwd|secret|token|api[_-]?key)=.+");

    private static final Pattern SECRET_HEADER =
            Pattern.compile("(?i)(proxy-)?(authorization|cookie|x-api-key|[a-z-]*token)\\s*:\\s*[^\\s$].*");

    private final Section job;
    private final Map<String, String> runnerEnvironment;

    CommandReader(Section job, Map<String, String> runnerEnvironment) {
        this.job = job;
        this.runnerEnvironment = runnerEnvironment;
    }

    /**
     * The words to start; null after an error.
     *
     * @param env variables of the job, secrets included
     * @param secrets those that came from {@code env-file}
     */
    @Nullable
    List<String> read(@Nullable Path workingDir, Map<String, String> env, Map<String, String> secrets) {
        Node value = job.value("command");
        if (value == null && (job.isMisspelt("command") || job.isMisspelt("http"))) {
            return null;
        }
        if (value == null) {
            String message = job.keys().contains("command") ? "the command has no value" : "the job has no command";
            job.error(
                    "command",
                    message,
                    "write command: [program, argument], command: \"a shell line\", or http: { post: URL }");
            return null;
        }
        List<String> words = switch (value) {
            case ScalarNode scalar -> shellLine(scalar.getValue());
            case SequenceNode list -> list(list, workingDir, env);
            default -> {
                job.error(
                        "command",
                        "this must be a list or a text, not a mapping",
                        "write command: [program, argument]");
                yield null;
            }
        };
        if (words == null || !fits(words)) {
            return null;
        }
        warnOfSecrets(words, secrets);
        return words;
    }

    private @Nullable List<String> shellLine(String text) {
        if (text.isBlank()) {
            job.error(
                    "command",
                    "the command is empty",
                    "write command: [program, argument] or command: \"a shell line\"");
            return null;
        }
        return List.of(SHELL, "-c", text);
    }

    private @Nullable List<String> list(SequenceNode list, @Nullable Path workingDir, Map<String, String> env) {
        if (list.getValue().isEmpty()) {
            job.error("command", "the command is empty", "write command: [program, argument]");
            return null;
        }
        List<String> words = job.words("command", list);
        if (words == null) {
            return null;
        }
        warnOfShellSyntax(words);
        String program = words.getFirst();
        if (program.isBlank()) {
            job.error("command", "the first word, the program, is blank", "write command: [program, argument]");
            return null;
        }
        String problem = whyNotStartable(program, workingDir, env);
        if (problem != null) {
            job.error("command", problem, hint(program));
            return null;
        }
        return words;
    }

    private @Nullable String whyNotStartable(String program, @Nullable Path workingDir, Map<String, String> env) {
        try {
            if (program.contains("/")) {
                Path path = Path.of(program);
                if (workingDir == null && !path.isAbsolute()) {
                    return null; // The directory itself was refused: one error is enough.
                }
                return FileName.whyNotExecutable(
                        workingDir == null ? path : workingDir.resolve(path).normalize());
            }
            String search = env.getOrDefault("PATH", runnerEnvironment.getOrDefault("PATH", DEFAULT_PATH));
            String near = null;
            for (String dir : search.split(":", -1)) {
                Path path = Path.of(dir.isEmpty() ? "." : dir).resolve(program);
                if (Files.isRegularFile(path)) {
                    near = FileName.whyNotExecutable(path);
                    if (near == null) {
                        return null;
                    }
                }
            }
            return near != null
                    ? near
                    : "there is no program " + Finding.quote(program) + " in the PATH " + Finding.quote(search);
        } catch (InvalidPathException e) {
            return Finding.quote(program) + " is no path";
        }
    }

    private static String hint(String program) {
        if (program.startsWith("~") || program.startsWith("$")) {
            return "a list is started without a shell: write the path in full, or the whole command as one text for sh -c";
        }
        if (program.contains(" ")) {
            return "the first word is the program alone: write [program, argument], or the whole command as one text for sh -c";
        }
        return "write the path in full, make it executable with chmod +x, or set working-dir or PATH";
    }

    private boolean fits(List<String> words) {
        for (String word : words) {
            if (word.indexOf('\0') >= 0) {
                job.error("command", "a word holds a NUL character", "remove it");
                return false;
            }
            if (word.length() >= EnvironmentReader.WORD_LIMIT_BYTES) {
                job.error(
                        "command", "a word is longer than 128 KiB", "the system starts no command with it; use stdin");
                return false;
            }
        }
        return true;
    }

    private void warnOfShellSyntax(List<String> words) {
        String program = words.getFirst();
        String name = program.substring(program.lastIndexOf('/') + 1);
        if (SHELLS.contains(name)) {
            return;
        }
        List<String> suspects = new ArrayList<>();
        for (String word : words) {
            if (SHELL_SYNTAX.matcher(word).matches()) {
                suspects.add(Finding.quote(word));
            }
        }
        if (!suspects.isEmpty()) {
            job.warning(
                    "command",
                    String.join(", ", suspects) + (suspects.size() == 1 ? " looks" : " look") + " like shell syntax",
                    "a list is started without a shell and each word arrives as written; write one text for sh -c if a shell is meant");
        }
    }

    private void warnOfSecrets(List<String> words, Map<String, String> secrets) {
        for (String word : words) {
            for (Map.Entry<String, String> secret : secrets.entrySet()) {
                if (secret.getValue().length() >= JobReader.SHORTEST_MASKED && word.contains(secret.getValue())) {
                    job.warning(
                            "command",
                            "the value of " + secret.getKey() + " from env-file stands in the command",
                            "everyone on the host sees the words of a command; let the program read the variable");
                    return;
                }
            }
            if (SECRET_WORD.matcher(word).matches()) {
                job.warning(
                        "command",
                        Finding.quote(word.substring(0, word.indexOf('='))) + " looks like a secret in the command",
                        "everyone on the host sees the words of a command; use env-file");
            } else if (SECRET_HEADER.matcher(word).matches()) {
                job.warning(
                        "command",
                        "the header " + Finding.quote(word.substring(0, word.indexOf(':')))
                                + " looks like a secret in the command",
                        "everyone on the host sees the words of a command; let the program read a variable or a file");
            }
        }
    }
}
