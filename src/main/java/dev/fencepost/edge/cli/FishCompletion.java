package dev.fencepost.edge.cli;

import java.io.File;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeSet;
import java.util.stream.StreamSupport;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;

/**
 * The completion of fish, made from picocli's model, which has none of its own for it. One function finds out which command stands on the
 * line; each command's options are offered behind it, those that all commands share everywhere.
 */
final class FishCompletion {

    private static final String AT = "__fencepost_at";

    private final CommandSpec root;
    private final StringBuilder script = new StringBuilder();

    FishCompletion(CommandSpec root) {
        this.root = root;
    }

    String script() {
        script.append("# fish completion of ").append(root.name()).append("\n");
        function();
        line("-f", "");
        root.options().forEach(option -> option("", option));
        commands(root, List.of());
        return script.toString();
    }

    /** Succeeds where the words that are neither options nor their values begin with the given commands; all of them with exactly. */
    private void function() {
        TreeSet<String> valued = new TreeSet<>();
        collectValued(root, valued);
        script.append("""
                function %s --argument-names how
                    set -l words (commandline -opc)
                    set -e words[1]
                    set -l found
                    set -l skip 0
                    for word in $words
                        if test $skip = 1
                            set skip 0
                        else if contains -- $word %s
                            set skip 1
                        else if not string match -q -- '-*' $word
                            set -a found $word
                        end
                    end
                    set -l wanted $argv[2..]
                    if test $how = exactly
                        test (count $found) -eq (count $wanted); or return 1
                    end
                    for i in (seq (count $wanted))
                        test "$found[$i]" = "$wanted[$i]"; or return 1
                    end
                end
                """.formatted(AT, String.join(" ", valued)));
    }

    private static void collectValued(CommandSpec command, TreeSet<String> names) {
        command.options().stream()
                .filter(option -> option.arity().max() > 0)
                .forEach(option -> names.addAll(List.of(option.names())));
        command.subcommands().values().forEach(below -> collectValued(below.getCommandSpec(), names));
    }

    private void commands(CommandSpec command, List<String> path) {
        for (Map.Entry<String, CommandLine> below : command.subcommands().entrySet()) {
            CommandSpec spec = below.getValue().getCommandSpec();
            line("-n " + quoted(condition("exactly", path)) + " -a " + quoted(below.getKey()), summary(spec));
            List<String> deeper = new ArrayList<>(path);
            deeper.add(below.getKey());
            String how = spec.subcommands().isEmpty() ? "below" : "exactly";
            String condition = "-n " + quoted(condition(how, deeper)) + " ";
            spec.options().stream().filter(option -> !option.inherited()).forEach(option -> option(condition, option));
            commands(spec, deeper);
        }
    }

    private static String condition(String how, List<String> path) {
        return (AT + " " + how + " " + String.join(" ", path)).strip();
    }

    private void option(String condition, OptionSpec option) {
        StringBuilder words = new StringBuilder(condition);
        for (String name : option.names()) {
            words.append(name.startsWith("--") ? "-l " + name.substring(2) : "-s " + name.substring(1))
                    .append(' ');
        }
        if (option.arity().max() > 0) {
            boolean file = option.type() == Path.class || option.type() == File.class;
            words.append(file ? "-r -F " : "-x ");
            if (option.completionCandidates() != null) {
                words.append("-a ")
                        .append(quoted(String.join(
                                " ",
                                StreamSupport.stream(
                                                option.completionCandidates().spliterator(), false)
                                        .map(candidate -> candidate.toLowerCase(Locale.ROOT))
                                        .toList())))
                        .append(' ');
            }
        }
        line(words.toString().strip(), option.description().length == 0 ? "" : option.description()[0]);
    }

    private static String summary(CommandSpec spec) {
        String[] description = spec.usageMessage().description();
        return description.length == 0 ? "" : description[0];
    }

    private void line(String words, String description) {
        script.append("complete -c ").append(root.name()).append(' ').append(words);
        if (!description.isEmpty()) {
            script.append(" -d ").append(quoted(description.replace("%%", "%")));
        }
        script.append('\n');
    }

    /** In single quotes fish knows two escapes. */
    private static String quoted(String text) {
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'";
    }
}
