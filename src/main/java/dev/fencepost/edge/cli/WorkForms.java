package dev.fencepost.edge.cli;

import dev.fencepost.host.Printable;
import dev.fencepost.lease.Refusal;
import dev.fencepost.work.Artifact;
import dev.fencepost.work.Body;
import dev.fencepost.work.WorkItem;
import dev.fencepost.work.WorkQueue.QueueView;
import java.io.PrintWriter;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Base64;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Items of work as people and scripts are shown them. */
final class WorkForms {

    /** Why nothing was claimed where no item was named. */
    static final String NOTHING_READY = "NOTHING_READY";

    private WorkForms() {}

    /** The answer about one item: {@code {"ok":…,"reason":…,"item":…}}. */
    static Map<String, @Nullable Object> answer(@Nullable Object refusal, @Nullable WorkItem item) {
        return Json.object("ok", refusal == null, "reason", refusal, "item", item == null ? null : json(item));
    }

    /** All fields; those of a holder are null without a live lease. */
    static Map<String, @Nullable Object> json(WorkItem item) {
        return Json.object(
                "id",
                item.id(),
                "owner",
                item.owner(),
                "until",
                item.until(),
                "fence",
                item.fence(),
                "run_id",
                item.runId(),
                "result",
                text(item.result()),
                "done",
                item.isDone(),
                "state",
                item.state(),
                "queue",
                item.queue(),
                "priority",
                item.priority(),
                "not_before",
                item.notBefore(),
                "attempts",
                item.attempts(),
                "max_attempts",
                item.maxAttempts(),
                "payload",
                text(item.payload()),
                "payload_base64",
                base64(item.payload()),
                "content_type",
                type(item.payload()),
                "result_base64",
                base64(item.result()),
                "result_type",
                type(item.result()),
                "reason",
                item.reason(),
                "enqueued_at",
                item.enqueuedAt(),
                "ended_at",
                item.endedAt());
    }

    /** What was claimed, for a list that is read by owner and token: these two come first. */
    static Map<String, @Nullable Object> claimed(WorkItem item) {
        Map<String, @Nullable Object> form = Json.object("owner", item.owner(), "fence", item.fence());
        json(item).forEach(form::putIfAbsent);
        return form;
    }

    static Map<String, @Nullable Object> json(Artifact artifact) {
        return Json.object(
                "name",
                artifact.name(),
                "fence",
                artifact.fence(),
                "size",
                artifact.size(),
                "sha256",
                artifact.sha256(),
                "type",
                artifact.type(),
                "at",
                artifact.at());
    }

    static Map<String, @Nullable Object> json(QueueView queue) {
        return Json.object(
                "queue",
                queue.queue(),
                "ready",
                queue.ready(),
                "claimed",
                queue.claimed(),
                "done",
                queue.done(),
                "dead",
                queue.dead(),
                "capacity",
                queue.capacity(),
                "oldest_ready",
                queue.oldestReady());
    }

    /** All that is known of an item, one line each; payload and result at the end, in lines of their own. */
    static void print(Surroundings surroundings, WorkItem item) {
        PrintWriter out = surroundings.out();
        line(out, "id", item.id());
        line(out, "queue", item.queue());
        line(out, "state", lower(item));
        line(out, "token", item.fence());
        line(out, "owner", item.owner());
        line(out, "run id", item.runId());
        line(out, "until", item.until());
        line(out, "attempts", item.attempts() + " of " + item.maxAttempts());
        line(out, "priority", item.priority());
        line(out, "not before", item.notBefore());
        line(out, "enqueued", item.enqueuedAt());
        line(out, "ended", item.endedAt());
        line(out, "reason", item.reason());
        print(surroundings, "payload", item.payload());
        print(surroundings, "result", item.result());
    }

    private static void line(PrintWriter out, String name, @Nullable Object value) {
        out.println(name + " ".repeat(12 - name.length()) + Printable.text(LeaseForms.dash(value)));
    }

    private static void print(Surroundings surroundings, String name, @Nullable Body body) {
        String text = text(body);
        if (body == null || text == null) {
            line(surroundings.out(), name, body == null ? null : body + ", no text; --json shows them");
            return;
        }
        line(surroundings.out(), name, body + (body.type() == null ? "" : ", " + body.type()));
        text.lines()
                .map(each -> surroundings.outIsScreen() ? Printable.text(each) : each)
                .forEach(each -> surroundings.out().println("    " + each));
    }

    /** Why not, and what that means. */
    static String words(Refusal reason, @Nullable WorkItem item) {
        return switch (reason) {
            case HELD ->
                item == null || item.owner() == null
                        ? "somebody holds it"
                        : LeaseForms.shortOwner(item.owner()) + " holds it until " + seconds(item.until());
            case STALE_TOKEN -> "a newer token was granted since" + (item == null ? "" : ": " + item.fence());
            case EXPIRED -> "the lease has expired";
            case NOT_OWNER -> "the lease is another owner's or another run's, or it was given back";
            case ALREADY_DONE -> "it has its result already, for good";
            case UNKNOWN -> "there is no such item";
            case EXISTS -> "there is an item with this id, and it stays as it is";
            case DEAD -> "it is given up" + (item == null || item.reason() == null ? "" : ": " + item.reason());
            case NOT_YET ->
                "its time has not come"
                        + (item == null || item.notBefore() == null ? "" : ": not before " + item.notBefore());
            case AT_CAPACITY -> "as many items of its queue are claimed as may be";
        };
    }

    static String lower(WorkItem item) {
        return item.state().name().toLowerCase(Locale.ROOT);
    }

    static String seconds(@Nullable Instant instant) {
        return instant == null ? "-" : instant.truncatedTo(ChronoUnit.SECONDS).toString();
    }

    /** Null for bytes that are no text: no UTF-8, or a NUL among them. */
    static @Nullable String text(@Nullable Body body) {
        if (body == null) {
            return null;
        }
        try {
            String text = StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(body.bytes()))
                    .toString();
            return text.indexOf('\0') < 0 ? text : null;
        } catch (CharacterCodingException e) {
            return null;
        }
    }

    private static @Nullable String base64(@Nullable Body body) {
        return body == null || text(body) != null ? null : Base64.getEncoder().encodeToString(body.bytes());
    }

    private static @Nullable String type(@Nullable Body body) {
        return body == null ? null : body.type();
    }
}
