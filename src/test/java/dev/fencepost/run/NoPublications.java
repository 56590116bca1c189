package dev.fencepost.run;

import dev.fencepost.run.Workspace.RunFiles;
import dev.fencepost.schedule.Slot;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Of jobs that publish nothing, unless the test says what. */
public final class NoPublications implements Publications {

    public Announced announced = new Announced(List.of(), false);
    public List<String> keys = List.of();
    public @Nullable Unpublishable unpublishable;
    public final List<Boolean> kept = new ArrayList<>();

    @Override
    public Place open(Job job, Slot slot, RunFiles files) {
        return Place.NONE;
    }

    @Override
    public Announced collect(
            Job job, Slot slot, int attempt, long fence, RunFiles files, Place place, byte @Nullable [] result)
            throws Unpublishable {
        if (unpublishable != null) {
            throw unpublishable;
        }
        return announced;
    }

    @Override
    public List<String> keys(Job job, Slot slot, RunFiles files) {
        return keys;
    }

    @Override
    public void close(Job job, RunFiles files, Place place, boolean keep) {
        kept.add(keep);
    }
}
