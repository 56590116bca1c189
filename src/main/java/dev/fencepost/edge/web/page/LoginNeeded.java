package dev.fencepost.edge.web.page;

import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;

/** Nobody is logged in: the browser is shown the way to the login, and back. */
final class LoginNeeded extends RuntimeException {

    private static final long serialVersionUID = 1L;

    private final String wanted;
    private final boolean live;

    private LoginNeeded(String wanted, boolean live) {
        super("login needed", null, false, false);
        this.wanted = wanted;
        this.live = live;
    }

    /** After the login a page is shown: for a form the one above its address, since the form has to be filled in anew. */
    static LoginNeeded of(HttpServerRequest request) {
        String address = request.uri();
        boolean looks =
                request.method().equals(HttpMethod.GET) || request.method().equals(HttpMethod.HEAD);
        if (!looks) {
            String path = request.path() == null ? "/" : request.path();
            address = path.substring(0, Math.max(0, path.lastIndexOf('/')));
        }
        return new LoginNeeded(address.isEmpty() ? "/" : address, isLive(address));
    }

    private static boolean isLive(String address) {
        return address.equals("/live") || address.startsWith("/live/") || address.startsWith("/live?");
    }

    /** Whether events were asked for: a browser would follow to the login page and wonder. */
    boolean isLive() {
        return live;
    }

    String wanted() {
        return wanted;
    }
}
