package dev.fencepost.faults;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Consumer;

/** The same check on several things at once, where each of them mostly waits. */
final class Concurrently {

    private Concurrently() {}

    /**
     * All are carried out to their ends; then the first failure is thrown, with the others added to it. On platform threads: the first
     * of them may start the database in a class initializer, for which virtual ones would wait with the carriers that its I/O needs.
     */
    @SafeVarargs
    static <T> void check(Consumer<T> check, T... things) {
        AssertionError failure = null;
        try (ExecutorService threads = Executors.newCachedThreadPool()) {
            List<Future<?>> running = new ArrayList<>();
            for (T thing : things) {
                running.add(threads.submit(() -> check.accept(thing)));
            }
            for (int i = 0; i < things.length; i++) {
                try {
                    running.get(i).get();
                } catch (ExecutionException e) {
                    AssertionError failed = new AssertionError(things[i] + ": " + e.getCause(), e.getCause());
                    if (failure == null) {
                        failure = failed;
                    } else {
                        failure.addSuppressed(failed);
                    }
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                    throw new AssertionError("interrupted", e);
                }
            }
        }
        if (failure != null) {
            throw failure;
        }
    }
}
