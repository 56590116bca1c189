package dev.fencepost.edge.remote;

import dev.fencepost.lease.Owner;
import dev.fencepost.lease.Refusal;
import dev.fencepost.lease.RunId;
import dev.fencepost.work.Artifact;
import dev.fencepost.work.Body;
import dev.fencepost.work.WorkAnswer;
import dev.fencepost.work.WorkItem;
import dev.fencepost.work.WorkQueue.QueueView;
import dev.fencepost.work.WorkState;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import org.jspecify.annotations.Nullable;

/** The nouns of the queue, as the API writes them. */
final class Items {

    private Items() {}

    /** @throws IOException if a field is missing, or is none of its kind */
    static WorkItem item(Fields fields) throws IOException {
        try {
            String owner = fields.textIfAny("owner");
            String runId = fields.textIfAny("run_id");
            return new WorkItem(
                    fields.text("id"),
                    fields.text("queue"),
                    WorkState.valueOf(fields.text("state")),
                    fields.smallNumber("priority"),
                    fields.instantIfAny("not_before"),
                    fields.smallNumber("attempts"),
                    fields.smallNumber("max_attempts"),
                    fields.number("fence"),
                    owner == null ? null : new Owner(owner),
                    runId == null ? null : RunId.parse(runId),
                    fields.instantIfAny("until"),
                    body(fields, "payload", "content_type"),
                    body(fields, "result", "result_type"),
                    fields.textIfAny("reason"),
                    fields.instant("enqueued_at"),
                    fields.instantIfAny("ended_at"));
        } catch (IllegalArgumentException e) {
            throw new IOException(e.getMessage(), e);
        }
    }

    /** One of several answers to a call: with a reason if it is a refusal. */
    static WorkAnswer answer(Fields fields) throws IOException {
        Fields object = fields.objectIfAny("item");
        WorkItem item = object == null ? null : item(object);
        String reason = fields.textIfAny("reason");
        if (reason == null) {
            if (item == null) {
                throw new IOException("\"item\" is missing");
            }
            return new WorkAnswer.Done(item);
        }
        try {
            return new WorkAnswer.Refused(Refusal.valueOf(reason), item);
        } catch (IllegalArgumentException e) {
            throw new IOException("the reason " + reason + " is not known here", e);
        }
    }

    private static @Nullable Body body(Fields fields, String name, String typeName) throws IOException {
        String text = fields.textIfAny(name);
        String coded = fields.textIfAny(name + "_base64");
        if (text == null && coded == null) {
            return null;
        }
        byte[] bytes = text != null
                ? text.getBytes(StandardCharsets.UTF_8)
                : Base64.getDecoder().decode(coded);
        return new Body(bytes, fields.textIfAny(typeName));
    }

    /**
     * The bytes as text, or null where they are better sent as Base64: they are no UTF-8, have a NUL, or so much in them has to be escaped
     * that it would be longer.
     */
    static @Nullable String text(byte[] bytes) {
        long escaped = 0;
        for (byte each : bytes) {
            if (each == 0) {
                return null;
            }
            escaped += each > 0 && each < ' ' ? 6 : each == '"' || each == '\\' ? 2 : 1;
        }
        if (escaped > bytes.length * 4L / 3 + 4) {
            return null;
        }
        try {
            return StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(bytes))
                    .toString();
        } catch (CharacterCodingException e) {
            return null;
        }
    }

    static String base64(byte[] bytes) {
        return Base64.getEncoder().encodeToString(bytes);
    }

    static Artifact artifact(String item, Fields fields) throws IOException {
        return new Artifact(
                item,
                fields.number("fence"),
                fields.text("name"),
                fields.textIfAny("type"),
                fields.number("size"),
                fields.text("sha256"),
                fields.instant("at"));
    }

    static QueueView queue(Fields fields) throws IOException {
        Long capacity = fields.numberIfAny("capacity");
        return new QueueView(
                fields.text("queue"),
                fields.number("ready"),
                fields.number("claimed"),
                fields.number("done"),
                fields.number("dead"),
                capacity == null ? null : Math.toIntExact(capacity),
                fields.instantIfAny("oldest_ready"));
    }
}
