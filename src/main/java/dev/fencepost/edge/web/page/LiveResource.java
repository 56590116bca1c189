package dev.fencepost.edge.web.page;

import io.smallrye.common.annotation.RunOnVirtualThread;
import io.vertx.core.http.HttpServerRequest;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.HeaderParam;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.QueryParam;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.sse.Sse;
import jakarta.ws.rs.sse.SseEventSink;
import org.jspecify.annotations.Nullable;

/** Server-sent events for the pages that live. {@code seen} is the version that the page was made of; a reconnect says what it has got. */
@Path(LiveResource.ADDRESS)
@Produces(MediaType.SERVER_SENT_EVENTS)
@RunOnVirtualThread
public class LiveResource {

    static final String ADDRESS = "/live";

    private final Page page;
    private final Live live;

    LiveResource(Page page, Live live) {
        this.page = page;
        this.live = live;
    }

    @GET
    public void overview(
            @Context HttpServerRequest request,
            @Context Sse sse,
            @Context SseEventSink sink,
            @QueryParam("seen") @Nullable String seen,
            @HeaderParam("Last-Event-ID") @Nullable String last)
            throws InterruptedException {
        Board board = page.visit(request).open().board();
        live.follow(request, sse, sink, board::regions, version(last == null ? seen : last));
    }

    static long version(@Nullable String text) {
        return text != null && text.matches("\\d{1,18}") ? Long.parseLong(text) : -1;
    }
}
