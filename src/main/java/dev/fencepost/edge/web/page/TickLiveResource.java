package dev.fencepost.edge.web.page;

import dev.fencepost.edge.web.Problem;
import dev.fencepost.schedule.Slot;
import io.smallrye.common.annotation.RunOnVirtualThread;
import io.vertx.core.http.HttpServerRequest;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.QueryParam;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.sse.Sse;
import jakarta.ws.rs.sse.SseEventSink;
import org.jspecify.annotations.Nullable;

/** A tick's page while it lives. Whoever comes, or comes again, gets all of it first: what it has seen before does not matter. */
@Path("/live/jobs/{job}/ticks/{slot:.+}")
@Produces(MediaType.SERVER_SENT_EVENTS)
@RunOnVirtualThread
public class TickLiveResource {

    private static final long NOTHING_SEEN = -1;

    private final Page page;
    private final Live live;

    TickLiveResource(Page page, Live live) {
        this.page = page;
        this.live = live;
    }

    @GET
    public void tick(
            @Context HttpServerRequest request,
            @Context Sse sse,
            @Context SseEventSink sink,
            @PathParam("job") String job,
            @PathParam("slot") String slotText,
            @QueryParam("attempt") @Nullable String attempt)
            throws InterruptedException {
        Page.Open open = page.visit(request).open();
        Slot slot = TickFacts.mayBeJob(job) ? TickFacts.slot(slotText) : null;
        if (slot == null) {
            throw Problem.notFound("there is no such tick");
        }
        try (TickView view = new TickView(open, job, slot, TickResource.number(attempt), true)) {
            live.follow(request, sse, sink, view, NOTHING_SEEN);
        }
    }
}
