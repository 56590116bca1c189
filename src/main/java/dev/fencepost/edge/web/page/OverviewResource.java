package dev.fencepost.edge.web.page;

import io.quarkus.qute.TemplateInstance;
import io.smallrye.common.annotation.RunOnVirtualThread;
import io.vertx.core.http.HttpServerRequest;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.Response;
import java.util.List;

/** All jobs at a glance. */
@Path("/")
@RunOnVirtualThread
public class OverviewResource {

    private final Page page;

    OverviewResource(Page page) {
        this.page = page;
    }

    record Overview(Frame frame, Region state, List<Region> jobs) implements TemplateInstance {}

    @GET
    public Response overview(@Context HttpServerRequest request) {
        Visit visit = page.visit(request);
        Regions regions = visit.open().board().regions();
        List<Region> all = regions.all();
        Frame frame = Frame.of(visit, "Jobs", "jobs", "/live", regions.version());
        return Html.page(new Overview(frame, all.getFirst(), all.subList(1, all.size())));
    }
}
