package dev.fencepost.edge.web;

import dev.fencepost.edge.web.Api.Call;
import dev.fencepost.lease.Leases;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.Refusal;
import dev.fencepost.lease.RunId;
import dev.fencepost.lease.StoreException;
import dev.fencepost.lease.StoreException.Kind;
import dev.fencepost.work.Body;
import dev.fencepost.work.Grant;
import dev.fencepost.work.NewItem;
import dev.fencepost.work.WorkAnswer;
import dev.fencepost.work.WorkItem;
import dev.fencepost.work.WorkQueue.Enqueued;
import dev.fencepost.work.WorkState;
import io.smallrye.common.annotation.RunOnVirtualThread;
import io.vertx.core.http.HttpServerRequest;
import jakarta.ws.rs.Consumes;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.POST;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.QueryParam;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import java.io.InputStream;
import java.time.Duration;
import java.time.Instant;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Calls about one item. Each method lets the caller in before it reads a body. */
@Path("/api/v1/work/items")
@Produces(MediaType.APPLICATION_JSON)
@RunOnVirtualThread
public class ItemResource {

    private static final Duration LEAST_TTL = Duration.ofMillis(1);
    private static final Instant LATEST = Instant.parse("9999-12-31T23:59:59Z");
    private static final int DEFAULT_LIMIT = 100;
    private static final int MOST_LISTED = 1_000;
    private static final int MOST_REASON = 2_000;

    private final Api api;

    ItemResource(Api api) {
        this.api = api;
    }

    @POST
    @Consumes(MediaType.APPLICATION_JSON)
    public Response enqueue(@Context HttpServerRequest request, InputStream body) {
        Call call = api.admit(request, Scope.WORK);
        Fields fields = Requests.fields(
                call,
                body,
                "id",
                "queue",
                "payload",
                "payload_base64",
                "content_type",
                "priority",
                "not_before",
                "max_attempts");
        Body payload = Requests.body(fields, "payload");
        Long priority = fields.number("priority", -NewItem.MOST_PRIORITY, NewItem.MOST_PRIORITY);
        Long maxAttempts = fields.number("max_attempts", 1, NewItem.MOST_ATTEMPTS);
        Instant notBefore = fields.instant("not_before");
        if (notBefore != null && (notBefore.isBefore(Instant.EPOCH) || notBefore.isAfter(LATEST))) {
            throw Problem.badRequest("not_before: it lies between " + Instant.EPOCH + " and " + LATEST);
        }
        NewItem item = new NewItem(
                Requests.id(fields.text("id")),
                Requests.queue(fields.textOrNull("queue")),
                payload,
                priority == null ? 0 : priority.intValue(),
                notBefore,
                maxAttempts == null ? NewItem.DEFAULT_MAX_ATTEMPTS : maxAttempts.intValue());
        Enqueued enqueued = Requests.told(
                Requests.AGAIN + "an item that is there is not made twice",
                () -> call.work().enqueue(item));
        return Requests.json(enqueued.created() ? 201 : 200, Forms.item(enqueued.item()));
    }

    @GET
    @Path("{id}")
    public Response item(@Context HttpServerRequest request, @PathParam("id") String id) {
        Call call = api.admit(request, Scope.READ);
        WorkItem item = call.work().item(Requests.id(id));
        if (item == null) {
            throw Problem.refused(id, new WorkAnswer.Refused(Refusal.UNKNOWN, null));
        }
        return Requests.json(200, Forms.item(item));
    }

    @GET
    public Response items(
            @Context HttpServerRequest request,
            @QueryParam("queue") @Nullable String queue,
            @QueryParam("state") @Nullable String state,
            @QueryParam("limit") @Nullable String limit) {
        Call call = api.admit(request, Scope.READ);
        String of = queue == null ? null : Requests.queue(queue);
        WorkState in = state == null ? null : state(state);
        return Requests.json(200, Forms.list("items", call.work().items(of, in, limit(limit)), Forms::brief));
    }

    private static WorkState state(String text) {
        for (WorkState state : WorkState.values()) {
            if (state.name().equals(text.toUpperCase(Locale.ROOT))) {
                return state;
            }
        }
        throw Problem.badRequest("state: " + Words.quoted(text) + " is none; there are ready, claimed, done and dead");
    }

    private static int limit(@Nullable String text) {
        if (text == null) {
            return DEFAULT_LIMIT;
        }
        if (text.matches("[0-9]{1,4}")) {
            int limit = Integer.parseInt(text);
            if (limit >= 1 && limit <= MOST_LISTED) {
                return limit;
            }
        }
        throw Problem.badRequest("limit: write a whole number from 1 to " + MOST_LISTED);
    }

