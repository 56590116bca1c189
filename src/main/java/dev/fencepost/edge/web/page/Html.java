package dev.fencepost.edge.web.page;

import dev.fencepost.edge.web.Problem;
import dev.fencepost.edge.web.ProblemPage;
import io.quarkus.qute.TemplateInstance;
import io.quarkus.vertx.http.runtime.filters.Filters;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import jakarta.enterprise.event.Observes;
import jakarta.inject.Singleton;
import jakarta.ws.rs.core.Response;
import jakarta.ws.rs.core.Response.ResponseBuilder;
import java.util.Map;
import org.jboss.resteasy.reactive.server.ServerExceptionMapper;

/** Answers in HTML, with the headers that keep everything foreign out: nothing inline, no other host, no frame around it. */
@Singleton
public class Html implements ProblemPage {

    private static final int BEFORE_ALL_OTHERS = 2_000;
    private static final int AWAY = 503;
    private static final int REFRESH_SECONDS = 5;

    static final String TYPE = "text/html;charset=UTF-8";

    /** Of every page. */
    static final Map<String, String> HEADERS = Map.of(
            "Content-Security-Policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
                    + " form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
            "X-Content-Type-Options",
            "nosniff",
            "X-Frame-Options",
            "DENY",
            "Referrer-Policy",
            "same-origin",
            "Cross-Origin-Opener-Policy",
            "same-origin",
            "Cross-Origin-Resource-Policy",
            "same-origin",
            "Permissions-Policy",
            "camera=(), geolocation=(), microphone=()",
            "Cache-Control",
            "no-store");

    /** Also of what no page of ours answers: events, files, and what the server refuses by itself. */
    void addHeaders(@Observes Filters filters) {
        filters.register(
                context -> {
                    if (isFor(context.normalizedPath())) {
                        HEADERS.forEach(context.response()::putHeader);
                        if (context.normalizedPath().startsWith(LiveResource.ADDRESS)) {
                            context.response().putHeader("X-Accel-Buffering", "no"); // nginx would keep events back
                        }
                        if (context.request().uri().startsWith(AssetResource.ADDRESS + "/")) {
                            context.response().headers().remove("Cache-Control"); // a browser keeps them
                        }
                    }
                    context.next();
                },
                BEFORE_ALL_OTHERS);
    }

    static Response page(TemplateInstance template) {
        return page(200, template);
    }

    static Response page(int status, TemplateInstance template) {
        return Response.status(status).entity(template.render()).type(TYPE).build();
    }

    /** To this page of ours, by GET. @param address from its first slash */
    static Response seeOther(String address) {
        // As it is: made absolute it would have the scheme that a proxy speaks with us, and not the browser's.
        return Response.status(303).header("Location", address).build();
    }

    @ServerExceptionMapper
    public Response loginNeeded(LoginNeeded needed) {
        return needed.isLive() ? Response.status(401).build() : seeOther(LoginResource.address(needed.wanted()));
    }

    @Override
    public boolean isFor(HttpServerRequest request) {
        String path = request.path();
        return isFor(path == null ? "" : path);
    }

    private static boolean isFor(String path) {
        return !path.startsWith("/api/") && !path.startsWith("/q/");
    }

    @Override
    public Response response(Problem problem, HttpServerRequest request) {
        ResponseBuilder response = Response.fromResponse(page(problem.status(), trouble(problem)));
        if (problem.retryAfterSeconds() > 0) {
            response.header("Retry-After", problem.retryAfterSeconds());
        }
        if (problem.status() == AWAY && request.method().equals(HttpMethod.GET)) {
            response.header("Refresh", REFRESH_SECONDS); // it comes back by itself
        }
        return response.build();
    }

    @Override
    public void send(HttpServerResponse response, Problem problem) {
        response.setStatusCode(problem.status())
                .putHeader("Content-Type", TYPE)
                .end(trouble(problem).render());
    }

    private static TemplateInstance trouble(Problem problem) {
        return new Trouble(Frame.bare(problem.title()), sentence(problem.detail()), problem.status() == AWAY);
    }

    private static String sentence(String text) {
        return text.isEmpty() ? "" : Character.toUpperCase(text.charAt(0)) + text.substring(1) + ".";
    }

    /** @param passes whether it may be over when one looks again */
    record Trouble(Frame frame, String detail, boolean passes) implements TemplateInstance {}
}
