package dev.fencepost.sim;

import dev.fencepost.Store;
import dev.fencepost.lease.StoreException;
import dev.fencepost.lease.StoreException.Kind;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** What lies between a node and the store: calls are late, are lost before they arrive, or lose their answer. */
final class Wire {

    private static final long TIMEOUT_MILLIS = 3_000;

    /** Longer than any ttl of the simulation. */
    private static final int LATEST_MILLIS = 45_000;

    private final World world;
    private final Store store;

    Wire(World world, Store store) {
        this.world = world;
        this.store = store;
    }

    /** The store as one node sees it. */
    Store of(Supplier<Host> caller) {
        return (Store) Proxy.newProxyInstance(
                Store.class.getClassLoader(), new Class<?>[] {Store.class}, (proxy, method, arguments) -> {
                    if (method.getDeclaringClass().equals(Object.class)) {
                        return method.invoke(this, arguments);
                    }
                    return call(caller.get(), method, arguments == null ? new Object[0] : arguments);
                });
    }

    private @Nullable Object call(Host host, Method method, Object[] arguments) throws Throwable {
        World.Mixed mixed = world.mixed();
        world.pass(latency(mixed));
        if (host.isCutOff() || world.chance(mixed.lostBefore())) {
            world.happened("a call does not arrive");
            world.pass(world.random().nextInt((int) TIMEOUT_MILLIS));
            throw new StoreException(Kind.UNAVAILABLE, method.getName() + ": not reached, says the seed", null);
        }
        if (world.chance(mixed.late())) {
            world.happened("a call arrives late");
            arriveLate(host, method, arguments);
            world.pass(TIMEOUT_MILLIS);
            throw new StoreException(Kind.AMBIGUOUS, method.getName() + ": no answer in time, says the seed", null);
        }
        Object answer = real(host, method, arguments);
        boolean lost = world.chance(mixed.lostAfter());
        world.pass(latency(mixed));
        if (lost || host.isCutOff()) {
            world.happened("an answer is lost");
            world.pass(world.random().nextInt((int) TIMEOUT_MILLIS));
            throw new StoreException(Kind.AMBIGUOUS, method.getName() + ": no answer, says the seed", null);
        }
        return answer;
    }

    /** Nobody waits for it any more, whoever sent it may be dead, and the store carries it out all the same. */
    private void arriveLate(Host host, Method method, Object[] arguments) {
        world.scheduler().after(TIMEOUT_MILLIS + world.random().nextInt(LATEST_MILLIS), () -> {
            try {
                real(host, method, arguments);
            } catch (StoreException refused) {
                // Nobody hears it.
            } catch (Throwable broken) {
                throw new AssertionError(method.getName() + " broke the store", broken);
            }
        });
    }

    private long latency(World.Mixed mixed) {
        if (world.chance(mixed.slow())) {
            world.happened("a call is slow");
            return world.random().nextInt(4_000);
        }
        return world.random().nextInt(20);
    }

    /** An interrupt would make the store's own waiting depend on real time. */
    private @Nullable Object real(Host host, Method method, Object[] arguments) throws Throwable {
        boolean interrupted = Thread.interrupted();
        try {
            Object answer = method.invoke(store, arguments);
            world.witness().saw(host, method.getName(), arguments, answer);
            return answer;
        } catch (InvocationTargetException e) {
            throw e.getCause();
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
