package dev.fencepost.edge.cli;

import dev.fencepost.Node;
import dev.fencepost.host.Spawner;
import dev.fencepost.host.Time;
import dev.fencepost.lease.Owner;
import dev.fencepost.run.OrderWatch;
import dev.fencepost.run.Orders;
import dev.fencepost.run.StopRequest;
import java.time.Duration;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** What is ordered through the store holds for a run by hand too, as for those of the service: it may be told to stop. */
final class OrdersForRun implements Runnable, OrderWatch.Listener {

    private final OrderWatch watch;
    private final Time time;
    private final StopRequest stop;
    private final Duration grace;

    private OrdersForRun(OpenedStore opened, Owner owner, StopRequest stop, Duration grace) {
        this.time = opened.assembly().time();
        this.watch = new OrderWatch(opened.store(), owner, time, this);
        this.stop = stop;
        this.grace = grace;
    }

    /** @return to be interrupted once the run has ended */
    static Spawner.Task obey(OpenedStore opened, Owner owner, StopRequest stop, Duration grace) {
        return opened.assembly().spawner().virtualThread("orders", new OrdersForRun(opened, owner, stop, grace));
    }

    @Override
    public void run() {
        try {
            while (true) {
                watch.look();
                time.sleep(Node.LOOK_AHEAD);
            }
        } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void stop(Orders.Stop order) {
        stop.request(order.why(), order.words(), grace);
    }

    @Override
    public void ordered(@Nullable Set<String> jobs) {}

    @Override
    public void reload() {}
}
