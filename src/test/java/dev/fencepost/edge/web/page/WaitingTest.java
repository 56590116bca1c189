package dev.fencepost.edge.web.page;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.Store;
import dev.fencepost.edge.host.SystemEntropy;
import dev.fencepost.host.Event;
import dev.fencepost.lease.StoreException;
import dev.fencepost.lease.StoreException.Kind;
import dev.fencepost.run.Pause;
import dev.fencepost.run.Rig;
import io.quarkus.test.junit.QuarkusTest;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What all visitors see of what waits, while the store answers late or not at all. */
@QuarkusTest
class WaitingTest {

    /** Longer than a look is fresh. */
    private static final Duration PATIENCE = Duration.ofSeconds(5);

    @TempDir
    Path folder;

    private Rig rig;
    private @Nullable Kind fails;
    private int asked;

    @BeforeEach
    void open() {
        rig = new Rig(folder);
    }

    @AfterEach
    void close() {
        rig.close();
    }

    /** A store whose refusals take their time. */
    private Store slow() {
        return (Store) Proxy.newProxyInstance(
                Store.class.getClassLoader(), new Class<?>[] {Store.class}, (proxy, method, arguments) -> {
                    if (fails != null) {
                        asked++;
                        rig.time.pass(PATIENCE);
                        throw new StoreException(fails, "planted", null);
                    }
                    try {
                        return method.invoke(rig.real, arguments);
                    } catch (InvocationTargetException e) {
                        throw Objects.requireNonNull(e.getCause());
                    }
                });
    }

    private Page.Parts parts() {
        return new Page.Parts(
                slow(),
                List::of,
                () -> true,
                null,
                List.of(),
                attempt -> null,
                "node",
                rig.time,
                new SystemEntropy(),
                rig.events::add,
                new RecentRenewals(rig.events::add, rig.time));
    }

    private static String state(Waiting waiting) {
        return waiting.seen().region(Waiting.STATE).html();
    }

    private long told() {
        return rig.events.stream().filter(Event.Problem.class::isInstance).count();
    }

    @Test
    void whoComesBehindALongLookInVainDoesNotLookInVainToo() {
        Waiting waiting = new Waiting(parts());
        waiting.seen();
        rig.time.pass(PATIENCE);
        fails = Kind.UNAVAILABLE;
        assertTrue(state(waiting).contains("has not answered since"), state(waiting));
        assertEquals(1, asked);
        assertEquals(0, told(), "that the store is away is told by who counts it");
        rig.time.pass(PATIENCE);
        fails = null;
        assertFalse(state(waiting).contains("has not answered"), state(waiting));
    }

    @Test
    void anErrorOfOursIsToldOnceThoughThePageGoesOn() {
        Waiting waiting = new Waiting(parts());
        fails = Kind.BROKEN;
        for (int i = 0; i < 3; i++) {
            assertTrue(state(waiting).contains("has not answered since"), state(waiting));
            rig.time.pass(PATIENCE);
        }
        assertEquals(3, asked);
        assertEquals(1, told());
    }

    @Test
    void whatAVisitorHasOfAnEarlierStartIsOlder() {
        long before = new Waiting(parts()).seen().regions().version();
        rig.time.pass(PATIENCE);
        assertTrue(new Waiting(parts()).seen().regions().version() > before);
        assertTrue(before > 1_000_000, "a count that begins anew would say nothing: " + before);
    }

    @Test
    void whatAPersonDecidesByHidesNothing() {
        rig.real.register(List.of(Rig.job("a")));
        rig.real.pause("a", null, Pause.Cause.PERSON, "for\u202e \u200bever", "anna");
        Waiting.Seen seen = new Waiting(parts()).seen();
        String paused = seen.region(Waiting.id(seen.paused().getFirst())).html();
        assertTrue(paused.contains("for\\u202e \\u200bever"), paused);
    }
}
