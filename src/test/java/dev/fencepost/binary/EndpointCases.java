package dev.fencepost.binary;

import java.util.List;
import java.util.Map;

/** A call of each endpoint, in an order in which one can build on what another left. A test compares the list with the program. */
public final class EndpointCases {

    private EndpointCases() {}

    /** Who calls. */
    enum As {
        ANYBODY,
        /** With a token in a header. */
        CLIENT,
        /** With the cookie of a login. */
        PERSON
    }

    /**
     * @param route method and path, as the program declares them
     * @param address as it is called; SLOT and ASSET, and RUN in the body, stand for what the test knows
     * @param body of a request of a client JSON, with ' for "; of a person what is behind the hidden token of the form
     * @param expected a text in the answer
     */
    public record Case(
            String route,
            As as,
            String address,
            Map<String, String> headers,
            String body,
            int status,
            String expected) {

        @Override
        public String toString() {
            return route + " " + address;
        }

        String method() {
            return route.substring(0, route.indexOf(' '));
        }

        boolean isStream() {
            return address.startsWith("/live");
        }
    }

    private static final Map<String, String> GRANT =
            Map.of("Fencepost-Owner", "a", "Fencing-Token", "1", "Fencepost-Run-Id", "RUN");

    private static Case open(String address, String expected) {
        return new Case("GET " + address, As.ANYBODY, address, Map.of(), "", 200, expected);
    }

    private static Case page(String path, String address, String expected) {
        return new Case("GET " + path, As.PERSON, address, Map.of(), "", 200, expected);
    }

    private static Case form(String path, String address, String more, int status, String expected) {
        return new Case("POST " + path, As.PERSON, address, Map.of(), more, status, expected);
    }

    private static Case api(String route, String address, String body, int status, String expected) {
        return new Case(route, As.CLIENT, address, Map.of(), body, status, expected);
    }

    private static final String WORK = "/api/v1/work";
    private static final String ITEM = WORK + "/items/{id}";

    public static final List<Case> ALL = List.of(
            // What the libraries serve.
            open("/q/health", "\"status\": \"UP\""),
            open("/q/health/live", "loops"),
            open("/q/health/ready", "store"),
            open("/q/health/started", "UP"),
            open("/q/health/group/fresh", "fresh"),
            open("/q/metrics", "scheduled_executed_total"),
            open("/q/openapi", "openapi:"),
            // The page.
            new Case("GET /login", As.ANYBODY, "/login", Map.of(), "", 200, "Log in"),
            new Case("POST /login", As.ANYBODY, "/login", Map.of(), "token=nobody&next=/", 401, "Not logged in"),
            page("/", "/", "tick"),
            page("/jobs/{job}", "/jobs/tick", "SUCCEEDED"),
            page("/jobs/{job}/ticks/{slot:.+}", "/jobs/tick/ticks/SLOT", "SUCCEEDED"),
            page("/jobs/{job}/{what:output|result}/{slot:.+}", "/jobs/tick/output/SLOT", "hello"),
            page("/waiting", "/waiting", "Waiting"),
            page("/queues", "/queues", "queue"),
            page("/assets/{digest}/{name}", "ASSET", "EventSource"),
            page("/live", "/live", "data:"),
            page("/live/waiting", "/live/waiting", "data:"),
            page("/live/jobs/{job}", "/live/jobs/tick", "data:"),
            page("/live/jobs/{job}/ticks/{slot:.+}", "/live/jobs/tick/ticks/SLOT", "data:"),
            form("/jobs/{job}/pause", "/jobs/tick/pause", "&for=HOUR&reason=a+look", 303, ""),
            form("/jobs/{job}/resume", "/jobs/tick/resume", "&reason=", 303, ""),
            form("/jobs/{job}/trigger", "/jobs/slow/trigger", "&reason=", 303, ""),
            form("/jobs/{job}/cancel", "/jobs/slow/cancel", "&reason=", 303, ""),
            form("/waiting/resolve", "/waiting/resolve", "&key=x&order=confirmed&reason=seen", 403, ""),
            // The API.
            api("POST " + WORK + "/items", WORK + "/items", "{'id':'one','payload':'x'}", 201, "\"READY\""),
            api("GET " + WORK + "/items", WORK + "/items?state=ready", "", 200, "\"one\""),
            api("GET " + ITEM, WORK + "/items/one", "", 200, "\"READY\""),
            api("POST " + ITEM + "/claim", WORK + "/items/one/claim", "{'owner':'a','ttl':'10m'}", 200, "\"fence\":1"),
            api(
                    "POST " + ITEM + "/renew",
                    WORK + "/items/one/renew",
                    "{'owner':'a','fence':1,'run_id':'RUN','ttl':'10m'}",
                    200,
                    "\"CLAIMED\""),
            new Case(
                    "PUT " + ITEM + "/artifacts/{name}",
                    As.CLIENT,
                    WORK + "/items/one/artifacts/f",
                    GRANT,
                    "text",
                    201,
                    ""),
            api("GET " + ITEM + "/artifacts", WORK + "/items/one/artifacts", "", 200, "\"sha256\""),
            api("GET " + ITEM + "/artifacts/{fence}/{name}", WORK + "/items/one/artifacts/1/f", "", 200, "text"),
            api(
                    "POST " + ITEM + "/release",
                    WORK + "/items/one/release",
                    "{'owner':'a','fence':1,'run_id':'RUN'}",
                    200,
                    "\"READY\""),
            api("POST " + WORK + "/claims", WORK + "/claims", "{'owner':'b','ttl':'10m'}", 200, "\"fence\":2"),
            api(
                    "POST " + ITEM + "/fail",
                    WORK + "/items/one/fail",
                    "{'owner':'a','fence':1,'run_id':'RUN','reason':'late'}",
                    409,
                    "STALE_TOKEN"),
            api(
                    "POST " + WORK + "/completions",
                    WORK + "/completions",
                    "{'results':[{'id':'one','owner':'b','fence':2,'run_id':'RUN','result':'y'}]}",
                    200,
                    "\"DONE\""),
            api(
                    "POST " + ITEM + "/complete",
                    WORK + "/items/one/complete",
                    "{'owner':'b','fence':2,'run_id':'RUN','result':'y'}",
                    409,
                    "ALREADY_DONE"),
            api("GET " + WORK + "/queues", WORK + "/queues", "", 200, "\"default\""),
            page("/queues/{queue}", "/queues/default", "default"),
            api("PUT " + WORK + "/queues/{queue}", WORK + "/queues/default", "{'capacity':3}", 200, "3"),
            api("POST " + WORK + "/prune", WORK + "/prune", "{'older_than':'30d'}", 200, "\"more\":false"),
            form("/logout", "/logout", "", 303, ""));
}
