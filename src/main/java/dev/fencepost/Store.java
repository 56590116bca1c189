package dev.fencepost;

import dev.fencepost.effect.Outbox;
import dev.fencepost.lease.Leases;
import dev.fencepost.run.History;
import dev.fencepost.run.Nodes;
import dev.fencepost.run.Orders;
import dev.fencepost.run.Retention;
import dev.fencepost.run.Ticks;
import dev.fencepost.run.Told;
import dev.fencepost.work.WorkQueue;

/** The store's whole face. The package documentation is its protocol on one page. */
public interface Store
        extends Leases, Ticks, Outbox, WorkQueue, Orders, Nodes, Retention, History, Told, AutoCloseable {

    /** Brings the schema up to date; must have succeeded once before anything else is called. May be repeated. */
    void prepare();

    /** Answers iff the store can be written to right now; throws {@link dev.fencepost.lease.StoreException} if not. */
    void check();

    /** Kind and place of the store, without a password. */
    String describe();

    @Override
    void close();
}
