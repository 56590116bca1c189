package dev.fencepost.edge.web;

import dev.fencepost.edge.web.Api.Call;
import dev.fencepost.run.Pruner;
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
import java.time.Duration;
import java.time.Instant;

/** Items that ended long ago are let go by hand: a bounded number in each call. */
@Path("/api/v1/work/prune")
@Produces(MediaType.APPLICATION_JSON)
@RunOnVirtualThread
public class PruneResource {

    private static final Duration OLDEST = Duration.ofDays(3_650);

    private final Api api;

    PruneResource(Api api) {
        this.api = api;
    }

    @POST
    @Consumes(MediaType.APPLICATION_JSON)
    public Response prune(@Context HttpServerRequest request, InputStream body) {
        Call call = api.admit(request, Scope.OPERATE);
        Duration age = Requests.fields(call, body, "older_than").duration("older_than", Duration.ZERO, OLDEST);
        Api.Parts parts = call.open().parts();
        int items = Requests.told(Requests.AGAIN + "what has gone is not counted twice", () -> {
            Instant before = parts.storeClock().get().minus(age);
            return parts.artifacts().prune(before, Pruner.AT_ONCE);
        });
        if (items > 0) {
            call.open().counts().forget();
            call.note(items + " items pruned");
        }
        return Requests.json(200, Forms.object().put("items", items).put("more", items == Pruner.AT_ONCE));
    }
}
