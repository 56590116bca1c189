package dev.fencepost.edge.cli;

import dev.fencepost.Node;
import dev.fencepost.edge.host.SystemTime;
import dev.fencepost.host.Printable;
import dev.fencepost.lease.StoreException;
import io.quarkus.runtime.annotations.QuarkusMain;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.Console;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Help.Ansi;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.UnmatchedArgumentException;

/** Where the process begins. Everything but {@code serve} runs without Quarkus, so that a command answers at once. */
@QuarkusMain
public class Main {

    static final String VERSION = "fencepost " + Node.VERSION;

    /** In the order of the help. */
    private static final List<String> COMMANDS = List.of(
            "serve",
            "validate",
            "explain",
            "next",
            "run",
            "exec",
            "status",
            "history",
            "logs",
            "events",
            "why",
            "trigger",
            "pause",
            "resume",
            "cancel",
            "reload",
            "health",
            "bench",
            "doctor",
            "completion",
            "man",
            "lease",
            "effects",
            "store",
            "work",
            "demo");

    /** These tell of all the others. */
    private static final Set<String> ABOUT_ALL = Set.of("completion", "man");

    private static final String LOG_MANAGER = "java.util.logging.manager";

    public static void main(String[] arguments) {
        if (System.getProperty(LOG_MANAGER) == null) {
            // The libraries bring a logger that complains of any other one, and is quiet itself until serve sets it up.
            System.setProperty(LOG_MANAGER, "org.jboss.logmanager.LogManager");
        }
        Map<String, String> environment = environment();
        TrustedRoots.apply(environment, Path.of("").toAbsolutePath());
        OutputStream outBytes = new FileOutputStream(FileDescriptor.out);
        OutputStream errBytes = new FileOutputStream(FileDescriptor.err);
        PrintWriter out = writer(outBytes);
        PrintWriter err = writer(errBytes);
        int exitCode = run(
                new Surroundings(
                        out,
                        err,
                        environment,
                        Path.of("").toAbsolutePath(),
                        new SystemTime()::wallClock,
                        isTerminal(System.console(), environment),
                        isTerminal(1),
                        isTerminal(2),
                        isTerminal(0) && isTerminal(2) ? answers() : null,
                        new FileInputStream(FileDescriptor.in),
                        outBytes,
                        errBytes),
                arguments);
        System.exit(exitCode);
    }

    /** Where nobody gave a home directory, as with {@code env -i}, it is the account's, so that the state is in the same place. */
    private static Map<String, String> environment() {
        Map<String, String> environment = new HashMap<>(System.getenv());
        String home = System.getProperty("user.home", "");
        if (home.startsWith("/")) {
            environment.putIfAbsent("HOME", home);
        }
        return Map.copyOf(environment);
    }

    /** Runs one command to its end. */
    static int run(Surroundings surroundings, String... arguments) {
        try {
            return commandLine(surroundings, arguments).execute(arguments);
        } finally {
            surroundings.out().flush();
            surroundings.err().flush();
        }
    }

    static CommandLine commandLine(Surroundings surroundings, String[] arguments) {
        SharedOptions shared = new SharedOptions(surroundings);
        CommandLine line = new CommandLine(new Fencepost(shared));
        Map<String, String> codes = new LinkedHashMap<>();
        for (String[] code : ExitCode.HELP) {
            codes.put(code[0], code[1]);
        }
        line.getCommandSpec().usageMessage().exitCodeList(codes);
        for (String name : needed(arguments)) {
            line.addSubcommand(name, command(name, shared, !isAboutTheProgram(arguments)));
        }
        Ansi ansi = surroundings.terminal() ? Ansi.ON : Ansi.OFF;
        return line.setOut(surroundings.out())
                .setErr(surroundings.err())
                .setColorScheme(CommandLine.Help.defaultColorScheme(ansi))
                .setUsageHelpWidth(100)
                .setExpandAtFiles(false) // @FILE is a value of ours, not a file of arguments
                .setCaseInsensitiveEnumValuesAllowed(true)
                .setParameterExceptionHandler(Main::wrongUsage)
                .setExecutionExceptionHandler((failure, at, result) -> failed(surroundings, failure));
    }

