package dev.fencepost.edge.web;

import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import jakarta.ws.rs.core.Response;

/** How a problem is told to a person at a browser, instead of by a problem document. */
public interface ProblemPage {

    boolean isFor(HttpServerRequest request);

    Response response(Problem problem, HttpServerRequest request);

    void send(HttpServerResponse response, Problem problem);
}
