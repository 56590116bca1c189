package dev.fencepost.edge.web;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.fencepost.edge.web.Api.Call;
import dev.fencepost.work.ItemResult;
import dev.fencepost.work.WorkAnswer;
import dev.fencepost.work.WorkQueue;
import io.smallrye.common.annotation.RunOnVirtualThread;
import io.vertx.core.http.HttpServerRequest;
import jakarta.ws.rs.Consumes;
import jakarta.ws.rs.POST;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import java.io.InputStream;
import java.util.List;

/** Results of several items in one call. A request that is understood is answered with 200, whatever is said to each item. */
@Path("/api/v1/work/completions")
@Produces(MediaType.APPLICATION_JSON)
@RunOnVirtualThread
public class CompletionResource {

    private static final Fields.ListField RESULTS = new Fields.ListField(
            "results",
            WorkQueue.MOST_AT_ONCE,
            List.of("id", "owner", "fence", "run_id", "result", "result_base64", "content_type"));

    private final Api api;

    CompletionResource(Api api) {
        this.api = api;
    }

    @POST
    @Consumes(MediaType.APPLICATION_JSON)
    public Response complete(@Context HttpServerRequest request, InputStream body) {
        Call call = api.admit(request, Scope.WORK);
        List<ItemResult> results = Requests.fields(call, body, RESULTS)
                .each(
                        "results",
                        fields -> new ItemResult(
                                Requests.grant(fields.text("id"), fields), Requests.body(fields, "result")));
        Requests.checked("results", () -> {
            WorkQueue.checkResults(results);
            return results;
        });
        List<WorkAnswer> answers = Requests.told(
                Requests.AGAIN + "ALREADY_DONE with your fence means that your result is stored",
                () -> call.work().completeAll(results));
        ObjectNode object = Forms.object();
        ArrayNode list = object.putArray("answers");
        for (int place = 0; place < answers.size(); place++) {
            list.add(Forms.answer(results.get(place).grant().id(), answers.get(place)));
        }
        return Requests.json(200, object);
    }
}
