package dev.fencepost.edge.cli;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import picocli.CommandLine;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;

/** The manual page in the macros of man(7), made from picocli's model. (picocli's own generator needs another program to become one.) */
final class ManPage {

    private final CommandSpec root;
    private final StringBuilder page = new StringBuilder();

    ManPage(CommandSpec root) {
        this.root = root;
    }

    String text() {
        String[] about = root.usageMessage().description();
        macro(".TH " + root.name().toUpperCase(Locale.ROOT) + " 1 \"\" \"" + escaped(Main.VERSION)
                + "\" \"User Commands\"");
        macro(".SH NAME");
        line(root.name() + " \\- " + escaped(plain(about[0])).replaceFirst("\\.$", ""));
        macro(".SH SYNOPSIS");
        line(bold(root.name()) + " [" + italic("OPTIONS") + "] " + italic("COMMAND") + " [" + italic("ARGUMENTS")
                + "]");
        macro(".SH DESCRIPTION");
        paragraphs(about);
        macro(".SH OPTIONS");
        line("These stand before or after the command.");
        root.options().forEach(this::argument);
        macro(".SH COMMANDS");
        commands(root, root.name());
        macro(".SH EXIT STATUS");
        for (Map.Entry<String, String> code : root.usageMessage().exitCodeList().entrySet()) {
            macro(".TP");
            line(bold(escaped(code.getKey())));
            line(escaped(plain(code.getValue())));
        }
        return page.toString();
    }

    private void commands(CommandSpec command, String path) {
        for (Map.Entry<String, CommandLine> below : command.subcommands().entrySet()) {
            CommandSpec spec = below.getValue().getCommandSpec();
            String name = path + " " + below.getKey();
            if (spec.subcommands().isEmpty()) {
                command(spec, name);
            } else {
                commands(spec, name);
            }
        }
    }

    private void command(CommandSpec spec, String name) {
        StringBuilder usage = new StringBuilder(escaped(name));
        List<OptionSpec> own =
                spec.options().stream().filter(option -> !option.inherited()).toList();
        if (!own.isEmpty()) {
            usage.append(" [OPTIONS]");
        }
        for (PositionalParamSpec positional : spec.positionalParameters()) {
            String label = escaped(positional.paramLabel());
            usage.append(positional.arity().min() == 0 ? " [" + label + "]" : " " + label);
        }
        macro(".SS " + usage);
        paragraphs(spec.usageMessage().description());
        spec.positionalParameters().forEach(this::argument);
        own.forEach(this::argument);
    }

    private void argument(ArgSpec argument) {
        macro(".TP");
        if (argument instanceof OptionSpec option) {
            String names = String.join(
                    ", ",
                    List.of(option.names()).stream().map(n -> bold(escaped(n))).toList());
            line(option.arity().max() == 0 ? names : names + "=" + italic(escaped(option.paramLabel())));
        } else {
            line(italic(escaped(argument.paramLabel())));
        }
        String[] description = argument.description();
        line(description.length == 0 ? "\\&" : escaped(plain(String.join(" ", description))));
    }

    private void paragraphs(String[] texts) {
        for (String text : texts) {
            if (!plain(text).isBlank()) {
                macro(".PP");
                line(escaped(plain(text)));
            }
        }
    }

    private void macro(String text) {
        page.append(text).append('\n');
    }

    /** A line of text; one that begins as a macro does not become one. */
    private void line(String text) {
        page.append(text.startsWith(".") || text.startsWith("'") ? "\\&" : "")
                .append(text)
                .append('\n');
    }

    private static String bold(String escaped) {
        return "\\fB" + escaped + "\\fR";
    }

    private static String italic(String escaped) {
        return "\\fI" + escaped + "\\fR";
    }

    /** picocli's texts are formats of {@code printf}. */
    private static String plain(String text) {
        return text.replace("%n", " ").replace("%%", "%");
    }

    private static String escaped(String text) {
        StringBuilder escaped = new StringBuilder(text.length() + 16);
        text.codePoints().forEach(c -> {
            switch (c) {
                case '\\' -> escaped.append("\\e");
                case '-' -> escaped.append("\\-");
                case '"' -> escaped.append("\\(dq");
                case '~' -> escaped.append("\\(ti");
                case '^' -> escaped.append("\\(ha");
                case '`' -> escaped.append("\\(ga");
                case '\n' -> escaped.append(' ');
                case '…' -> escaped.append("..."); // a terminal of ASCII has none
                default -> {
                    if (c < 0x80) {
                        escaped.appendCodePoint(c);
                    } else {
                        escaped.append(String.format("\\[u%04X]", c));
                    }
                }
            }
        });
        return escaped.toString();
    }
}
