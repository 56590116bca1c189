package dev.fencepost.run;

import dev.fencepost.lease.RunId;
import dev.fencepost.schedule.Slot;
import java.io.IOException;
import java.nio.file.Path;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The files of a run on this host: a port. They stay when a completion is refused; a refusal loses no work. */
public interface Workspace {

    /** Makes a fresh folder for an attempt. */
    RunFiles prepare(String job, Slot slot, int attempt, RunId runId) throws IOException;

    /**
     * Where an attempt reads and writes.
     *
     * @param log captured output
     * @param result what the command wants stored as its result
     * @param effects announcements of effects, one JSON object a line
     * @param output folder for files of the command
     */
    record RunFiles(Path log, Path result, Path effects, Path output) {}

    /**
     * What the command wrote to its result file, or null if it wrote none.
     *
     * @throws IOException if it is larger than {@link Completion#MAX_RESULT_BYTES}, or cannot be read; the message is for a person
     */
    byte @Nullable [] result(RunFiles files) throws IOException;

    /**
     * Gives what is kept of the output, line by line from the beginning: what the command wrote to stdout and stderr, without time stamps
     * and without remarks of ours. A very long line is given in pieces. Of a run that has ended; gives nothing where there is no log.
     *
     * @throws IOException if it cannot be read; the message is for a person
     */
    void output(RunFiles files, Consumer<String> line) throws IOException;
}
