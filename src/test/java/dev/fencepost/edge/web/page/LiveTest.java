package dev.fencepost.edge.web.page;

import static org.junit.jupiter.api.Assertions.assertThrows;

import jakarta.ws.rs.sse.OutboundSseEvent;
import jakarta.ws.rs.sse.SseEventSink;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;

/** A viewer may leave at any moment, and that is no error. */
class LiveTest {

    private static final OutboundSseEvent EVENT = (OutboundSseEvent) Proxy.newProxyInstance(
            LiveTest.class.getClassLoader(), new Class<?>[] {OutboundSseEvent.class}, (proxy, method, arguments) -> {
                throw new AssertionError("nobody looks into it");
            });

    private record Sink(boolean isClosed, RuntimeException atOnce) implements SseEventSink {
        @Override
        public CompletionStage<?> send(OutboundSseEvent event) {
            throw atOnce;
        }

        @Override
        public void close() {}
    }

    @Test
    void whoLeftBetweenTheLookAndTheSendingIsGone() {
        Sink closed = new Sink(true, new IllegalStateException("Already closed"));
        assertThrows(Live.Gone.class, () -> Live.send(closed, EVENT));
    }

    @Test
    void whoLeavesMeanwhileIsGone() {
        SseEventSink broken = new SseEventSink() {
            @Override
            public boolean isClosed() {
                return false;
            }

            @Override
            public CompletionStage<?> send(OutboundSseEvent event) {
                return CompletableFuture.failedFuture(new IOException("reset by peer"));
            }

            @Override
            public void close() {}
        };
        assertThrows(Live.Gone.class, () -> Live.send(broken, EVENT));
    }

    @Test
    void anErrorOfOursStaysOne() {
        Sink open = new Sink(false, new IllegalStateException("ours"));
        assertThrows(IllegalStateException.class, () -> Live.send(open, EVENT));
    }
}
