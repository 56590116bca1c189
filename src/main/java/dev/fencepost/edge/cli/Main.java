package dev.fencepost.edge.cli;

import dev.fencepost.edge.host.SystemTime;
import io.quarkus.runtime.annotations.QuarkusMain;
import java.io.BufferedWriter;
import java.io.Console;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Help.Ansi;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.UnmatchedArgumentException;

/** Where the process begins. Everything but {@code serve} runs without Quarkus, so that a command answers at once. */
@QuarkusMain
public class Main {

    static final String VERSION = "fencepost 0.1.0";

    public static void main(String[] arguments) {
        Map<String, String> environment = System.getenv();
        PrintWriter out = writer(FileDescriptor.out);
        PrintWriter err = writer(FileDescriptor.err);
        int exitCode = run(
                new Surroundings(
                        out,
                        err,
                        environment,
                        Path.of("").toAbsolutePath(),
                        new SystemTime()::wallClock,
                        isTerminal(System.console(), environment)),
                arguments);
        System.exit(exitCode);
    }

    /** Runs one command to its end. */
    static int run(Surroundings surroundings, String... arguments) {
        try {
            return commandLine(surroundings).execute(arguments);
        } finally {
            surroundings.out().flush();
            surroundings.err().flush();
        }
    }

    private static CommandLine commandLine(Surroundings surroundings) {
        SharedOptions shared = new SharedOptions(surroundings);
        CommandLine line = new CommandLine(new Fencepost(shared));
        Map<String, String> codes = new LinkedHashMap<>();
        for (String[] code : ExitCode.HELP) {
            codes.put(code[0], code[1]);
        }
        line.getCommandSpec().usageMessage().exitCodeList(codes);
        line.addSubcommand("serve", new ServeCommand(shared));
        line.addSubcommand("validate", new ValidateCommand(shared));
        line.addSubcommand("explain", new ExplainCommand(shared));
        line.addSubcommand("next", new NextCommand(shared));
        Ansi ansi = surroundings.terminal() ? Ansi.ON : Ansi.OFF;
        return line.setOut(surroundings.out())
                .setErr(surroundings.err())
                .setColorScheme(CommandLine.Help.defaultColorScheme(ansi))
                .setUsageHelpWidth(100)
                .setCaseInsensitiveEnumValuesAllowed(true)
                .setParameterExceptionHandler(Main::wrongUsage)
                .setExecutionExceptionHandler((failure, at, result) -> failed(surroundings, failure));
    }

    private static int wrongUsage(ParameterException e, String[] arguments) {
        CommandLine at = e.getCommandLine();
        PrintWriter err = at.getErr();
        err.println(at.getCommandSpec().qualifiedName() + ": " + e.getMessage());
        UnmatchedArgumentException.printSuggestions(e, err);
        err.println("    see " + at.getCommandSpec().qualifiedName() + " --help");
        return ExitCode.USAGE;
    }

    private static int failed(Surroundings surroundings, Exception failure) {
        surroundings.out().flush();
        PrintWriter err = surroundings.err();
        if (failure instanceof CommandFailure known) {
            err.println(known.getMessage());
            return known.exitCode();
        }
        err.println("fencepost: unexpected error: " + failure);
        if (surroundings.environment().containsKey("FENCEPOST_DEBUG")) {
            failure.printStackTrace(err);
        } else {
            err.println("    this is an error in the program; set FENCEPOST_DEBUG=1 to see where");
        }
        return ExitCode.FAILED;
    }

    private static boolean isTerminal(@Nullable Console console, Map<String, String> environment) {
        return console != null
                && console.isTerminal()
                && environment.getOrDefault("NO_COLOR", "").isEmpty()
                && !environment.getOrDefault("TERM", "dumb").equals("dumb");
    }

    private static PrintWriter writer(FileDescriptor descriptor) {
        return new PrintWriter(new BufferedWriter(
                new OutputStreamWriter(new FileOutputStream(descriptor), StandardCharsets.UTF_8), 8192));
    }
}
