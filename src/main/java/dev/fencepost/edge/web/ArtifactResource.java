package dev.fencepost.edge.web;

import dev.fencepost.edge.web.Api.Call;
import dev.fencepost.edge.web.Artifacts.Received;
import dev.fencepost.host.Event;
import dev.fencepost.lease.FencingToken;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.Refusal;
import dev.fencepost.lease.RunId;
import dev.fencepost.lease.StoreException;
import dev.fencepost.lease.StoreException.Kind;
import dev.fencepost.work.Artifact;
import dev.fencepost.work.Body;
import dev.fencepost.work.Grant;
import dev.fencepost.work.WorkAnswer;
import io.smallrye.common.annotation.RunOnVirtualThread;
import io.vertx.core.http.HttpServerRequest;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.PUT;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.Response;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Files of an item. One is taken in only under a grant that holds: looked at before the body is read, and again, by the store, in the moment
 * in which the file goes on record.
 */
@Path("/api/v1/work/items/{id}/artifacts")
@RunOnVirtualThread
public class ArtifactResource {

    private static final Duration LONGEST = Duration.ofHours(2);
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final long LEAST_BYTES_PER_SECOND = 4 << 10;
    private static final int MOST_OF_ITEM = 1_000;
    private static final Pattern MEDIA_TYPE = Pattern.compile("([A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+)([ ;].*)?");
    private static final Pattern SHA256 = Pattern.compile("[0-9a-fA-F]{64}");
    private static final Pattern NUMBER = Pattern.compile("[0-9]{1,18}|[1-8][0-9]{18}|9[01][0-9]{17}");

    private final Api api;

    ArtifactResource(Api api) {
        this.api = api;
    }

    @PUT
    @Path("{name}")
    public Response put(
            @Context HttpServerRequest request,
            @PathParam("id") String id,
            @PathParam("name") String name,
            InputStream body) {
        Call call = api.admit(request, Scope.WORK);
        Grant grant = grant(request, id);
        checkName(name);
        String type = type(request, call.open().parts().artifactTypes());
        String expected = header(request, "Fencepost-Sha256");
        if (expected != null && !SHA256.matcher(expected).matches()) {
            throw Problem.badRequest("Fencepost-Sha256: this is no SHA-256 in hexadecimal");
        }
        Intake limits = new Intake(call.open().parts().maxArtifactBytes(), LONGEST, PATIENCE, LEAST_BYTES_PER_SECOND);
        checkLength(request, limits);
        Optional<WorkAnswer.Refused> refused = call.work().check(grant);
        if (refused.isPresent()) {
            throw Problem.refused(id, refused.get());
        }
        if (call.work().artifacts(id).size() >= MOST_OF_ITEM) {
            throw Problem.of(422, "Unprocessable content", "the item has " + MOST_OF_ITEM + " artifacts, the limit");
        }
        if (!call.open().uploads().tryAcquire()) {
            throw Problem.unavailable("too many uploads are under way", 5);
        }
        try {
            return Requests.json(201, Forms.artifact(take(call, grant, name, type, expected, body, limits)));
        } catch (IOException e) {
            api.record(new Event.Problem(
                    "artifacts", null, null, null, "an upload was refused, since it could not be stored", e));
            throw Problem.of(507, "Insufficient storage", "this node could not store the file; nothing of it was kept");
        } finally {
            call.open().uploads().release();
        }
    }

    private static Artifact take(
            Call call,
            Grant grant,
            String name,
            @Nullable String type,
            @Nullable String expected,
            InputStream body,
            Intake limits)
            throws IOException {
        Artifacts artifacts = call.open().parts().artifacts();
        Received received = artifacts.receive(body, limits, call.time());
        if (expected != null && !expected.toLowerCase(Locale.ROOT).equals(received.sha256())) {
            artifacts.discard(received);
            throw Problem.of(
                    422,
                    "Unprocessable content",
                    "the SHA-256 of what came is " + received.sha256()
                            + ", not the one of the header Fencepost-Sha256");
        }
        Artifact artifact = new Artifact(
                grant.id(),
                grant.fence().value(),
                name,
                type,
                received.size(),
                received.sha256(),
                call.time().wallClock());
        WorkAnswer answer = keep(call, received, grant, artifact);
        if (answer instanceof WorkAnswer.Refused refused) {
            throw Problem.refused(grant.id(), refused);
        }
        return artifact;
    }

    private static WorkAnswer keep(Call call, Received received, Grant grant, Artifact artifact) throws IOException {
        try {
            return call.open().parts().artifacts().keep(received, grant, artifact);
        } catch (StoreException e) {
            if (e.kind() == Kind.AMBIGUOUS) {
                throw Requests.unsaid(Requests.AGAIN + "the same name under the same token replaces");
            }
            throw e;
        }
    }

    @GET
    public Response list(@Context HttpServerRequest request, @PathParam("id") String id) {
        Call call = api.admit(request, Scope.READ);
        List<Artifact> artifacts = call.work().artifacts(Requests.id(id));
        if (artifacts.isEmpty() && call.work().item(id) == null) {
            throw Problem.refused(id, new WorkAnswer.Refused(Refusal.UNKNOWN, null));
        }
        return Requests.json(200, Forms.list("artifacts", artifacts, Forms::artifact));
    }