    /** To read the annotations of all commands takes longer than what a command does; so where one is named, it is alone. */
    private static List<String> needed(String[] arguments) {
        boolean named = arguments.length > 0 && COMMANDS.contains(arguments[0]) && !ABOUT_ALL.contains(arguments[0]);
        return named ? List.of(arguments[0]) : COMMANDS;
    }

    /** Whether it asks for the help of the whole, which names no command of a command, or for the version. */
    private static boolean isAboutTheProgram(String[] arguments) {
        return arguments.length == 0
                || (arguments.length == 1 && (arguments[0].equals("--help") || arguments[0].equals("--version")));
    }

    private static Object command(String name, SharedOptions shared, boolean withItsOwn) {
        return switch (name) {
            case "serve" -> new ServeCommand(shared);
            case "validate" -> new ValidateCommand(shared);
            case "explain" -> new ExplainCommand(shared);
            case "next" -> new NextCommand(shared);
            case "run" -> new RunCommand(shared);
            case "exec" -> new ExecCommand(shared);
            case "status" -> new StatusCommand(shared);
            case "history" -> new HistoryCommand(shared);
            case "logs" -> new LogsCommand(shared);
            case "events" -> new EventsCommand(shared);
            case "why" -> new WhyCommand(shared);
            case "trigger" -> new TriggerCommand(shared);
            case "pause" -> new PauseCommand(shared);
            case "resume" -> new ResumeCommand(shared);
            case "cancel" -> new CancelCommand(shared);
            case "reload" -> new ReloadCommand(shared);
            case "health" -> new HealthCommand(shared);
            case "bench" -> new BenchCommand(shared);
            case "doctor" -> new DoctorCommand(shared);
            case "completion" -> new CompletionCommand(shared);
            case "man" -> new ManCommand(shared);
            case "lease" -> withItsOwn ? LeaseCommand.line(shared) : new LeaseCommand(shared);
            case "effects" -> withItsOwn ? EffectsCommand.line(shared) : new EffectsCommand(shared);
            case "store" -> withItsOwn ? StoreCommand.line(shared) : new StoreCommand(shared);
            case "work" -> withItsOwn ? WorkCommand.line(shared) : new WorkCommand(shared);
            case "demo" -> withItsOwn ? DemoCommand.line(shared) : new DemoCommand(shared);
            default -> throw new IllegalArgumentException(name);
        };
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
        if (failure instanceof StoreException store) {
            err.println("fencepost: the store gave no answer: " + Printable.text(String.valueOf(store.getMessage())));
            if (store.kind() == StoreException.Kind.AMBIGUOUS) {
                err.println("    it may have been written all the same; look before you try again");
            }
            return ExitCode.STORE_UNAVAILABLE;
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

    /** Asked of the kernel, since the JVM only tells whether input and output both are terminals. */
    private static boolean isTerminal(int descriptor) {
        try {
            String target = Files.readSymbolicLink(Path.of("/proc/self/fd/" + descriptor))
                    .toString();
            return target.startsWith("/dev/pts/") || target.startsWith("/dev/tty") || target.equals("/dev/console");
        } catch (IOException | UnsupportedOperationException unknown) {
            return false;
        }
    }

    private static BufferedReader answers() {
        return new BufferedReader(
                new InputStreamReader(new FileInputStream(FileDescriptor.in), StandardCharsets.UTF_8));
    }

    private static PrintWriter writer(OutputStream bytes) {
        return new PrintWriter(new BufferedWriter(new OutputStreamWriter(bytes, StandardCharsets.UTF_8), 8192));
    }
}
