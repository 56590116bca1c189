package dev.fencepost.edge.sink;

import dev.fencepost.host.Programs;
import dev.fencepost.run.Job;
import dev.fencepost.run.Publications;
import dev.fencepost.run.Workspace.RunFiles;
import dev.fencepost.schedule.Slot;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

public final class Publisher implements Publications {

    public Publisher(
            Path stateDir, java.util.Collection<dev.fencepost.effect.SinkDefinition> sinks, Programs programs) {}

    @Override
    public Place open(Job job, Slot slot, RunFiles files) {
        return Place.NONE;
    }

    @Override
    public Announced collect(
            Job job, Slot slot, int attempt, long fence, RunFiles files, Place place, byte @Nullable [] result) {
        return new Announced(List.of(), false);
    }

    @Override
    public List<String> keys(Job job, Slot slot, RunFiles files) {
        return List.of();
    }

    @Override
    public void close(Job job, Place place, boolean keep) {}
}
