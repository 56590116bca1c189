package dev.fencepost.edge.cli;

import dev.fencepost.host.Printable;
import dev.fencepost.lease.FencingToken;
import dev.fencepost.lease.Leases;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.Refusal;
import dev.fencepost.lease.RunId;
import dev.fencepost.lease.StoreException;
import dev.fencepost.work.Body;
import dev.fencepost.work.Grant;
import dev.fencepost.work.WorkAnswer;
import dev.fencepost.work.WorkItem;
import dev.fencepost.work.WorkQueue;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** A command that asks a queue one thing: its arguments are looked at first, then the store or the server is opened. */
abstract class WorkCall implements Callable<Integer> {

    static final Duration SHORTEST_TTL = Duration.ofMillis(1);

    @Mixin
    final WorkTarget target = new WorkTarget();

    @Spec
    @SuppressWarnings("NullAway.Init")
    CommandSpec spec;

    final SharedOptions shared;

    WorkCall(SharedOptions shared) {
        this.shared = shared;
    }

    /** What is asked, with all arguments read and found good. Nothing is open yet. */
    abstract Question question() throws IOException;

    /** Asks, prints the answer, and says how the command ends. */
    @FunctionalInterface
    interface Question {
        int ask(WorkTarget.Opened opened) throws IOException, InterruptedException;
    }

    /** Whether a store that is not there yet is made. */
    boolean makesTheStore() {
        return false;
    }

    @Override
    public final Integer call() throws IOException, InterruptedException {
        Question question;
        try {
            question = question();
        } catch (IllegalArgumentException e) {
            throw wrong(String.valueOf(e.getMessage()));
        }
        try (WorkTarget.Opened opened = target.open(shared, spec, makesTheStore())) {
            return question.ask(opened);
        } catch (IllegalArgumentException e) {
            throw wrong(String.valueOf(e.getMessage()));
        } catch (StoreException e) {
            throw target.isServer() ? noAnswer(e) : e;
        }
    }

    static CommandFailure noAnswer(StoreException e) {
        return new CommandFailure(
                ExitCode.STORE_UNAVAILABLE,
                "fencepost: " + Printable.text(String.valueOf(e.getMessage()))
                        + (e.kind() == StoreException.Kind.AMBIGUOUS
                                ? "\n    it may have been done all the same; look before you try again"
                                : ""));
    }

    final ParameterException wrong(String message) {
        return new ParameterException(spec.commandLine(), Printable.text(message));
    }

    final PrintWriter out() {
        return shared.surroundings().out();
    }

    final Duration ttl(String written) {
        return Bounds.duration("--ttl", written, SHORTEST_TTL, Leases.MAX_TTL);
    }

    final Owner owner(String option, String text) {
        return argument(option, () -> new Owner(text));
    }

    final <T> T argument(String option, Supplier<T> value) {
        try {
            return value.get();
        } catch (IllegalArgumentException e) {
            throw wrong(option + ": " + e.getMessage());
        }
    }

    /** What an option gives: the text itself, {@code @FILE}, or {@code -} for what is piped to the command. */
    final @Nullable Body body(String option, @Nullable String written, @Nullable String type) throws IOException {
        if (written == null) {
            return null;
        }
        byte[] bytes;
        if (written.equals("-")) {
            bytes = bounded(shared.surroundings().in());
        } else if (written.startsWith("@")) {
            try (InputStream in =
                    Files.newInputStream(shared.surroundings().workingDir().resolve(written.substring(1)))) {
                bytes = bounded(in);
            } catch (IOException e) {
                throw wrong(option + ": " + written.substring(1) + " cannot be read: "
                        + e.getClass().getSimpleName().replace("Exception", ""));
            }
        } else {
            bytes = written.getBytes(StandardCharsets.UTF_8);
        }
        return argument(option, () -> new Body(bytes, type));
    }

    private static byte[] bounded(InputStream in) throws IOException {
        return in.readNBytes(Body.MAX_BYTES + 1);
    }

    /** Prints the answer about one item: {@code {"ok","reason","item"}}, or what it means for a person. */
    final int tell(WorkTarget.Opened opened, String id, WorkAnswer answer, Function<WorkItem, String> words) {
        return switch (answer) {
            case WorkAnswer.Done done -> {
                if (shared.json()) {
                    Json.print(out(), WorkForms.answer(null, done.item()));
                } else {
                    out().println(Printable.text(id + ": " + words.apply(done.item())));
                }
                yield ExitCode.FINE;
            }
            case WorkAnswer.Refused refused ->
                refused(
                        id,
                        refused.reason(),
                        opened.server() != null && shared.json() && refused.reason() != Refusal.UNKNOWN
                                ? whole(opened.queue(), id, refused.item())
                                : refused.item());
        };
    }

    /** The item of a server's refusal has no result; a script gets the same object from a store and from a server. */
    private static @Nullable WorkItem whole(WorkQueue queue, String id, @Nullable WorkItem brief) {
        try {
            return queue.item(id);
        } catch (StoreException noAnswer) {
            return brief; // the refusal is known all the same
        }
    }

    /** A normal "no": its reason as JSON on stdout, or as a line on stderr. */
    final int refused(String id, Refusal reason, @Nullable WorkItem item) {
        if (shared.json()) {
            Json.print(out(), WorkForms.answer(reason, item));
        } else {
            shared.surroundings()
                    .err()
                    .println(Printable.text(id + ": refused, " + reason + ": " + WorkForms.words(reason, item)));
        }
        return ExitCode.REFUSED;
    }

    /** Who changes an item that is claimed. */
    static final class Holder {

        @Parameters(paramLabel = "ID", description = "The id of the item.")
        @SuppressWarnings("NullAway.Init")
        String id;

        @Option(
                names = "--owner",
                paramLabel = "O",
                required = true,
                description = "Who claimed it, 1 to 200 characters.")
        @SuppressWarnings("NullAway.Init")
        private String owner;

        @Option(names = "--fence", paramLabel = "F", required = true, description = "The token that the claim gave.")
        private long fence;

        @Option(
                names = "--run-id",
                paramLabel = "R",
                description = "The run id that the claim gave. Without it owner and token have to do.")
        private @Nullable String runId;

        Grant grant(WorkCall call) {
            String written = runId;
            return new Grant(
                    id,
                    call.owner("--owner", owner),
                    call.argument("--fence", () -> new FencingToken(fence)),
                    written == null ? null : call.argument("--run-id", () -> RunId.parse(written)));
        }
    }
}
