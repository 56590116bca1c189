package dev.fencepost.edge.jdbc;

import dev.fencepost.lease.StoreException;

/** The store has a schema that this program must not work on: a newer one has made it so. Nothing was changed. */
public final class SchemaTooNewException extends StoreException {

    /**
     * @param leastKnown the script that a program has to know for this store
     * @param known the newest one that this program knows
     */
    SchemaTooNewException(int leastKnown, int known) {
        super(
                Kind.BROKEN,
                "the schema of the store is too new for this program: it wants one that knows version %03d, this one knows %03d. Install the newer program, or restore the backup from before the upgrade"
                        .formatted(leastKnown, known),
                null);
    }
}
