package dev.fencepost.edge.web;

import dev.fencepost.host.Event;
import dev.fencepost.lease.StoreException;
import io.quarkus.vertx.http.runtime.filters.Filters;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.ext.web.RoutingContext;
import jakarta.enterprise.event.Observes;
import jakarta.inject.Singleton;
import jakarta.ws.rs.WebApplicationException;
import jakarta.ws.rs.core.Response;
import jakarta.ws.rs.core.Response.ResponseBuilder;
import org.jboss.resteasy.reactive.server.ServerExceptionMapper;
import org.jspecify.annotations.Nullable;

/** Makes a problem document of whatever went wrong. No stack trace, name of a class or text of a library leaves the house. */
@Singleton
public class Problems {

    private static final String PROBLEM_JSON = "application/problem+json";
    private static final String FORM_READER = "org.jboss.resteasy.reactive.server.core.multipart.";
    private static final int BROKEN = 500;
    private static final int MOST_ADDRESS = 4_000;
    private static final int MOST_FORM = 64 << 10;
    private static final int FIRST = 1_000;
    private static final long LINGER_MILLIS = 2_000;

    private final Api api;
    private final ProblemPage page;

    Problems(Api api, ProblemPage page) {
        this.api = api;
        this.page = page;
    }

    /**
     * An address that is too long gets no further. The server's own limit, whose answer has no body, lies far above this one. Nor does a
     * form that is larger than any of the page's, or does not say how large it is: it would be read into memory.
     */
    void limit(@Observes Filters filters) {
        filters.register(
                context -> {
                    Problem problem = whyTooLarge(context.request());
                    if (problem == null) {
                        context.next();
                    } else {
                        answer(context, problem);
                    }
                },
                FIRST);
    }

    private @Nullable Problem whyTooLarge(HttpServerRequest request) {
        if (request.uri().length() > MOST_ADDRESS) {
            return Problem.of(414, "URI too long", "the address has more than " + MOST_ADDRESS + " characters");
        }
        if (!page.isFor(request)) {
            return null;
        }
        String length = request.getHeader("Content-Length");
        if (length == null) {
            return request.getHeader("Transfer-Encoding") == null
                    ? null
                    : Problem.of(411, "Length required", "a form has to say how long it is, by Content-Length");
        }
        return length.matches("\\d{1,5}") && Integer.parseInt(length) <= MOST_FORM
                ? null
                : Problem.tooLarge("a form has at most " + MOST_FORM + " bytes");
    }

    private void answer(RoutingContext context, Problem problem) {
        linger(context);
        if (page.isFor(context.request())) {
            page.send(context.response(), problem);
            return;
        }
        context.response()
                .setStatusCode(problem.status())
                .putHeader("Content-Type", PROBLEM_JSON)
                .putHeader("Cache-Control", "no-store")
                .end(Buffer.buffer(Forms.bytes(Forms.problem(problem))));
    }

    @ServerExceptionMapper
    public Response refused(Problem problem, RoutingContext request) {
        linger(request);
        return response(problem, request);
    }

    @ServerExceptionMapper
    public Response storeFailed(StoreException e, RoutingContext request) {
        linger(request);
        return switch (e.kind()) {
            case UNAVAILABLE ->
                response(
                        Problem.unavailable("the store does not answer; nothing was written. Try again later", 5),
                        request);
            case AMBIGUOUS -> response(Requests.unsaid("; it may have. Look before you try again"), request);
            case BROKEN -> broken(e, request);
        };
    }

    /** What Quarkus says of requests that reach no method. */
    @ServerExceptionMapper
    public Response notServed(WebApplicationException e, RoutingContext request) {
        linger(request);
        int status = e.getResponse().getStatus();
        if (status >= BROKEN) {
            return broken(e, request);
        }
        if (status < 400) {
            return e.getResponse();
        }
        boolean isPage = page.isFor(request.request());
        ResponseBuilder response = Response.fromResponse(response(
                switch (status) {
                    case 404 ->
                        Problem.notFound(
                                "there is nothing at this address" + (isPage ? "" : "; /q/openapi says what there is"));
                    case 405 -> Problem.of(405, "Method not allowed", "this address has no such method");
                    case 406 ->
                        Problem.of(
                                406,
                                "Not acceptable",
                                "answers are " + (isPage ? "text/html" : "application/json") + " here");
                    case 415 ->
                        Problem.of(
                                415,
                                "Unsupported media type",
                                "send Content-Type: "
                                        + (isPage ? "application/x-www-form-urlencoded" : "application/json"));
                    default -> Problem.of(status, "Refused", "the request cannot be served as it is");
                },
                request));
        String allow = e.getResponse().getHeaderString("Allow");
        return allow == null
                ? response.build()
                : response.header("Allow", allow).build();
    }

    @ServerExceptionMapper
    public Response failed(Throwable e, RoutingContext request) {
        linger(request);
        return isBadForm(e)
                ? response(Problem.badRequest("the form cannot be read, or has more than 1000 fields"), request)
                : broken(e, request);
    }

    /** The reader of forms has no exception of its own for what it refuses; it is not to fill the log with errors of ours. */
    private static boolean isBadForm(Throwable e) {
        StackTraceElement[] trace = e.getStackTrace();
        return trace.length > 0 && trace[0].getClassName().startsWith(FORM_READER);
    }

    private Response broken(Throwable e, RoutingContext request) {
        api.record(new Event.Problem("api", null, null, null, "a request failed", e));
        return response(
                Problem.of(BROKEN, "Internal server error", "this is an error of the server; its log says more"),
                request);
    }

    /**
     * An answer may come before the body was read. Then the rest is thrown away, so that a client that sends first and reads later comes to
     * see the answer; but not for long: nobody waits here for the end of 4 GiB.
     */
    private static void linger(RoutingContext context) {
        context.addEndHandler(answered -> {
            HttpServerRequest request = context.request();
            if (request.isEnded()) {
                return;
            }
            request.handler(rest -> {});
            request.resume();
            context.vertx().setTimer(LINGER_MILLIS, timer -> {
                if (!request.isEnded()) {
                    request.connection().close();
                }
            });
        });
    }

    private Response response(Problem problem, RoutingContext request) {
        if (page.isFor(request.request())) {
            return page.response(problem, request.request());
        }
        ResponseBuilder response = Response.status(problem.status())
                .entity(Forms.bytes(Forms.problem(problem)))
                .type(PROBLEM_JSON)
                .header("Cache-Control", "no-store");
        if (problem.challenge() != null) {
            response.header("WWW-Authenticate", problem.challenge());
        }
        if (problem.retryAfterSeconds() > 0) {
            response.header("Retry-After", problem.retryAfterSeconds());
        }
        return response.build();
    }
}
