package dev.fencepost.edge.web.page;

import io.smallrye.common.annotation.RunOnVirtualThread;
import io.vertx.core.http.HttpServerRequest;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.sse.Sse;
import jakarta.ws.rs.sse.SseEventSink;

/** Server-sent events for the pages that are the same for everybody. */
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
    public void overview(@Context HttpServerRequest request, @Context Sse sse, @Context SseEventSink sink)
            throws InterruptedException {
        Board board = page.visit(request).open().board();
        live.follow(request, sse, sink, board::regions);
    }

    @GET
    @Path("waiting")
    public void waiting(@Context HttpServerRequest request, @Context Sse sse, @Context SseEventSink sink)
            throws InterruptedException {
        Waiting waiting = page.visit(request).open().waiting();
        live.follow(request, sse, sink, () -> waiting.seen().regions());
    }
}
