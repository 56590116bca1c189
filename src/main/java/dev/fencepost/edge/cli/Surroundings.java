package dev.fencepost.edge.cli;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a command sees of its process. A test gives its own.
 *
 * @param out for results; not flushed line by line
 * @param err for messages to people
 * @param environment of the process
 * @param workingDir of the process, absolute
 * @param wallClock of the host
 * @param terminal whether a person looks at the output, so that colours make sense
 * @param outIsScreen whether {@code out} is a terminal, with colours or without: what others wrote then goes there without its
 *     control characters
 * @param errIsScreen the same of {@code err}
 * @param answers where a person can be asked, or null when nobody sits there
 * @param in what is piped to the command, for an option that says {@code -}
 * @param outBytes what {@code out} writes to, for bytes that are no text of ours; {@code out} is flushed before
 * @param errBytes the same of {@code err}
 */
public record Surroundings(
        PrintWriter out,
        PrintWriter err,
        Map<String, String> environment,
        Path workingDir,
        InstantSource wallClock,
        boolean terminal,
        boolean outIsScreen,
        boolean errIsScreen,
        @Nullable BufferedReader answers,
        InputStream in,
        OutputStream outBytes,
        OutputStream errBytes) {

    /** Where bytes for {@code out} and {@code err} go by their writers, as text. */
    public Surroundings(
            PrintWriter out,
            PrintWriter err,
            Map<String, String> environment,
            Path workingDir,
            InstantSource wallClock,
            boolean terminal,
            boolean outIsScreen,
            boolean errIsScreen,
            @Nullable BufferedReader answers,
            InputStream in) {
        this(
                out,
                err,
                environment,
                workingDir,
                wallClock,
                terminal,
                outIsScreen,
                errIsScreen,
                answers,
                in,
                new TextStream(out, text -> text),
                new TextStream(err, text -> text));
    }

    /** With nothing piped to the command. */
    public Surroundings(
            PrintWriter out,
            PrintWriter err,
            Map<String, String> environment,
            Path workingDir,
            InstantSource wallClock,
            boolean terminal,
            boolean outIsScreen,
            boolean errIsScreen,
            @Nullable BufferedReader answers) {
        this(
                out,
                err,
                environment,
                workingDir,
                wallClock,
                terminal,
                outIsScreen,
                errIsScreen,
                answers,
                InputStream.nullInputStream());
    }

    /** Without anybody to ask. */
    public Surroundings(
            PrintWriter out,
            PrintWriter err,
            Map<String, String> environment,
            Path workingDir,
            InstantSource wallClock,
            boolean terminal) {
        this(out, err, environment, workingDir, wallClock, terminal, terminal, terminal, null);
    }

    /** Asks a person; nothing but y and yes agrees. */
    boolean agrees(BufferedReader person, String question) throws IOException {
        err.print(question + " [y/N] ");
        err.flush();
        String answer = person.readLine();
        return answer != null && List.of("y", "yes").contains(answer.strip().toLowerCase(Locale.ROOT));
    }
}
