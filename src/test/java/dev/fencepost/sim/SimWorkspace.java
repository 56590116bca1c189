package dev.fencepost.sim;

import dev.fencepost.lease.RunId;
import dev.fencepost.run.Workspace;
import dev.fencepost.schedule.Slot;
import java.nio.file.Path;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** No disk: runs of the simulation leave nothing there. */
final class SimWorkspace implements Workspace {

    @Override
    public RunFiles prepare(String job, Slot slot, int attempt, RunId runId) {
        return new RunFiles(Path.of("log"), Path.of("result"), Path.of("effects"), Path.of("out"));
    }

    @Override
    public byte @Nullable [] result(RunFiles files) {
        return null;
    }

    @Override
    public void output(RunFiles files, Consumer<String> line) {}
}