    @GET
    @Path("{fence}/{name}")
    public Response get(
            @Context HttpServerRequest request,
            @PathParam("id") String id,
            @PathParam("fence") String fence,
            @PathParam("name") String name)
            throws IOException {
        Call call = api.admit(request, Scope.READ);
        Requests.id(id);
        checkName(name);
        Artifacts artifacts = call.open().parts().artifacts();
        Artifact artifact = artifacts.find(id, token(fence).value(), name);
        if (artifact == null) {
            throw Problem.notFound("item " + id + " has no artifact " + name + " under the token " + fence);
        }
        InputStream bytes = artifacts.read(artifact);
        if (bytes == null && !artifact.equals(artifacts.find(id, artifact.fence(), name))) {
            throw Problem.notFound("the artifact was removed or replaced just now");
        }
        if (bytes == null) {
            throw Problem.notFound(
                    "the artifact is on record, but its file lies on another node: the one that took it in");
        }
        return Response.ok(bytes)
                .header("Content-Type", artifact.type() == null ? "application/octet-stream" : artifact.type())
                .header("Content-Length", artifact.size())
                .header("Content-Disposition", "attachment; filename=\"" + artifact.name() + "\"")
                .header("Fencepost-Sha256", artifact.sha256())
                // It was written by a stranger: no browser is to run or to guess it.
                .header("X-Content-Type-Options", "nosniff")
                .header("Content-Security-Policy", "sandbox; default-src 'none'")
                .header("Cache-Control", "no-store")
                .build();
    }

    static void checkName(String name) {
        if (!Artifact.NAME.matcher(name).matches()) {
            throw Problem.badRequest("the name of an artifact has 1 to 100 characters of A-Z a-z 0-9 . _ - and begins"
                    + " with a letter or digit, not " + Words.quoted(name));
        }
    }

    private static Grant grant(HttpServerRequest request, String id) {
        String owner = utf8(needed(request, "Fencepost-Owner"));
        String fence = needed(request, "Fencing-Token");
        String runId = needed(request, "Fencepost-Run-Id");
        if (Words.hasControls(owner)) {
            throw Problem.badRequest("Fencepost-Owner: it has a control character");
        }
        return new Grant(
                Requests.id(id),
                Requests.checked("Fencepost-Owner", () -> new Owner(owner)),
                token(fence),
                new RunId(Fields.uuid("Fencepost-Run-Id", runId)));
    }

    private static FencingToken token(String text) {
        if (!NUMBER.matcher(text).matches()) {
            throw Problem.badRequest(Words.quoted(text) + " is no fencing token, which is a positive whole number");
        }
        return Requests.checked("the fencing token", () -> new FencingToken(Long.parseLong(text)));
    }

    private static @Nullable String type(HttpServerRequest request, List<String> allowed) {
        String type = header(request, "Content-Type");
        if (type != null
                && (type.length() > Body.MAX_TYPE_LENGTH
                        || !MEDIA_TYPE.matcher(type).matches())) {
            throw Problem.badRequest("Content-Type: this is no media type");
        }
        if (!allowed.isEmpty() && (type == null || allowed.stream().noneMatch(each -> fits(type, each)))) {
            throw Problem.of(
                    415,
                    "Unsupported media type",
                    "artifacts of these types alone are taken here: " + String.join(", ", allowed));
        }
        return type;
    }

    /** @param allowed such as {@code text/plain} or {@code image/*} */
    private static boolean fits(String type, String allowed) {
        String plain = MEDIA_TYPE.matcher(type).replaceFirst("$1").toLowerCase(Locale.ROOT);
        String wanted = allowed.toLowerCase(Locale.ROOT);
        return wanted.endsWith("/*")
                ? plain.startsWith(wanted.substring(0, wanted.length() - 1))
                : plain.equals(wanted);
    }

    private static void checkLength(HttpServerRequest request, Intake limits) {
        String length = header(request, "Content-Length");
        if (length == null) {
            return; // it is counted while it comes
        }
        if (!length.matches("[0-9]+")) {
            throw Problem.badRequest("Content-Length: this is no number");
        }
        if (length.length() > 18 || Long.parseLong(length) > limits.most()) {
            throw limits.tooLarge();
        }
    }

    private static String needed(HttpServerRequest request, String name) {
        String value = header(request, name);
        if (value == null) {
            throw Problem.badRequest("the header " + name + " is missing");
        }
        return value;
    }

    private static @Nullable String header(HttpServerRequest request, String name) {
        List<String> values = request.headers().getAll(name);
        if (values.size() > 1) {
            throw Problem.badRequest("the header " + name + " is given twice");
        }
        return values.isEmpty() ? null : values.getFirst().strip();
    }

    /** Headers come as ISO 8859-1, byte for byte; an owner is written in UTF-8 everywhere else. */
    private static String utf8(String value) {
        try {
            return StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(value.getBytes(StandardCharsets.ISO_8859_1)))
                    .toString();
        } catch (CharacterCodingException e) {
            throw Problem.badRequest("a header is not UTF-8");
        }
    }
}
