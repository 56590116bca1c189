package dev.fencepost.edge.cli;

import dev.fencepost.edge.config.DurationText;
import dev.fencepost.host.Spawner;
import dev.fencepost.lease.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;

/**
 * Carries out checks one after the other. Each has a time limit, and none can stop the others: one that fails, or hangs, is a finding of
 * its own. A check that hangs keeps its thread, which ends with the process.
 */
final class Checkup {

    private final Spawner spawner;
    private final Consumer<Verdict> listener;
    private final List<Verdict> verdicts = new ArrayList<>();

    /** @param listener is told of each finding at once */
    Checkup(Spawner spawner, Consumer<Verdict> listener) {
        this.spawner = spawner;
        this.listener = listener;
    }

    List<Verdict> verdicts() {
        return List.copyOf(verdicts);
    }

    /** On a platform thread, since a call into the system or into SQLite would hold a carrier. */
    void check(String name, Duration limit, Callable<List<Verdict>> check) {
        FutureTask<List<Verdict>> task = new FutureTask<>(check);
        spawner.platformThread("check of " + name, task);
        List<Verdict> found;
        try {
            found = task.get(limit.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            found = List.of(Verdict.warning(
                    name,
                    "no answer within " + DurationText.format(limit),
                    "the machine is overloaded, or what was asked hangs; try again"));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            found = List.of(Verdict.warning(name, "interrupted", ""));
        } catch (ExecutionException e) {
            found = List.of(failed(name, e.getCause() == null ? e : e.getCause()));
        }
        verdicts.addAll(found);
        found.forEach(listener);
    }

    private static Verdict failed(String name, Throwable cause) {
        if (cause instanceof CommandFailure known) {
            String[] parts = String.valueOf(known.getMessage()).split("\n", 2);
            return Verdict.bad(name, parts[0], parts.length < 2 ? "" : parts[1].strip());
        }
        if (cause instanceof StoreException store) {
            return store.kind() == StoreException.Kind.BROKEN
                    ? Verdict.bad(name, String.valueOf(store.getMessage()), "see \"ready is DOWN\" in operations.md")
                    : Verdict.bad(
                            name,
                            "the store gave no answer: " + store.getMessage(),
                            "start the database, or name the right store with --store; see \"ready is DOWN\" in"
                                    + " operations.md");
        }
        return Verdict.warning(name, "could not be checked: " + cause, "");
    }
}
