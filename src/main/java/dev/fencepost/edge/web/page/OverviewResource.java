package dev.fencepost.edge.web.page;

import io.quarkus.qute.TemplateInstance;
import io.smallrye.common.annotation.RunOnVirtualThread;
import io.vertx.core.http.HttpServerRequest;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.QueryParam;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.Response;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** All jobs at a glance. */
@Path("/")
@RunOnVirtualThread
public class OverviewResource {

    private final Page page;

    OverviewResource(Page page) {
        this.page = page;
    }

    /**
     * @param q what is searched for, as it was given
     * @param shown how many rows are not hidden
     */
    record Overview(
            Frame frame,
            Region state,
            Region counts,
            Region store,
            Region nodes,
            List<Listed> jobs,
            String q,
            List<Filter.Choice> states,
            long shown)
            implements TemplateInstance {}

    /** @param hidden whether the filter leaves it out: it is there all the same, since the filter may be changed without another visit */
    public record Listed(Region region, boolean hidden) {}

    /**
     * @param q a part of ids or schedules
     * @param state one of those of {@link Filter}
     */
    @GET
    public Response overview(
            @Context HttpServerRequest request,
            @QueryParam("q") @Nullable String q,
            @QueryParam("state") @Nullable String state) {
        Visit visit = page.visit(request);
        Filter filter = Filter.of(q, state);
        Board.Look look = visit.open().board().look();
        Regions regions = look.regions();
        List<Listed> jobs = look.jobs().stream()
                .map(job -> new Listed(job.region(), !filter.shows(job.line())))
                .toList();
        return Html.page(new Overview(
                Frame.of(visit, "Jobs", "jobs", "/live", regions.version()),
                regions.get(Board.STATE),
                regions.get(Board.COUNTS),
                regions.get(Board.STORE),
                regions.get(Board.NODES),
                jobs,
                filter.text(),
                filter.choices(),
                jobs.stream().filter(job -> !job.hidden()).count()));
    }
}
