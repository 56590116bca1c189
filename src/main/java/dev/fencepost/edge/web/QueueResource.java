package dev.fencepost.edge.web;

import dev.fencepost.edge.web.Api.Call;
import io.smallrye.common.annotation.RunOnVirtualThread;
import io.vertx.core.http.HttpServerRequest;
import jakarta.ws.rs.Consumes;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.PUT;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import java.io.InputStream;

/** Queues as a whole. */
@Path("/api/v1/work/queues")
@Produces(MediaType.APPLICATION_JSON)
@RunOnVirtualThread
public class QueueResource {

    private static final int MOST_CAPACITY = 1_000_000;

    private final Api api;

    QueueResource(Api api) {
        this.api = api;
    }

    @GET
    public Response queues(@Context HttpServerRequest request) {
        Call call = api.admit(request, Scope.READ);
        return Requests.json(200, Forms.list("queues", call.open().counts().views(), Forms::queue));
    }

    @PUT
    @Path("{queue}")
    @Consumes(MediaType.APPLICATION_JSON)
    public Response setCapacity(
            @Context HttpServerRequest request, @PathParam("queue") String queue, InputStream body) {
        Call call = api.admit(request, Scope.OPERATE);
        Fields fields = Requests.fields(call, body, "capacity");
        String name = Requests.queue(queue);
        Long number = fields.numberOrNull("capacity", 1, MOST_CAPACITY);
        Integer capacity = number == null ? null : number.intValue();
        Requests.told(Requests.AGAIN + "it sets the same capacity", () -> {
            call.work().setCapacity(name, capacity);
            return true;
        });
        call.open().counts().forget();
        call.note("capacity of queue " + name + " set to " + (capacity == null ? "any number" : capacity));
        return Requests.json(200, Forms.object().put("queue", name).put("capacity", capacity));
    }
}