    @POST
    @Path("{id}/claim")
    @Consumes(MediaType.APPLICATION_JSON)
    public Response claim(@Context HttpServerRequest request, @PathParam("id") String id, InputStream body) {
        Call call = api.admit(request, Scope.WORK);
        Fields fields = Requests.fields(call, body, "owner", "ttl");
        Owner owner = Requests.owner(fields);
        Duration ttl = ttl(fields);
        RunId runId = new RunId(call.open().parts().entropy().uuid());
        return Requests.answer(id, claim(call, Requests.id(id), owner, runId, ttl));
    }

    /** A claim that may have been granted is looked for by its run id: nobody else could find it. */
    private static WorkAnswer claim(Call call, String id, Owner owner, RunId runId, Duration ttl) {
        try {
            return call.work().claimItem(id, owner, runId, ttl);
        } catch (StoreException e) {
            if (e.kind() != Kind.AMBIGUOUS) {
                throw e;
            }
            WorkItem now = readBack(call, id);
            if (now != null && runId.equals(now.runId())) {
                return new WorkAnswer.Done(now);
            }
            throw Requests.unsaid("; if it did, the item is free again when the ttl has passed. Claim it again");
        }
    }

    private static @Nullable WorkItem readBack(Call call, String id) {
        try {
            return call.work().item(id);
        } catch (StoreException stillAway) {
            return null;
        }
    }

    @POST
    @Path("{id}/renew")
    @Consumes(MediaType.APPLICATION_JSON)
    public Response renew(@Context HttpServerRequest request, @PathParam("id") String id, InputStream body) {
        Call call = api.admit(request, Scope.WORK);
        Fields fields = Requests.fields(call, body, "owner", "fence", "run_id", "ttl");
        Grant grant = Requests.grant(id, fields);
        Duration ttl = ttl(fields);
        return Requests.answer(
                id,
                Requests.told(
                        Requests.AGAIN + "a renewal counts from now",
                        () -> call.work().renew(grant, ttl)));
    }

    @POST
    @Path("{id}/complete")
    @Consumes(MediaType.APPLICATION_JSON)
    public Response complete(@Context HttpServerRequest request, @PathParam("id") String id, InputStream body) {
        Call call = api.admit(request, Scope.WORK);
        Fields fields =
                Requests.fields(call, body, "owner", "fence", "run_id", "result", "result_base64", "content_type");
        Grant grant = Requests.grant(id, fields);
        Body result = Requests.body(fields, "result");
        return Requests.answer(
                id,
                Requests.told(
                        Requests.AGAIN + "ALREADY_DONE with your fence means that your result is stored",
                        () -> call.work().complete(grant, result)));
    }

    @POST
    @Path("{id}/fail")
    @Consumes(MediaType.APPLICATION_JSON)
    public Response fail(@Context HttpServerRequest request, @PathParam("id") String id, InputStream body) {
        Call call = api.admit(request, Scope.WORK);
        Fields fields = Requests.fields(call, body, "owner", "fence", "run_id", "reason", "retry_after", "dead");
        Grant grant = Requests.grant(id, fields);
        String reason = fields.text("reason");
        if (reason.isBlank() || reason.length() > MOST_REASON || reason.indexOf('\0') >= 0) {
            throw Problem.badRequest(
                    "the field reason has 1 to " + MOST_REASON + " characters, not all blank, and no NUL");
        }
        boolean dead = fields.flag("dead");
        if (dead && fields.has("retry_after")) {
            throw Problem.badRequest("give retry_after or dead, not both");
        }
        Duration after = fields.has("retry_after")
                ? fields.duration("retry_after", Duration.ZERO, Leases.MAX_TTL)
                : Duration.ZERO;
        return Requests.answer(
                id,
                Requests.told(
                        Requests.AGAIN + "NOT_OWNER or DEAD with your fence means that it had happened",
                        () -> call.work().fail(grant, reason, dead ? null : after)));
    }

    @POST
    @Path("{id}/release")
    @Consumes(MediaType.APPLICATION_JSON)
    public Response release(@Context HttpServerRequest request, @PathParam("id") String id, InputStream body) {
        Call call = api.admit(request, Scope.WORK);
        Grant grant = Requests.grant(id, Requests.fields(call, body, "owner", "fence", "run_id"));
        return Requests.answer(
                id,
                Requests.told(
                        Requests.AGAIN + "NOT_OWNER with your fence means that it had happened",
                        () -> call.work().release(grant)));
    }

    static Duration ttl(Fields fields) {
        return fields.duration("ttl", LEAST_TTL, Leases.MAX_TTL);
    }
}
