package dev.fencepost.edge.web.page;

import dev.fencepost.edge.web.Problem;
import dev.fencepost.edge.web.ProblemPage;
import io.quarkus.qute.TemplateInstance;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import jakarta.inject.Singleton;
import jakarta.ws.rs.core.Response;
import jakarta.ws.rs.core.Response.ResponseBuilder;
import java.util.Map;
import org.jboss.resteasy.reactive.server.ServerExceptionMapper;

/** Answers in HTML, with the headers that keep everything foreign out: nothing inline, no other host, no frame around it. */
@Singleton
public class Html implements ProblemPage {

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

    static Response page(TemplateInstance template) {
        return page(200, template);
    }

    static Response page(int status, TemplateInstance template) {
        ResponseBuilder response =
                Response.status(status).entity(template.render()).type(TYPE);
        HEADERS.forEach(response::header);
        return response.build();
    }

    /** To this page of ours, by GET. @param address from its first slash */
    static Response seeOther(String address) {
        // As it is: made absolute it would have the scheme that a proxy speaks with us, and not the browser's.
        ResponseBuilder response = Response.status(303).header("Location", address);
        HEADERS.forEach(response::header);
        return response.build();
    }

    @ServerExceptionMapper
    public Response loginNeeded(LoginNeeded needed) {
        return seeOther(LoginResource.address(needed.wanted()));
    }

    @Override
    public boolean isFor(HttpServerRequest request) {
        String path = request.path() == null ? "" : request.path();
        return !path.startsWith("/api/") && !path.startsWith("/q/");
    }

    @Override
    public Response response(Problem problem, HttpServerRequest request) {
        Response page = page(problem.status(), trouble(problem));
        if (problem.retryAfterSeconds() == 0) {
            return page;
        }
        ResponseBuilder response = Response.fromResponse(page).header("Retry-After", problem.retryAfterSeconds());
        if (problem.status() == 503 && request.method() == HttpMethod.GET) {
            response.header(
                    "Refresh", problem.retryAfterSeconds()); // so it comes back by itself, without the script too
        }
        return response.build();
    }

    @Override
    public void send(HttpServerResponse response, Problem problem) {
        HEADERS.forEach(response::putHeader);
        response.setStatusCode(problem.status())
                .putHeader("Content-Type", TYPE)
                .end(trouble(problem).render());
    }

    private static TemplateInstance trouble(Problem problem) {
        String detail = problem.status() == 404 ? "There is nothing at this address." : sentence(problem.detail());
        return new Trouble(Frame.bare(problem.title()), problem.status(), detail, problem.status() == 503);
    }

    private static String sentence(String text) {
        return text.isEmpty() ? "" : Character.toUpperCase(text.charAt(0)) + text.substring(1) + ".";
    }

    /** @param passes whether it may be over when one looks again */
    record Trouble(Frame frame, int status, String detail, boolean passes) implements TemplateInstance {}
}
