package dev.fencepost.edge.web.page;

import dev.fencepost.edge.web.Problem;
import dev.fencepost.host.Nearest;
import dev.fencepost.host.Printable;
import dev.fencepost.run.Attempt;
import dev.fencepost.run.History.JobSummary;
import dev.fencepost.run.History.Place;
import dev.fencepost.run.Job;
import dev.fencepost.run.Outcome;
import dev.fencepost.run.TtlAdvice;
import io.quarkus.qute.TemplateInstance;
import io.smallrye.common.annotation.RunOnVirtualThread;
import io.vertx.core.http.HttpServerRequest;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.HeaderParam;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.QueryParam;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import jakarta.ws.rs.sse.Sse;
import jakarta.ws.rs.sse.SseEventSink;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** One job: how it stands, what is in force for it, how it did, and what became of each slot. */
@Path("/")
@RunOnVirtualThread
public class JobResource {

    private static final int ATTEMPTS = 200;

    private final Page page;
    private final Live live;
    private final JobBoards boards;

    JobResource(Page page, Live live, JobBoards boards) {
        this.page = page;
        this.live = live;
        this.boards = boards;
    }

    /**
     * @param place file and line of the job; empty where the file has none
     * @param advice on the ttl; empty where there is none
     */
    record Whole(
            Frame frame,
            String id,
            Region away,
            Region head,
            Region orders,
            String place,
            List<Configured.Value> values,
            String advice,
            boolean isShort,
            JobCalendar calendar,
            DurationPlot plot,
            List<JobHistory.Choice> choices,
            Region history)
            implements TemplateInstance {

        /** Of the history that begins there. */
        public String before(String key) {
            return Links.job(id) + "?before=" + Links.encoded(key) + "#history";
        }
    }

    /** @param told what part of the history this is */
    record Part(
            Frame frame,
            String id,
            String address,
            String told,
            List<JobHistory.Choice> choices,
            String before,
            Region history)
            implements TemplateInstance {}

    /** @param near the job that was meant, maybe; empty */
    record Unknown(Frame frame, String id, String near, String nearAddress) implements TemplateInstance {}

    @GET
    @Path("jobs/{job}")
    public Response job(
            @Context HttpServerRequest request,
            @PathParam("job") String id,
            @QueryParam("before") @Nullable String before,
            @QueryParam("outcome") @Nullable List<String> outcomes) {
        Visit visit = page.visit(request);
        Place place = Before.parse(before);
        Set<Outcome> wanted = JobHistory.outcomes(outcomes);
        if (!Job.ID.matcher(id).matches()) {
            return unknown(visit, id);
        }
        JobBoard board = boards.board(visit.open(), id);
        JobBoard.Look look = board.look();
        if (!look.reading().isKnown()) {
            return unknown(visit, id);
        }
        return Html.page(
                place == null && wanted.isEmpty()
                        ? whole(visit, id, board, look)
                        : part(visit, id, look, place, wanted));
    }

    private static Whole whole(Visit visit, String id, JobBoard board, JobBoard.Look look) {
        JobBoard.Reading reading = look.reading();
        Regions regions = JobBoard.forVisitor(visit, id, look);
        Frame frame = Frame.of(visit, id, "jobs", "/live" + Links.job(id), regions.version());
        Configured configured = reading.configured();
        Job job = reading.job();
        JobBoard.Lasting lasting = board.lasting(JobCalendar.from(reading.now(), reading.zone()));
        List<Attempt> attempts = visit.open().store().attempts(id, ATTEMPTS);
        TtlAdvice advice = job == null || lasting.longest() == null ? null : TtlAdvice.of(lasting.longest(), job.ttl());
        return new Whole(
                frame,
                id,
                region(regions, JobBoard.AWAY),
                region(regions, JobBoard.HEAD),
                region(regions, JobBoard.ORDERS),
                configured == null ? "" : Printable.text(configured.place()),
                configured == null
                        ? List.of()
                        : configured.values().stream()
                                .map(value -> new Configured.Value(
                                        value.key(), Printable.text(value.text()), Printable.text(value.origin())))
                                .toList(),
                advice == null ? "" : advice.text(),
                advice != null && advice.isShort(),
                JobCalendar.of(lasting.quarters(), reading.now(), reading.zone()),
                DurationPlot.of(
                        attempts,
                        job == null ? null : job.ttl(),
                        job == null ? null : job.timeout(),
                        reading.now(),
                        reading.zone()),
                JobHistory.choices(Set.of()),
                region(regions, JobBoard.HISTORY));
    }

    private static Region region(Regions regions, String id) {
        Regions.Entry entry = regions.entries().get(id);
        if (entry == null) {
            throw new IllegalStateException("a board of a job that is known has the region " + id);
        }
        return entry.region();
    }

    private static Part part(
            Visit visit, String id, JobBoard.Look look, @Nullable Place before, Set<Outcome> outcomes) {
        JobHistory.Rows rows = JobHistory.of(
                id,
                visit.open().store().page(id, before, outcomes, JobHistory.TICKS),
                before,
                outcomes,
                look.reading().zone());
        return new Part(
                Frame.of(visit, "History of " + id, "jobs", "", 0),
                id,
                Links.job(id),
                before == null
                        ? ""
                        : "Before "
                                + Times.local(before.slotAt(), look.reading().zone()),
                JobHistory.choices(outcomes),
                before == null ? "" : Before.text(before),
                new Region(JobBoard.HISTORY, rows.render()));
    }

    private static Response unknown(Visit visit, String id) {
        Set<String> known = new TreeSet<>();
        visit.open().parts().jobs().get().forEach(each -> known.add(each.job().id()));
        visit.open().store().jobs().stream().map(JobSummary::id).forEach(known::add);
        String near = Nearest.to(id, known).orElse("");
        String shown = Printable.text(id.length() <= 80 ? id : id.substring(0, 79) + "\u2026");
        return Html.page(
                404,
                new Unknown(
                        Frame.of(visit, "No such job", "jobs", "", 0),
                        shown,
                        near,
                        near.isEmpty() ? "" : Links.job(near)));
    }

    @GET
    @Path("live/jobs/{job}")
    @Produces(MediaType.SERVER_SENT_EVENTS)
    public void follow(
            @Context HttpServerRequest request,
            @Context Sse sse,
            @Context SseEventSink sink,
            @PathParam("job") String id,
            @QueryParam("seen") @Nullable String seen,
            @HeaderParam("Last-Event-ID") @Nullable String last)
            throws InterruptedException {
        Visit visit = page.visit(request);
        if (!Job.ID.matcher(id).matches()) {
            throw Problem.notFound("there is no such job");
        }
        JobBoard board = boards.board(visit.open(), id);
        live.follow(
                request,
                sse,
                sink,
                () -> JobBoard.forVisitor(visit, id, board.look()),
                LiveResource.version(last == null ? seen : last));
    }
}
