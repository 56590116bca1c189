package dev.fencepost.edge.config;

import dev.fencepost.edge.config.EndpointReader.Address;
import dev.fencepost.run.Action;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.nodes.MappingNode;

/** Reads {@code http} of a job: a call of a service instead of a command. */
final class CallReader {

    private static final Duration NO_TIMEOUT = Duration.ofHours(24);
    private static final int LONGEST_BODY = 1 << 20;
    private static final List<String> VERBS = List.of("post", "put", "get");
    private static final List<String> METHODS = List.of("POST", "PUT", "PATCH", "DELETE", "GET");
    private static final List<String> OF_A_COMMAND = List.of("working-dir", "env", "env-file", "stdin", "run-as");
    private static final String EXAMPLE = "http: { post: \"https://HOST/PATH\" }";

    private final Section job;
    private final FileNames names;
    private final Values values;

    CallReader(Section job, FileNames names, Values values) {
        this.job = job;
        this.names = names;
        this.values = values.under("http");
    }

    /** The call, or null after an error. */
    Action.@Nullable HttpCall read(@Nullable Duration timeout) {
        for (String key : OF_A_COMMAND) {
            if (job.has(key)) {
                job.error(key, "this belongs to a command, and the job has http", "remove it");
            }
        }
        Section http = job.section("http", Keys.CALL, EXAMPLE);
        if (!(job.value("http") instanceof MappingNode)) {
            return null;
        }
        if (http.has("timeout")) {
            http.error("timeout", "a call has no limit of its own", "write timeout: at the job itself");
        }
        EndpointReader reader = new EndpointReader(http, names, values);
        Called called = called(http, reader);
        Given<String> body = http.read("body", text -> {
            if (text.length() > LONGEST_BODY) {
                throw new BadValueException("the body is longer than 1 MiB", "shorten it");
            }
            return text;
        });
        if (called == null) {
            return null;
        }
        if (body != null && called.method.equals("GET")) {
            http.error("body", "a GET has no body", "write post: instead of get:, or remove the body");
        }
        values.add("body", body, Values::shown, "empty");
        return new Action.HttpCall(
                reader.endpoint(called.method, called.address, timeout == null ? NO_TIMEOUT : timeout),
                body == null ? null : body.value());
    }

    private record Called(String method, Address address) {}

    private @Nullable Called called(Section http, EndpointReader reader) {
        if (http.has("url")) {
            http.error("url", "the URL stands at its method here", "write post: URL, put: URL or get: URL");
            return null;
        }
        List<String> written = VERBS.stream().filter(http::has).toList();
        if (written.size() + (http.has("url-file") ? 1 : 0) > 1) {
            String second = written.size() > 1 ? written.get(1) : "url-file";
            http.error(second, "there is more than one URL", "keep one of post, put, get and url-file");
            return null;
        }
        if (!written.isEmpty()) {
            if (http.has("method")) {
                http.error("method", "the method stands at the URL already", "remove it");
            }
            String verb = written.getFirst();
            Address address = reader.addressOf(verb);
            return address == null ? null : new Called(verb.toUpperCase(Locale.ROOT), address);
        }
        if (!http.has("url-file")) {
            if (VERBS.stream().noneMatch(http::isMisspelt) && !http.isMisspelt("url-file")) {
                job.error("http", "there is no URL", "write " + EXAMPLE + ", or url-file: FILE and method: POST");
            }
            return null;
        }
        Given<String> method = reader.method(METHODS, "POST");
        values.add("method", method, text -> text);
        Address address = reader.addressOfFile();
        return address == null ? null : new Called(method.value(), address);
    }
}
