package dev.fencepost.edge.web;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.fencepost.lease.Refusal;
import dev.fencepost.work.Artifact;
import dev.fencepost.work.Body;
import dev.fencepost.work.WorkAnswer;
import dev.fencepost.work.WorkItem;
import dev.fencepost.work.WorkQueue.QueueView;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Collection;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** What is answered, as JSON: snake_case, instants in ISO-8601 UTC, a null where there is nothing. */
final class Forms {

    private static final JsonNodeFactory NODES = JsonNodeFactory.instance;

    private Forms() {}

    static ObjectNode object() {
        return NODES.objectNode();
    }

    static <T> ObjectNode list(String name, Collection<T> values, Function<T, ObjectNode> form) {
        ObjectNode object = object();
        ArrayNode list = object.putArray(name);
        values.forEach(value -> list.add(form.apply(value)));
        return object;
    }

    /** With payload and result. */
    static ObjectNode item(WorkItem item) {
        ObjectNode object = brief(item);
        body(object, "payload", "content_type", item.payload());
        body(object, "result", "result_type", item.result());
        return object;
    }

    /** Without payload and result. */
    static ObjectNode brief(WorkItem item) {
        return object().put("id", item.id())
                .put("queue", item.queue())
                .put("state", item.state().name())
                .put("done", item.isDone())
                .put("priority", item.priority())
                .put("not_before", text(item.notBefore()))
                .put("attempts", item.attempts())
                .put("max_attempts", item.maxAttempts())
                .put("fence", item.fence())
                .put("owner", text(item.owner()))
                .put("run_id", text(item.runId()))
                .put("until", text(item.until()))
                .put("reason", item.reason())
                .put("enqueued_at", text(item.enqueuedAt()))
                .put("ended_at", text(item.endedAt()));
    }

    /** One of several answers, to the item of this id. */
    static ObjectNode answer(String id, WorkAnswer answer) {
        return switch (answer) {
            case WorkAnswer.Done(WorkItem item) -> answer(id, null, null, item);
            case WorkAnswer.Refused(Refusal reason, @Nullable WorkItem item) ->
                answer(id, reason, Problem.words(reason, item), item);
        };
    }

    private static ObjectNode answer(
            String id, @Nullable Refusal reason, @Nullable String detail, @Nullable WorkItem item) {
        ObjectNode object = object().put("id", id)
                .put("accepted", reason == null)
                .put("reason", text(reason))
                .put("detail", detail);
        object.set("item", item == null ? NODES.nullNode() : brief(item));
        return object;
    }

    private static void body(ObjectNode object, String name, String typeName, @Nullable Body body) {
        if (body == null) {
            object.putNull(name);
        } else {
            String text = asText(body.bytes());
            if (text != null) {
                object.put(name, text);
            } else {
                object.put(name + "_base64", Base64.getEncoder().encodeToString(body.bytes()));
            }
        }
        object.put(typeName, body == null ? null : body.type());
    }

    /** Null unless this is UTF-8 without NUL. */
    private static @Nullable String asText(byte[] bytes) {
        try {
            String text = StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(bytes))
                    .toString();
            return text.indexOf('\0') < 0 ? text : null;
        } catch (CharacterCodingException e) {
            return null;
        }
    }

    static ObjectNode artifact(Artifact artifact) {
        return object().put("name", artifact.name())
                .put("fence", artifact.fence())
                .put("size", artifact.size())
                .put("sha256", artifact.sha256())
                .put("type", artifact.type())
                .put("at", text(artifact.at()));
    }

    static ObjectNode queue(QueueView queue) {
        return object().put("queue", queue.queue())
                .put("ready", queue.ready())
                .put("claimed", queue.claimed())
                .put("done", queue.done())
                .put("dead", queue.dead())
                .put("capacity", queue.capacity())
                .put("oldest_ready", text(queue.oldestReady()));
    }

    static ObjectNode problem(Problem problem) {
        ObjectNode object = object().put("type", problem.type())
                .put("title", problem.title())
                .put("status", problem.status())
                .put("detail", problem.detail());
        if (problem.reason() != null) {
            object.put("reason", problem.reason().name());
        }
        if (problem.item() != null) {
            object.set("item", brief(problem.item()));
        }
        return object;
    }

    static byte[] bytes(ObjectNode object) {
        return object.toString().getBytes(StandardCharsets.UTF_8);
    }

    private static @Nullable String text(@Nullable Object value) {
        return value == null ? null : value.toString();
    }
}
