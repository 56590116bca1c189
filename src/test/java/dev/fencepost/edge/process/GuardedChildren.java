package dev.fencepost.edge.process;

import dev.fencepost.host.Journal;
import dev.fencepost.host.Spawner;
import dev.fencepost.host.Time;
import dev.fencepost.lease.Incarnation;
import java.util.HashMap;
import java.util.Map;

/** Children under a chosen guard, for other packages. */
public final class GuardedChildren {

    private GuardedChildren() {}

    /**
     * @param guard namespace, parent-death or none
     * @param runnerEnvironment what else the runner finds in its environment
     */
    public static OsChildren under(
            String guard,
            Map<String, String> runnerEnvironment,
            Incarnation self,
            Time time,
            Spawner spawner,
            Journal journal) {
        Map<String, String> environment = new HashMap<>(runnerEnvironment);
        environment.put(Guard.VARIABLE, guard);
        return new OsChildren(self, time, spawner, journal, environment);
    }
}
