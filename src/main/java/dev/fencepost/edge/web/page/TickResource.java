package dev.fencepost.edge.web.page;

import dev.fencepost.schedule.Slot;
import io.smallrye.common.annotation.RunOnVirtualThread;
import io.vertx.core.http.HttpServerRequest;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import jakarta.ws.rs.QueryParam;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.Response;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** One tick: what came of it, when, under which tokens, what it said and what it left. */
@Path("/jobs/{job}/ticks/{slot:.+}")
@RunOnVirtualThread
public class TickResource {

    private final Page page;

    TickResource(Page page) {
        this.page = page;
    }

    @GET
    public Response tick(
            @Context HttpServerRequest request,
            @PathParam("job") String job,
            @PathParam("slot") String slotText,
            @QueryParam("attempt") @Nullable String attempt) {
        Visit visit = page.visit(request);
        Slot slot = TickFacts.mayBeJob(job) ? TickFacts.slot(slotText) : null;
        Integer chosen = number(attempt);
        if (slot == null || (attempt != null && chosen == null)) {
            return missing(visit, job, slot, chosen);
        }
        try (TickView view = new TickView(visit.open(), job, slot, chosen, false)) {
            Regions regions = view.regions();
            TickFacts facts = view.facts();
            if (facts == null || chosen != null && facts.attempt(chosen) == null) {
                return missing(visit, job, slot, chosen);
            }
            return Html.page(whole(visit, facts, regions, chosen));
        }
    }

    private static TickPage.Whole whole(Visit visit, TickFacts facts, Regions regions, @Nullable Integer chosen) {
        String key = facts.slot().key();
        String name = TickPage.name(facts);
        String live = facts.isOpen()
                ? "/live" + Links.tick(facts.job(), key) + (chosen == null ? "" : "?attempt=" + chosen)
                : "";
        List<Region> all = regions.all();
        return new TickPage.Whole(
                Frame.of(visit, facts.job() + ", " + name, "jobs", live, 0),
                facts.job(),
                Links.job(facts.job()),
                name,
                facts.slot().at().toString(),
                Times.name(facts.zone()),
                TickPage.previous(visit.open(), facts),
                TickPage.next(visit.open(), facts),
                TickPage.ordered(facts),
                all.get(0),
                all.get(1),
                all.get(2),
                all.get(3),
                all.get(4),
                all.get(5),
                all.get(6),
                all.get(7));
    }

    static Response missing(Visit visit, String job, @Nullable Slot slot, @Nullable Integer attempt) {
        String why = TickFacts.mayBeJob(job) ? TickFacts.whyNone(visit.open(), job, slot) : null;
        String sentence = why == null
                ? "No job of this name is known here. The overview has all jobs; fencepost status lists them too."
                : slot != null && attempt != null
                        ? "There is no attempt " + attempt + " of this tick. Leave ?attempt= out for the newest one."
                        : slot == null
                                ? why + " A tick is named by its slot, such as 2026-03-29T01:00:00Z, or by the name of"
                                        + " an order, as the history of the job has it."
                                : why;
        return Html.page(
                404,
                new TickPage.Missing(
                        Frame.of(visit, "No such tick", "jobs", "", 0),
                        ShownText.of(sentence),
                        why == null ? "" : job,
                        why == null ? "" : Links.job(job)));
    }

    static @Nullable Integer number(@Nullable String text) {
        return text != null && text.matches("[1-9]\\d{0,8}") ? Integer.valueOf(text) : null;
    }
}
