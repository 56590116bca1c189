package dev.fencepost.edge.web.page;

import dev.fencepost.edge.web.Problem;
import dev.fencepost.run.Job;
import io.smallrye.common.annotation.RunOnVirtualThread;
import io.vertx.core.http.HttpServerRequest;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.sse.Sse;
import jakarta.ws.rs.sse.SseEventSink;

/** What keeps the page of a job live. */
@Path("/live/jobs/{job}")
@Produces(MediaType.SERVER_SENT_EVENTS)
@RunOnVirtualThread
public class JobLiveResource {

    private final Page page;
    private final Live live;
    private final JobBoards boards;

    JobLiveResource(Page page, Live live, JobBoards boards) {
        this.page = page;
        this.live = live;
        this.boards = boards;
    }

    @GET
    public void follow(
            @Context HttpServerRequest request,
            @Context Sse sse,
            @Context SseEventSink sink,
            @PathParam("job") String id)
            throws InterruptedException {
        Visit visit = page.visit(request);
        if (!Job.ID.matcher(id).matches()) {
            throw Problem.notFound("there is no such job");
        }
        JobBoard board = boards.board(visit.open(), id);
        board.look(); // a store that is away is told before the stream begins
        JobBoard.Viewer viewer = new JobBoard.Viewer(visit, board);
        live.follow(request, sse, sink, () -> viewer.regions(board.look()));
    }
}
