package dev.fencepost.edge.web.page;

import dev.fencepost.edge.web.page.Outputs.Output;
import dev.fencepost.edge.web.page.Outputs.Piece;
import dev.fencepost.edge.web.page.Outputs.Source;
import dev.fencepost.run.Attempt;
import dev.fencepost.run.History.Kept;
import dev.fencepost.schedule.Slot;
import io.smallrye.common.annotation.RunOnVirtualThread;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import jakarta.ws.rs.QueryParam;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.Response;
import jakarta.ws.rs.core.Response.ResponseBuilder;
import jakarta.ws.rs.core.StreamingOutput;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.OutputStream;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * What an attempt wrote and what it left, as files: whole, and never as anything that a browser would carry out. A file is opened for an
 * attempt that the store knows, never by what stands in an address.
 */
@Path("/jobs/{job}/{what:output|result}/{slot:.+}")
@RunOnVirtualThread
public class OutputResource {

    /** More than any log has; a run that writes while it is read would else hold its reader for as long. */
    private static final long MOST_CHARS = 64L << 20;

    private static final String TEXT = "text/plain;charset=UTF-8";

    private final Page page;

    OutputResource(Page page) {
        this.page = page;
    }

    @GET
    public Response file(
            @Context HttpServerRequest request,
            @PathParam("job") String job,
            @PathParam("what") String what,
            @PathParam("slot") String slotText,
            @QueryParam("attempt") @Nullable String number)
            throws IOException {
        Visit visit = page.visit(request);
        Slot slot = TickFacts.mayBeJob(job) ? TickFacts.slot(slotText) : null;
        Integer chosen = TickResource.number(number);
        if (slot == null || (number != null && chosen == null)) {
            return TickResource.missing(visit, job, slot, chosen);
        }
        // Newest first.
        Attempt attempt = visit.open().store().slot(job, slot).attempts().stream()
                .filter(each -> chosen == null || each.number() == chosen)
                .findFirst()
                .orElse(null);
        if (attempt == null) {
            return TickResource.missing(visit, job, slot, chosen);
        }
        if (request.method().equals(HttpMethod.HEAD)) {
            return file("", TEXT, "inline", name(attempt, what + ".txt")); // nobody would read, and close, a log
        }
        return what.equals("output") ? output(visit, attempt) : result(visit, attempt);
    }

    private static Response output(Visit visit, Attempt attempt) throws IOException {
        Output log = visit.open().parts().outputs().open(attempt);
        if (log != null) {
            StreamingOutput whole = out -> write(log, out);
            return file(whole, TEXT, "inline", name(attempt, "output.txt"));
        }
        Kept kept = visit.open().store().kept(attempt.job(), attempt.runId());
        String tail = kept == null ? null : kept.outputTail();
        return file(
                tail == null || tail.isEmpty()
                        ? "Neither this node nor the store has an output of this attempt.\n"
                        : tail,
                TEXT,
                "inline",
                name(attempt, "output.txt"));
    }

    private static Response result(Visit visit, Attempt attempt) {
        byte[] result = visit.open().store().result(attempt.job(), attempt.runId());
        return result == null
                ? file("This attempt has left no result.\n", TEXT, "inline", name(attempt, "result.txt"))
                : file(result, "application/octet-stream", "attachment", name(attempt, "result"));
    }

    private static void write(Output log, OutputStream out) throws IOException {
        try (log;
                Writer text = new BufferedWriter(new OutputStreamWriter(out, StandardCharsets.UTF_8))) {
            long chars = 0;
            for (Piece piece = log.next(); piece != null && chars < MOST_CHARS; piece = log.next()) {
                chars += piece.text().length() + 1;
                text.write((piece.source() == Source.REMARK ? "[fencepost] " : "") + piece.text());
                if (piece.endsLine()) {
                    text.write('\n');
                }
            }
        }
    }

    private static Response file(Object content, String type, String disposition, String name) {
        ResponseBuilder response = Response.ok(content, type);
        Html.HEADERS.forEach(response::header);
        return response.header("Content-Disposition", disposition + "; filename=\"" + name + "\"")
                .build();
    }

    private static String name(Attempt attempt, String kind) {
        String stem = attempt.job() + "-" + attempt.slotKey() + "-" + attempt.number() + "-" + kind;
        return stem.replaceAll("[^A-Za-z0-9._-]", "_");
    }
}
