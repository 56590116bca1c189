package dev.fencepost.edge.web.page;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.fencepost.host.Time;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;
import jakarta.inject.Singleton;
import jakarta.ws.rs.sse.OutboundSseEvent;
import jakarta.ws.rs.sse.Sse;
import jakarta.ws.rs.sse.SseEventSink;
import java.time.Duration;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Keeps pages live by server-sent events: once a second the regions that changed since what the viewer has. Each event has the version as
 * its id, so a browser that reconnects goes on where it was. A viewer whose session is over, or who is one too many, is told to fall back
 * to loading the page again every now and then.
 */
@Singleton
class Live {

    /** Beyond them pages are refreshed by the browser. */
    static final int MOST_VIEWERS = 100;

    private static final Duration STEP = Duration.ofSeconds(1);

    /** So often something is sent, so that a proxy does not think that the line is dead. */
    private static final int STEPS_OF_SILENCE = 15;

    private static final ObjectMapper JSON = new ObjectMapper();

    private final Page page;
    private final AtomicInteger viewers = new AtomicInteger();

    Live(Page page) {
        this.page = page;
    }

    /** What a viewer follows. For one thread. */
    interface View {

        /** As they are now. */
        Regions regions();

        /** What else there is to send: text to be added to the element with this id; empty if nothing. */
        default Addition addition() {
            return Addition.NONE;
        }

        /** Whether nothing will change any more. */
        default boolean isOver() {
            return false;
        }
    }

    /** @param html to be put behind what is inside of the element */
    record Addition(String id, String html) {
        static final Addition NONE = new Addition("", "");
    }

    /**
     * The same for a viewer that says what it has: {@code seen} is the version that its page was made of, and a browser that reconnects
     * names the last event that it got.
     */
    void follow(HttpServerRequest request, Sse sse, SseEventSink sink, View view) throws InterruptedException {
        String last = request.getHeader("Last-Event-ID");
        follow(request, sse, sink, view, version(last == null ? request.getParam("seen") : last));
    }

    private static long version(@Nullable String text) {
        return text != null && text.matches("\\d{1,18}") ? Long.parseLong(text) : -1;
    }

    /**
     * Sends until the viewer goes, or nothing will change any more. On the caller's thread.
     *
     * @param seen version of the regions that the viewer has, or -1 for none
     */
    void follow(HttpServerRequest request, Sse sse, SseEventSink sink, View view, long seen)
            throws InterruptedException {
        if (request.method().equals(HttpMethod.HEAD)) {
            sink.close(); // there is nothing to wait for
            return;
        }
        try (sink) {
            if (viewers.incrementAndGet() > MOST_VIEWERS) {
                send(sink, event(sse, "fallback", "{}", seen));
                return;
            }
            Regions known = view.regions();
            long sent = seen > known.version() ? -1 : seen;
            Time time = page.opened().parts().time();
            int silent = 0;
            while (!sink.isClosed() && !page.isStopping()) {
                page.visit(request); // the session may have ended since
                boolean over = view.isOver();
                Regions now = view.regions();
                if (!now.hasSameElementsAs(known) || (sent > 0 && now.shapedIn() > sent)) {
                    send(sink, event(sse, "reload", "{}", now.version()));
                    return;
                }
                known = now;
                boolean quiet = true;
                for (Region region : now.changedSince(sent)) {
                    send(sink, event(sse, "region", json(region.id(), region.html()), now.version()));
                    quiet = false;
                }
                sent = now.version();
                for (Addition more = view.addition(); !more.html().isEmpty(); more = view.addition()) {
                    send(sink, event(sse, "more", json(more.id(), more.html()), sent));
                    quiet = false;
                }
                if (over) {
                    send(sink, event(sse, "over", "{}", sent));
                    return;
                }
                silent = quiet ? silent + 1 : 0;
                if (silent >= STEPS_OF_SILENCE) {
                    silent = 0;
                    send(sink, event(sse, "now", now(), sent));
                }
                time.sleep(STEP);
            }
        } catch (LoginNeeded | Gone gone) {
            // The browser comes again by itself, and is then asked who it is.
        } finally {
            viewers.decrementAndGet();
        }
    }

    static void send(SseEventSink sink, OutboundSseEvent event) {
        try {
            sink.send(event).toCompletableFuture().join();
        } catch (CompletionException e) {
            throw new Gone();
        } catch (IllegalStateException e) {
            if (sink.isClosed()) {
                throw new Gone(); // between the look whether it is there and this
            }
            throw e;
        }
    }

    /** The viewer has left. */
    static final class Gone extends RuntimeException {
        private static final long serialVersionUID = 1L;

        Gone() {
            super("the viewer has left", null, false, false);
        }
    }

    private static OutboundSseEvent event(Sse sse, String name, String data, long version) {
        return sse.newEventBuilder()
                .name(name)
                .id(String.valueOf(version))
                .data(data)
                .build();
    }

    private long nowMillis() {
        return page.opened().board().now().toEpochMilli();
    }

    /** What time it is: the script's countdowns go by the store's clock, and a browser's own stands still while its machine sleeps. */
    private String now() {
        return "{\"now\":" + nowMillis() + "}";
    }

    private String json(String id, String html) {
        ObjectNode object =
                JSON.createObjectNode().put("id", id).put("html", html).put("now", nowMillis());
        try {
            return JSON.writeValueAsString(object);
        } catch (JsonProcessingException impossible) {
            throw new IllegalStateException("two texts have a form in JSON", impossible);
        }
    }
}
