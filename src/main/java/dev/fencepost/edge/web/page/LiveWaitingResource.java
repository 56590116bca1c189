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

/** Server-sent events for what waits for a person. */
@Path("/live/waiting")
@Produces(MediaType.SERVER_SENT_EVENTS)
@RunOnVirtualThread
public class LiveWaitingResource {

    private final Page page;
    private final Live live;

    LiveWaitingResource(Page page, Live live) {
        this.page = page;
        this.live = live;
    }

    @GET
    public void waiting(
            @Context HttpServerRequest request,
            @Context Sse sse,
            @Context SseEventSink sink,
            @QueryParam("seen") @Nullable String seen,
            @HeaderParam("Last-Event-ID") @Nullable String last)
            throws InterruptedException {
        Waiting waiting = page.visit(request).open().waiting();
        live.follow(
                request, sse, sink, () -> waiting.seen().regions(), LiveResource.version(last == null ? seen : last));
    }
}
