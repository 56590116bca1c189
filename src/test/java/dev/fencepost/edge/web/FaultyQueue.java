package dev.fencepost.edge.web;

import dev.fencepost.lease.StoreException;
import dev.fencepost.lease.StoreException.Kind;
import dev.fencepost.work.MemoryWorkQueue;
import dev.fencepost.work.WorkQueue;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A queue in memory whose calls fail when the test says so. */
final class FaultyQueue {

    private static final Set<String> READS = Set.of("item", "items", "check", "artifacts", "queues", "prunedTokens");

    private final WorkQueue real;
    private final WorkQueue face;
    private @Nullable Kind failure;
    private boolean writesBeforeFailure;
    private boolean away;
    private final Map<String, Runnable> before = new HashMap<>();
    private final Map<String, Runnable> after = new HashMap<>();

    FaultyQueue(InstantSource clock) {
        real = new MemoryWorkQueue(clock);
        face = (WorkQueue) Proxy.newProxyInstance(
                WorkQueue.class.getClassLoader(),
                new Class<?>[] {WorkQueue.class},
                (proxy, method, arguments) -> call(method, arguments));
    }

    /** What the code under test is given. */
    WorkQueue face() {
        return face;
    }

    /** The next write fails so. @param writes whether it happens nevertheless */
    synchronized void failNext(Kind kind, boolean writes) {
        failure = kind;
        writesBeforeFailure = writes;
    }

    /** Whether reads of artifacts and of pruned tokens fail. */
    synchronized void setAway(boolean isAway) {
        away = isAway;
    }

    /** Something that happens just before the next call of this name, such as {@code addArtifact}. */
    synchronized void beforeNext(String name, Runnable happens) {
        before.put(name, happens);
    }

    /** Something that happens when the next call of this name has its answer, and nobody has seen it yet. */
    synchronized void afterNext(String name, Runnable happens) {
        after.put(name, happens);
    }

    private synchronized @Nullable Object call(Method method, @Nullable Object @Nullable [] arguments)
            throws Throwable {
        String name = method.getName();
        Runnable first = before.remove(name);
        Runnable last = after.remove(name);
        if (first != null) {
            first.run();
        }
        if (away && (name.equals("artifacts") || name.equals("prunedTokens"))) {
            throw new StoreException(Kind.UNAVAILABLE, "away", null);
        }
        Kind kind = READS.contains(name) ? null : failure;
        if (kind != null) {
            failure = null;
        }
        Object answer = kind == null || writesBeforeFailure ? invoke(method, arguments) : null;
        if (kind != null) {
            throw new StoreException(kind, "secret text of the driver, class org.example.Driver", null);
        }
        if (last != null) {
            last.run();
        }
        return answer;
    }

    private @Nullable Object invoke(Method method, @Nullable Object @Nullable [] arguments) throws Throwable {
        try {
            return method.invoke(real, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }
}
