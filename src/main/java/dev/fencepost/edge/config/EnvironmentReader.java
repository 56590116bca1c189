package dev.fencepost.edge.config;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.nodes.MappingNode;
import org.snakeyaml.engine.v2.nodes.Node;
import org.snakeyaml.engine.v2.nodes.ScalarNode;

/** Reads {@code env} and {@code env-file}. Values arrive as written: nothing is expanded, {@code $$} is two dollars. */
final class EnvironmentReader {

    /** Linux takes no single word, and no {@code NAME=VALUE}, of this size or more. */
    static final int WORD_LIMIT_BYTES = 128 * 1024;

    private static final Pattern NAME = Pattern.compile("[A-Za-z_][A-Za-z0-9_]*");
    private static final Pattern SECRET_NAME =
            Pattern.compile("(?i)(^|.*_)(password|passwd|secret|token|api_?key|credentials?)(_.*|$)");
    private static final String RESERVED = "FENCEPOST_";

    private final Section section;

    EnvironmentReader(Section section) {
        this.section = section;
    }

    static boolean looksSecret(String name) {
        return SECRET_NAME.matcher(name).matches();
    }

    /** The variables written under {@code env}, in the order of the file. */
    Map<String, Given<String>> variables() {
        Node value = section.value("env");
        if (value == null) {
            return Map.of();
        }
        if (!(value instanceof MappingNode mapping)) {
            section.error(
                    "env", "this must be a mapping, not a " + Section.shape(value), "write env: { NAME: \"value\" }");
            return Map.of();
        }
        Section env = Section.open(
                mapping,
                section.keyAt("env"),
                section.pathOf("env"),
                section.findings(),
                section.origin("env").kind());
        Map<String, Given<String>> variables = new LinkedHashMap<>();
        for (String name : env.keys()) {
            Given<String> variable = variable(env, name);
            if (variable != null) {
                variables.put(name, variable);
            }
        }
        return variables;
    }

    private static @Nullable Given<String> variable(Section env, String name) {
        if (!checkName(env, name)) {
            return null;
        }
        Node value = env.value(name);
        if (value == null) {
            env.error(name, "the value is empty, which YAML reads as null", "write \"\" for an empty value");
            return null;
        }
        if (!(value instanceof ScalarNode scalar)) {
            env.error(name, "the value must be a single value, not a " + Section.shape(value), "put it in quotes");
            return null;
        }
        String text = scalar.getValue();
        if (text.indexOf('\0') >= 0) {
            env.error(name, "the value holds a NUL character", "remove it");
        } else if (text.length() + name.length() + 2 > WORD_LIMIT_BYTES) {
            env.error(name, "the value is longer than 128 KiB", "the system starts no command with it; use a file");
        } else if (looksSecret(name) && !text.isEmpty()) {
            env.warning(
                    name,
                    "this looks like a secret in the jobs file",
                    "put it into a file named by env-file: its values are masked");
        }
        return new Given<>(text, env.origin(name));
    }

    private static boolean checkName(Section env, String name) {
        if (!NAME.matcher(name).matches()) {
            env.findings()
                    .error(
                            env.keyAt(name),
                            env.path(),
                            Finding.quote(name) + " is no name of a variable",
                            "a name is letters, digits and _, and does not begin with a digit");
            return false;
        }
        if (name.startsWith(RESERVED)) {
            env.findings()
                    .error(
                            env.keyAt(name),
                            env.pathOf(name),
                            "names that begin with FENCEPOST_ are set for each run",
                            "choose another name");
            return false;
        }
        return true;
    }

    /** The variables of {@code env-file}: all of them are secrets. */
    Map<String, Given<String>> secrets(FileNames names) {
        Given<Path> file = section.read("env-file", names::resolve);
        if (file == null) {
            return Map.of();
        }
        Map<String, Given<String>> secrets = new LinkedHashMap<>();
        new EnvFile(file.value(), section.pathOf("env-file"), section.findings())
                .read((message, hint) -> section.error("env-file", message, hint))
                .forEach((name, value) -> {
                    if (name.startsWith(RESERVED)) {
                        section.error(
                                "env-file",
                                name + " is set for each run",
                                "names that begin with FENCEPOST_ are taken");
                    } else {
                        secrets.put(name, new Given<>(value, section.origin("env-file")));
                    }
                });
        return secrets;
    }
}
