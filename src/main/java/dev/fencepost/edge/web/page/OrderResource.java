package dev.fencepost.edge.web.page;

import dev.fencepost.edge.web.Problem;
import dev.fencepost.lease.StoreException;
import dev.fencepost.run.History.JobSummary;
import dev.fencepost.run.Orders;
import dev.fencepost.run.Orders.Answer;
import dev.fencepost.run.Pause;
import dev.fencepost.schedule.Slot;
import io.smallrye.common.annotation.RunOnVirtualThread;
import io.vertx.core.http.HttpServerRequest;
import jakarta.ws.rs.Consumes;
import jakarta.ws.rs.FormParam;
import jakarta.ws.rs.POST;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The orders of a person for a job, as {@code fencepost trigger}, {@code pause}, {@code resume} and {@code cancel} give them. */
@Path("/jobs/{job}")
@Consumes(MediaType.APPLICATION_FORM_URLENCODED)
@RunOnVirtualThread
public class OrderResource {

    private static final int SUFFIX = 8;

    private final Page page;
    private final JobBoards boards;

    OrderResource(Page page, JobBoards boards) {
        this.page = page;
        this.boards = boards;
    }

    @POST
    @Path("trigger")
    public Response trigger(
            @Context HttpServerRequest request,
            @PathParam("job") String job,
            @FormParam("form") @Nullable String form,
            @FormParam("reason") @Nullable String reason,
            @FormParam("effects") @Nullable String effects) {
        Visit visit = admitted(request, job, "trigger", form);
        String why = reason(reason);
        String suffix = visit.open().parts().entropy().uuid().toString().substring(0, SUFFIX);
        Said said = ordered(visit, job, Said.TRIGGERED, Said.NOT_TRIGGERED, () -> {
            Slot slot = Slot.manual(visit.open().store().now(), suffix);
            List<Answer> answers =
                    visit.open().store().trigger(job, List.of(slot), "none".equals(effects), why, visit.by());
            return answers.isEmpty() ? Answer.UNKNOWN : answers.getFirst();
        });
        return back(job, null, said);
    }

    @POST
    @Path("pause")
    public Response pause(
            @Context HttpServerRequest request,
            @PathParam("job") String job,
            @FormParam("form") @Nullable String form,
            @FormParam("reason") @Nullable String reason,
            @FormParam("for") @Nullable String length) {
        Visit visit = admitted(request, job, "pause", form);
        String why = reason(reason);
        Buttons.Length chosen = Buttons.Length.of(length);
        if (chosen == null) {
            throw Problem.badRequest("for how long the job is paused has to be one of the list");
        }
        Said said = ordered(visit, job, Said.PAUSED, Said.PAUSED_ALREADY, () -> {
            // A whole second: never less than was asked for.
            Instant until = chosen.duration() == null
                    ? null
                    : visit.open()
                            .store()
                            .now()
                            .plus(chosen.duration())
                            .plusMillis(999)
                            .truncatedTo(ChronoUnit.SECONDS);
            return visit.open().store().pause(job, until, Pause.Cause.PERSON, why, visit.by());
        });
        return back(job, null, said);
    }

    @POST
    @Path("resume")
    public Response resume(
            @Context HttpServerRequest request,
            @PathParam("job") String job,
            @FormParam("form") @Nullable String form,
            @FormParam("reason") @Nullable String reason,
            @FormParam("from") @Nullable String from) {
        Visit visit = admitted(request, job, "resume", form);
        String why = reason(reason);
        Said said = ordered(
                visit,
                job,
                Said.RESUMED,
                Said.NOT_PAUSED,
                () -> visit.open().store().resume(job, why, visit.by()));
        return back(job, from, said);
    }

    @POST
    @Path("cancel")
    public Response cancel(
            @Context HttpServerRequest request,
            @PathParam("job") String job,
            @FormParam("form") @Nullable String form,
            @FormParam("reason") @Nullable String reason) {
        Visit visit = admitted(request, job, "cancel", form);
        String why = reason(reason);
        Said said = ordered(
                visit,
                job,
                Said.CANCELLED,
                Said.NOTHING_TO_CANCEL,
                () -> visit.open().store().cancel(job, why, visit.by()));
        return back(job, null, said);
    }

    private Visit admitted(HttpServerRequest request, String job, String order, @Nullable String form) {
        Visit visit = page.order(request);
        visit.checkOrder(Links.job(job) + "/" + order, form);
        return visit;
    }

    /** An empty field is a reason that was left out. */
    private static @Nullable String reason(@Nullable String written) {
        String reason = written == null || written.isBlank() ? null : written.strip();
        if (!Orders.isReason(reason)) {
            throw Problem.badRequest("a reason has at most " + Orders.LONGEST_REASON + " characters, and no NUL");
        }
        return reason;
    }

    private Said ordered(Visit visit, String job, Said done, Said already, Supplier<Answer> order) {
        Answer answer;
        try {
            answer = order.get();
        } catch (StoreException e) {
            if (e.kind() != StoreException.Kind.AMBIGUOUS) {
                throw e;
            }
            return Said.UNSURE;
        }
        return switch (answer) {
            case DONE -> {
                visit.open().waiting().forget();
                boards.forget(job);
                visit.note(job, done.order());
                yield done;
            }
            case ALREADY, ALREADY_DONE -> already;
            case UNKNOWN -> throw unknown(visit, job);
        };
    }

    private static Problem unknown(Visit visit, String job) {
        JobSummary summary = visit.open().store().job(job);
        if (summary != null && summary.scheduleText() == null) {
            return Problem.notFound("this job is run by hand only, with fencepost exec or run; no node starts it");
        }
        if (summary != null && summary.retired()) {
            return Problem.notFound("this job has left the jobs file; nothing was changed");
        }
        return Problem.notFound(
                visit.open().job(job) == null
                        ? "there is no job of this name"
                        : "the job is in the jobs file, but no node has registered it yet; try again in a moment");
    }

    private static Response back(String job, @Nullable String from, Said said) {
        return Html.seeOther(said.on("waiting".equals(from) ? WaitingResource.ADDRESS : Links.job(job)));
    }
}
