package dev.fencepost.edge.cli;

import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.Map;

/**
 * What a command sees of its process. A test gives its own.
 *
 * @param out for results; not flushed line by line
 * @param err for messages to people
 * @param environment of the process
 * @param workingDir of the process, absolute
 * @param wallClock of the host
 * @param terminal whether a person looks at the output, so that colours make sense
 */
public record Surroundings(
        PrintWriter out,
        PrintWriter err,
        Map<String, String> environment,
        Path workingDir,
        InstantSource wallClock,
        boolean terminal) {}
