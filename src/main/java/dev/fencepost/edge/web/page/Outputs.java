package dev.fencepost.edge.web.page;

import dev.fencepost.run.Attempt;
import java.io.IOException;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/** What runs of this node write, from their logs on its disk: a port. */
public interface Outputs {

    /** The log of an attempt from its beginning; null where this node has none. */
    @Nullable
    Output open(Attempt attempt) throws IOException;

    /** A log that may still be written to. For one thread. */
    interface Output extends AutoCloseable {

        /** The next piece, or null when no more is there by now; a later call may find more. */
        @Nullable
        Piece next() throws IOException;

        @Override
        void close();
    }

    /**
     * @param text without newline and NUL, but perhaps with other control characters
     * @param endsLine whether a newline follows
     */
    record Piece(Instant at, Source source, String text, boolean endsLine) {}

    /** Who said it. */
    enum Source {
        STDOUT,
        STDERR,
        /** Fencepost itself. */
        REMARK
    }
}
