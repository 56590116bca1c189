package dev.fencepost.sim;

import dev.fencepost.effect.Announcement;
import dev.fencepost.effect.Content;
import dev.fencepost.run.Job;
import dev.fencepost.run.Publications;
import dev.fencepost.run.Workspace.RunFiles;
import dev.fencepost.schedule.Slot;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Every success announces the same effects for its slot: one to each sink. */
final class SimPublications implements Publications {

    private final World world;

    SimPublications(World world) {
        this.world = world;
    }

    @Override
    public Place open(Job job, Slot slot, RunFiles files) {
        return Place.NONE;
    }

    @Override
    public Announced collect(
            Job job, Slot slot, int attempt, long fence, RunFiles files, Place place, byte @Nullable [] result) {
        return new Announced(
                world.sinkNames().stream().map(sink -> effect(job, slot, sink)).toList(), false);
    }

    private static Announcement effect(Job job, Slot slot, String sink) {
        String key = Announcement.keyOf(job.id() + "@" + slot.key(), sink);
        Content content = new Content("text/plain", null, key.getBytes(StandardCharsets.UTF_8));
        return new Announcement(sink, key, sink, content, content.digest(sink), Duration.ofDays(1));
    }

    @Override
    public List<String> keys(Job job, Slot slot, RunFiles files) {
        return world.sinkNames().stream()
                .map(sink -> effect(job, slot, sink).key())
                .toList();
    }

    @Override
    public void close(Job job, RunFiles files, Place place, boolean keep) {}
}
