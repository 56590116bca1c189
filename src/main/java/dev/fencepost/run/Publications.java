package dev.fencepost.run;

import dev.fencepost.effect.Announcement;
import dev.fencepost.run.Workspace.RunFiles;
import dev.fencepost.schedule.Slot;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What runs give out: makes the place that a run works in, and announcements of what it left there. A port. Safe for use by many threads.
 */
public interface Publications {

    /** Of runs that give nothing out: they have no file to announce effects in. */
    Publications NONE = new Publications() {
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
        public void close(Job job, RunFiles files, Place place, boolean keep) {
            // nothing was opened
        }
    };

    /**
     * Before the child is started.
     *
     * @throws IOException if it cannot be made; the message is for a person, and the attempt fails as one that could not be started
     */
    Place open(Job job, Slot slot, RunFiles files) throws IOException, InterruptedException;

    /**
     * Where a run works.
     *
     * @param environment variables of its command, {@code FENCEPOST_EFFECTS} among them
     * @param worktree a fresh checkout of its own, or null where nothing is published to git
     * @param workingDir instead of the command's own, or null to keep that
     * @param base what the worktree was made from, opaque to the runner
     */
    record Place(
            @Nullable Path worktree,
            @Nullable Path workingDir,
            Map<String, String> environment,
            @Nullable String base) {
        public static final Place NONE = new Place(null, null, Map.of(), null);
    }

    /**
     * Of a run whose command ended well. Makes the commit, reads {@code $FENCEPOST_EFFECTS}, masks secrets. Nothing is sent.
     *
     * @param attempt its number, and {@code fence} its token, for the texts that want them
     * @param result as stored, or null for none
     * @throws Unpublishable if a line does not parse, names an unknown sink, or something is too big; then nothing is announced and the run
     *     has failed
     */
    Announced collect(
            Job job, Slot slot, int attempt, long fence, RunFiles files, Place place, byte @Nullable [] result)
            throws Unpublishable, InterruptedException;

    /** @param nothingToPublish whether git found no change in what may be published */
    record Announced(List<Announcement> effects, boolean nothingToPublish) {}

    /** Keys of what the run would have announced, as far as one can tell; of a run that lost its lease, for the record. */
    List<String> keys(Job job, Slot slot, RunFiles files);

    /**
     * After the end of the attempt, whatever it was: gives back what {@link #open} and {@link #collect} hold. Contents are in memory from
     * the one to the other, so of the runs that announce something one at a time is between collect and close.
     *
     * @param keep whether the work was not stored and may still be wanted
     */
    void close(Job job, RunFiles files, Place place, boolean keep);

    /** What a run left cannot be announced. The message is for a person and for the attempt's reason. */
    final class Unpublishable extends Exception {
        public Unpublishable(String message, @Nullable Throwable cause) {
            super(message, cause);
        }
    }
}
