package dev.fencepost.edge.web;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.fencepost.edge.web.Api.Call;
import dev.fencepost.lease.FencingToken;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.RunId;
import dev.fencepost.lease.StoreException;
import dev.fencepost.lease.StoreException.Kind;
import dev.fencepost.work.Body;
import dev.fencepost.work.Grant;
import dev.fencepost.work.NewItem;
import dev.fencepost.work.WorkAnswer;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import java.io.InputStream;
import java.time.Duration;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** What the resources have in common: the parts of a request as nouns of the core, and answers as responses. */
final class Requests {

    /** Room for a payload of 1 MiB as Base64, or as a text in which not everything is escaped. */
    static final Intake JSON = new Intake(3 << 20, Duration.ofSeconds(60), Duration.ofSeconds(10), 1 << 10);

    static final String AGAIN = "; it may have. Sending the same call again is safe: ";

    private Requests() {}

    static Fields fields(Call call, InputStream body, String... known) {
        return JSON.whole(body, call.time(), call.open().bodies(), bytes -> Fields.read(bytes, List.of(known)));
    }

    static Fields fields(Call call, InputStream body, Fields.ListField list) {
        return JSON.whole(body, call.time(), call.open().bodies(), bytes -> Fields.read(bytes, list));
    }

    static String id(String text) {
        if (!NewItem.ID.matcher(text).matches()) {
            throw Problem.badRequest("the id of an item has 1 to 200 characters of A-Z a-z 0-9 . _ : @ + = - and begins"
                    + " with a letter or digit, not " + Words.quoted(text));
        }
        return text;
    }

    static String queue(@Nullable String text) {
        if (text == null) {
            return NewItem.DEFAULT_QUEUE;
        }
        checked("queue", () -> {
            NewItem.checkQueue(text);
            return text;
        });
        return text;
    }

    static Owner owner(Fields fields) {
        String text = fields.name("owner");
        return checked("owner", () -> new Owner(text));
    }

    static Grant grant(String id, Fields fields) {
        Long fence = fields.number("fence", 1, Long.MAX_VALUE);
        if (fence == null) {
            throw Problem.badRequest("the field fence is missing: send the one of the claim's answer");
        }
        return new Grant(id(id), owner(fields), new FencingToken(fence), new RunId(fields.uuid("run_id")));
    }

    /** Payload or result with its type, from {@code name} or {@code name_base64}, and {@code content_type}. */
    static @Nullable Body body(Fields fields, String name) {
        byte[] bytes = fields.bytes(name);
        String type = fields.has("content_type") ? fields.name("content_type") : null;
        if (bytes == null) {
            if (type != null) {
                throw Problem.badRequest("there is a content_type but no " + name);
            }
            return null;
        }
        if (bytes.length > Body.MAX_BYTES) {
            throw Problem.tooLarge(name + " has " + bytes.length + " bytes, the limit is " + Body.MAX_BYTES
                    + "; hand bigger things in as artifacts");
        }
        return checked("content_type", () -> new Body(bytes, type));
    }

    /** A noun whose constructor checks. */
    static <T> T checked(String field, Supplier<T> value) {
        try {
            return value.get();
        } catch (IllegalArgumentException e) {
            throw Problem.badRequest(field + ": " + e.getMessage());
        }
    }

    /**
     * A call of the store.
     *
     * @param whatNow said to the client if it is unknown whether the write happened
     */
    static <T> T told(String whatNow, Supplier<T> call) {
        try {
            return call.get();
        } catch (StoreException e) {
            if (e.kind() == Kind.AMBIGUOUS) {
                throw unsaid(whatNow);
            }
            throw e;
        }
    }

    static Problem unsaid(String whatNow) {
        return Problem.unavailable("the store did not say whether this happened" + whatNow, 1);
    }

    static Response answer(String id, WorkAnswer answer) {
        return switch (answer) {
            case WorkAnswer.Done done -> json(200, Forms.item(done.item()));
            case WorkAnswer.Refused refused -> throw Problem.refused(id, refused);
        };
    }

    static Response json(int status, ObjectNode object) {
        return Response.status(status)
                .entity(Forms.bytes(object))
                .type(MediaType.APPLICATION_JSON_TYPE)
                .header("Cache-Control", "no-store")
                .build();
    }
}
