package dev.fencepost.edge.quarkus;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.fencepost.Store;
import dev.fencepost.effect.Outbox;
import dev.fencepost.lease.Leases;
import dev.fencepost.lease.StoreException;
import dev.fencepost.lease.StoreException.Kind;
import dev.fencepost.run.Ticks;
import dev.fencepost.work.WorkQueue;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.smallrye.faulttolerance.api.Guard;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What is asked of the store for a lease, or under one, is asked once, whatever the store says (semantics 2.14). */
class GuardedStoreTest {

    private static final Set<String> UNDER_A_LEASE = Set.of(
            "claim",
            "renew",
            "release",
            "start",
            "complete",
            "endAsLost",
            "abandon",
            "attempt",
            "adopt",
            "begin",
            "sent",
            "checked",
            "claimItem",
            "claimAny",
            "completeAll",
            "fail",
            "addArtifact");

    private final StoreException away = new StoreException(Kind.UNAVAILABLE, "away", null);
    private final List<String> asked = new ArrayList<>();

    static Stream<Method> calls() {
        return Stream.of(Leases.class, Ticks.class, Outbox.class, WorkQueue.class)
                .flatMap(port -> Stream.of(port.getDeclaredMethods()))
                .filter(method -> UNDER_A_LEASE.contains(method.getName()));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("calls")
    void noBreakerAndNoRetryStandsBeforeACallUnderALease(Method call) {
        Store store = stub(Store.class, method -> {
            asked.add(method.getName());
            throw away;
        });
        Guard guard = stub(Guard.class, method -> {
            throw new AssertionError("the guard was asked");
        });
        GuardedStore guarded = new GuardedStore(store, new SimpleMeterRegistry(), event -> {}, guard);
        InvocationTargetException thrown =
                assertThrows(InvocationTargetException.class, () -> call.invoke(guarded, nothing(call)));
        assertSame(away, assertInstanceOf(StoreException.class, thrown.getCause()));
        assertEquals(List.of(call.getName()), asked);
    }

    private interface Answer {
        Object to(Method method);
    }

    private static <T> T stub(Class<T> face, Answer answer) {
        return face.cast(Proxy.newProxyInstance(
                face.getClassLoader(), new Class<?>[] {face}, (proxy, method, arguments) -> answer.to(method)));
    }

    /** Nobody looks at the arguments. */
    private static @Nullable Object[] nothing(Method call) {
        Class<?>[] types = call.getParameterTypes();
        @Nullable Object[] arguments = new Object[types.length];
        for (int i = 0; i < types.length; i++) {
            arguments[i] = types[i] == boolean.class ? (Object) false : null;
        }
        return arguments;
    }
}
