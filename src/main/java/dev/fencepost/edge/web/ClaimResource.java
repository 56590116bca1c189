package dev.fencepost.edge.web;

import dev.fencepost.edge.web.Api.Call;
import dev.fencepost.lease.FencingToken;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.RunId;
import dev.fencepost.lease.StoreException;
import dev.fencepost.work.Grant;
import dev.fencepost.work.WorkItem;
import dev.fencepost.work.WorkQueue;
import io.smallrye.common.annotation.RunOnVirtualThread;
import io.vertx.core.http.HttpServerRequest;
import jakarta.ws.rs.Consumes;
import jakarta.ws.rs.POST;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.QueryParam;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import java.io.InputStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Claims of whatever is due in a queue, which may wait for it: the store is asked again every now and then, the less often the more requests
 * wait. Beyond {@value #MOST_WAITING} of them a request is answered at once, as if it had not asked to wait.
 */
@Path("/api/v1/work/claims")
@Produces(MediaType.APPLICATION_JSON)
@RunOnVirtualThread
public class ClaimResource {

    static final int MOST_WAITING = 200;

    private static final Duration LONGEST_WAIT = Duration.ofSeconds(60);
    private static final long LEAST_STEP_MILLIS = 250;
    private static final long STEP_MILLIS_EACH = 4;

    /** So many items at a time, until their payloads are enough: see {@link WorkQueue#ENOUGH_BYTES}. */
    private static final int CHUNK = 50;

    private final Api api;

    ClaimResource(Api api) {
        this.api = api;
    }

    private record Wish(String queue, Owner owner, Duration ttl, int max) {}

    @POST
    @Consumes(MediaType.APPLICATION_JSON)
    public Response claim(
            @Context HttpServerRequest request, @QueryParam("wait") @Nullable String wait, InputStream body)
            throws InterruptedException {
        Call call = api.admit(request, Scope.WORK);
        Fields fields = Requests.fields(call, body, "queue", "owner", "ttl", "max");
        Long max = fields.number("max", 1, WorkQueue.MOST_AT_ONCE);
        Wish wish = new Wish(
                Requests.queue(fields.textOrNull("queue")),
                Requests.owner(fields),
                ItemResource.ttl(fields),
                max == null ? 1 : max.intValue());
        Duration patience = wait == null ? Duration.ZERO : Durations.parse("wait", wait, Duration.ZERO, LONGEST_WAIT);
        List<WorkItem> claimed = claimed(call, wish);
        if (claimed.isEmpty() && patience.isPositive()) {
            claimed = waitFor(call, wish, patience, request);
        }
        return Requests.json(200, Forms.list("items", claimed, Forms::item));
    }

    private List<WorkItem> waitFor(Call call, Wish wish, Duration patience, HttpServerRequest request)
            throws InterruptedException {
        int waiting = call.open().waiting().incrementAndGet();
        try {
            long end = call.time().bootMillis() + patience.toMillis();
            List<WorkItem> claimed = List.of();
            while (claimed.isEmpty() && waiting <= MOST_WAITING) {
                long left = end - call.time().bootMillis();
                if (left <= 0 || api.isStopping()) {
                    break;
                }
                long step = LEAST_STEP_MILLIS
                        + STEP_MILLIS_EACH
                                * Math.min(MOST_WAITING, call.open().waiting().get());
                call.time().sleep(Duration.ofMillis(Math.min(left, step)));
                if (api.isStopping() || isGone(request)) {
                    break;
                }
                claimed = claimed(call, wish);
            }
            if (isGone(request)) {
                giveBack(call, wish.owner(), claimed);
                return List.of();
            }
            return claimed;
        } finally {
            call.open().waiting().decrementAndGet();
        }
    }

    /** What was claimed for a client that went away in the meantime would else be held until its ttl ends. */
    private static boolean isGone(HttpServerRequest request) {
        return request.response().closed();
    }

    private static void giveBack(Call call, Owner owner, List<WorkItem> items) {
        for (WorkItem item : items) {
            try {
                call.work().release(new Grant(item.id(), owner, new FencingToken(item.fence()), item.runId()));
            } catch (StoreException untilItsTtlEnds) {
                return;
            }
        }
    }

    private static List<WorkItem> claimed(Call call, Wish wish) {
        List<WorkItem> claimed = new ArrayList<>();
        long bytes = 0;
        while (claimed.size() < wish.max() && bytes < WorkQueue.ENOUGH_BYTES) {
            int count = Math.min(CHUNK, wish.max() - claimed.size());
            List<WorkItem> chunk;
            try {
                chunk = chunk(call, wish, count);
            } catch (StoreException | Problem e) {
                if (claimed.isEmpty()) {
                    throw e;
                }
                break; // fewer than asked for are an answer too
            }
            claimed.addAll(chunk);
            for (WorkItem item : chunk) {
                bytes += item.payload() == null ? 0 : item.payload().bytes().length;
            }
            if (chunk.size() < count) {
                break;
            }
        }
        return claimed;
    }

    private static List<WorkItem> chunk(Call call, Wish wish, int count) {
        List<RunId> runIds = Stream.generate(
                        () -> new RunId(call.open().parts().entropy().uuid()))
                .limit(count)
                .toList();
        return Requests.told(
                "; what was claimed, if anything, is free again when the ttl has passed. Ask again",
                () -> call.work().claimAny(wish.queue(), wish.owner(), runIds, wish.ttl()));
    }
}
