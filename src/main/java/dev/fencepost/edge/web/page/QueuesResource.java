package dev.fencepost.edge.web.page;

import dev.fencepost.edge.web.Api;
import dev.fencepost.edge.web.Problem;
import dev.fencepost.edge.web.QueueCounts;
import dev.fencepost.work.NewItem;
import dev.fencepost.work.WorkItem;
import dev.fencepost.work.WorkQueue.QueueView;
import dev.fencepost.work.WorkState;
import io.quarkus.qute.RawString;
import io.quarkus.qute.TemplateInstance;
import io.smallrye.common.annotation.RunOnVirtualThread;
import io.vertx.core.http.HttpServerRequest;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.Response;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** The work queues: how long they are, who holds what, and what is dead. For looking only; times are UTC. */
@Path("/queues")
@RunOnVirtualThread
public class QueuesResource {

    /** Items of one kind on a page; the command line lists more. */
    private static final int MOST = 50;

    /** A delay is looked for among so many of the newest that are ready. */
    private static final int LOOKED_AT = 1_000;

    private final Page page;
    private final Api api;

    QueuesResource(Page page, Api api) {
        this.page = page;
        this.api = api;
    }

    record Overview(Frame frame, List<Queue> queues, RawString now) implements TemplateInstance {}

    /** @param oldest how long the oldest one waits that could be claimed now; empty if there is none */
    public record Queue(
            String name,
            RawString link,
            long ready,
            long claimed,
            long done,
            long dead,
            String capacity,
            boolean isFull,
            String oldest) {}

    record OfQueue(
            Frame frame,
            Queue queue,
            RawString now,
            String delayed,
            List<Item> holders,
            List<Item> dead,
            List<Item> newest,
            int most)
            implements TemplateInstance {}

    /** @param until of the lease, or null; {@code left} how long it is still live */
    public record Item(
            String id,
            String state,
            String sign,
            String style,
            int priority,
            String attempts,
            long fence,
            String owner,
            @Nullable RawString until,
            String left,
            @Nullable RawString notBefore,
            String reason,
            RawString enqueued,
            @Nullable RawString ended) {}

    @GET
    public Response queues(@Context HttpServerRequest request) {
        Visit visit = page.visit(request);
        Instant now = visit.open().store().now();
        return Html.page(new Overview(
                Frame.of(visit, "Work queues", "queues", "", 0),
                views(visit).stream().map(view -> queue(view, now)).toList(),
                Times.element(now, ZoneOffset.UTC)));
    }

    @GET
    @Path("{queue}")
    public Response queue(@Context HttpServerRequest request, @PathParam("queue") String name) {
        Visit visit = page.visit(request);
        if (!NewItem.QUEUE.matcher(name).matches()) {
            throw Problem.notFound("no queue has such a name");
        }
        Instant now = visit.open().store().now();
        QueueView view = views(visit).stream()
                .filter(each -> each.queue().equals(name))
                .findFirst()
                .orElse(null);
        List<WorkItem> newest = visit.open().store().items(name, null, MOST);
        if (view == null && newest.isEmpty()) {
            throw Problem.notFound("there is no queue " + name + ", or nothing was ever put into it");
        }
        // Counted a moment ago, and made since.
        QueueView counted = view == null ? new QueueView(name, 0, 0, 0, 0, null, null) : view;
        return Html.page(new OfQueue(
                Frame.of(visit, "Queue " + name, "queues", "", 0),
                queue(counted, now),
                Times.element(now, ZoneOffset.UTC),
                delayed(visit.open().store().items(name, WorkState.READY, LOOKED_AT), now),
                items(visit.open().store().items(name, WorkState.CLAIMED, MOST), now),
                items(visit.open().store().items(name, WorkState.DEAD, MOST), now),
                items(newest, now),
                MOST));
    }

    private List<QueueView> views(Visit visit) {
        QueueCounts shared = api.countsOf(visit.open().store());
        return (shared == null ? visit.open().counts() : shared).views();
    }

    private static String delayed(List<WorkItem> ready, Instant now) {
        long count = ready.stream().filter(item -> isDelayed(item, now)).count();
        return count == 0 ? "" : ready.size() < LOOKED_AT ? String.valueOf(count) : count + " or more";
    }

    private static boolean isDelayed(WorkItem item, Instant now) {
        return item.state() == WorkState.READY
                && item.notBefore() != null
                && item.notBefore().isAfter(now);
    }

    private static Queue queue(QueueView view, Instant now) {
        Integer capacity = view.capacity();
        return new Queue(
                view.queue(),
                new RawString(Links.queue(view.queue())),
                view.ready(),
                view.claimed(),
                view.done(),
                view.dead(),
                capacity == null ? "any number" : String.valueOf(capacity),
                capacity != null && view.claimed() >= capacity,
                view.oldestReady() == null ? "" : Times.span(Duration.between(view.oldestReady(), now)));
    }

    private static List<Item> items(List<WorkItem> items, Instant now) {
        return items.stream().map(item -> item(item, now)).toList();
    }

    private static Item item(WorkItem item, Instant now) {
        boolean delayed = isDelayed(item, now);
        return new Item(
                item.id(),
                delayed ? "delayed" : item.state().name().toLowerCase(Locale.ROOT),
                switch (item.state()) {
                    case READY -> delayed ? "\u25d4" : "\u25cb";
                    case CLAIMED -> "\u25b7";
                    case DONE -> "\u2713";
                    case DEAD -> "\u2717";
                },
                switch (item.state()) {
                    case READY -> "skip";
                    case CLAIMED -> "live";
                    case DONE -> "good";
                    case DEAD -> "bad";
                },
                item.priority(),
                item.attempts() + " of " + item.maxAttempts(),
                item.fence(),
                item.owner() == null ? "" : ShownText.of(item.owner().text()),
                item.until() == null ? null : Times.element(item.until(), ZoneOffset.UTC),
                item.until() == null ? "" : Times.span(Duration.between(now, item.until())),
                delayed && item.notBefore() != null ? Times.element(item.notBefore(), ZoneOffset.UTC) : null,
                item.reason() == null ? "" : ShownText.of(item.reason()),
                Times.element(item.enqueuedAt(), ZoneOffset.UTC),
                item.endedAt() == null ? null : Times.element(item.endedAt(), ZoneOffset.UTC));
    }
}
