package dev.fencepost.edge.web.page;

import dev.fencepost.Store;
import dev.fencepost.edge.web.FailedLogins;
import dev.fencepost.edge.web.Problem;
import dev.fencepost.edge.web.Scope;
import dev.fencepost.edge.web.Token;
import dev.fencepost.edge.web.Tokens;
import dev.fencepost.edge.web.TrustedProxies;
import dev.fencepost.host.AddressRange;
import dev.fencepost.host.Entropy;
import dev.fencepost.host.Event;
import dev.fencepost.host.Journal;
import dev.fencepost.host.Time;
import io.vertx.core.http.Cookie;
import io.vertx.core.http.HttpServerRequest;
import jakarta.inject.Singleton;
import java.net.URI;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The page's door: who may look, who may press a button. With a token file everybody logs in; without one the page is there for whoever is
 * on this machine, for looking only, and is asked for by a name of this machine: a name that somebody else's site points here is refused.
 */
@Singleton
public class Page {

    static final String COOKIE = "fencepost";

    private static final Set<String> LOOPBACK = Set.of("localhost", "127.0.0.1", "[::1]");

    private volatile @Nullable Open open;
    private volatile boolean stopping;

    /**
     * What the page works with.
     *
     * @param jobs of the file in force, in its order
     * @param ready whether the store has been reached and prepared
     * @param tokens null where there is no token file
     * @param trustedProxies whose word on client and scheme is taken
     * @param nodeId of this node
     * @param renewals of the leases of this node's runs
     */
    public record Parts(
            Store store,
            Supplier<List<Configured>> jobs,
            BooleanSupplier ready,
            @Nullable Tokens tokens,
            List<AddressRange> trustedProxies,
            Outputs outputs,
            String nodeId,
            Time time,
            Entropy entropy,
            Journal journal,
            RecentRenewals renewals) {

        public Parts {
            trustedProxies = List.copyOf(trustedProxies);
        }
    }

    /** @param sessions null where there is no token file */
    record Open(
            Parts parts, @Nullable Sessions sessions, FailedLogins failedLogins, TrustedProxies proxies, Board board) {

        Store store() {
            return parts.store();
        }

        /** The job of the file with this id; null if it has none. */
        @Nullable
        Configured job(String id) {
            return parts.jobs().get().stream()
                    .filter(each -> each.job().id().equals(id))
                    .findFirst()
                    .orElse(null);
        }
    }

    /** From now on the page is there. */
    public void open(Parts parts) {
        stopping = false;
        open = new Open(
                parts,
                parts.tokens() == null ? null : new Sessions(parts.tokens(), parts.time(), parts.entropy()),
                new FailedLogins(parts.time()),
                new TrustedProxies(parts.trustedProxies()),
                new Board(parts));
    }

    /** The service drains: whoever follows something is let go. */
    public void stop() {
        stopping = true;
    }

    boolean isStopping() {
        return stopping;
    }

    Open opened() {
        Open now = open;
        if (now == null) {
            throw Problem.unavailable("the service is starting; this page comes back by itself", 1);
        }
        return now;
    }

    /**
     * Lets a look in.
     *
     * @throws Problem 403 for a name of this machine that is none
     * @throws LoginNeeded without a session
     */
    Visit visit(HttpServerRequest request) {
        Open now = opened();
        Sessions sessions = now.sessions();
        if (sessions == null) {
            checkHost(request);
            return new Visit(now, null);
        }
        Session session = session(sessions, request);
        if (session == null) {
            throw new LoginNeeded(request.uri());
        }
        return new Visit(now, session);
    }

    /** The same for a form, which has to come from a page of ours. */
    Visit order(HttpServerRequest request) {
        checkOrigin(request);
        return visit(request);
    }

    static @Nullable String sessionId(HttpServerRequest request) {
        Cookie cookie = request.getCookie(COOKIE);
        return cookie == null ? null : cookie.getValue();
    }

    private static @Nullable Session session(Sessions sessions, HttpServerRequest request) {
        String id = sessionId(request);
        return id == null ? null : sessions.find(id);
    }

    private static void checkHost(HttpServerRequest request) {
        String host = request.authority() == null ? "" : request.authority().host();
        if (!LOOPBACK.contains(host.toLowerCase(Locale.ROOT)) && !LOOPBACK.contains("[" + host + "]")) {
            throw Problem.forbidden(
                    "without tokens this page is for this machine alone: call it localhost or 127.0.0.1");
        }
    }

    /**
     * A browser says where a form comes from: by Sec-Fetch-Site, and by Origin where it is too old for that, or the address is no safe one.
     * What says neither is no browser, and the form's token decides.
     */
    static void checkOrigin(HttpServerRequest request) {
        String site = request.getHeader("Sec-Fetch-Site");
        if (site != null) {
            if (!site.equals("same-origin") && !site.equals("none")) {
                throw foreign();
            }
            return;
        }
        String origin = request.getHeader("Origin");
        if (origin == null) {
            return;
        }
        String host = request.getHeader("Host");
        String from;
        try {
            from = URI.create(origin).getAuthority();
        } catch (IllegalArgumentException noAddress) {
            throw foreign();
        }
        if (from == null || !from.equalsIgnoreCase(host)) {
            throw foreign();
        }
    }

    private static Problem foreign() {
        return Problem.forbidden("this form was sent by a page of another site. Nothing was changed");
    }

    /** Whether the visitor came by https, as far as that can be known; the cookie is then for https alone. */
    boolean isSecure(HttpServerRequest request) {
        String peer = request.remoteAddress() == null
                ? ""
                : String.valueOf(request.remoteAddress().hostAddress());
        return request.isSSL()
                || (opened().proxies().isTrusted(peer)
                        && "https".equalsIgnoreCase(request.getHeader("X-Forwarded-Proto")));
    }

    /**
     * @param text of the token
     * @return the id of the new session
     * @throws Problem 401, or 429 after too many failed logins from this address
     */
    String logIn(HttpServerRequest request, String text) {
        Open now = opened();
        Tokens tokens = now.parts().tokens();
        Sessions sessions = now.sessions();
        if (tokens == null || sessions == null) {
            throw Problem.notFound("there is no token file, so there is no login");
        }
        Token token = tokens.find(text.strip());
        if (token != null && !tokens.isExpired(token)) {
            if (!token.scopes().contains(Scope.READ)) {
                throw Problem.forbidden("the token " + token.name() + " lacks the scope " + Scope.READ.word());
            }
            now.parts().journal().record(new Event.Note(null, "page: login of " + token.name()));
            return sessions.begin(token);
        }
        String address = now.proxies()
                .client(
                        request.remoteAddress() == null
                                ? "unknown"
                                : String.valueOf(request.remoteAddress().hostAddress()),
                        request.headers().getAll(TrustedProxies.HEADER));
        long waitMillis = now.failedLogins().waitMillis(address);
        if (waitMillis > 0) {
            throw Problem.tooManyRequests(
                    "too many failed logins from this address; wait a minute", Math.ceilDiv(waitMillis, 1_000L));
        }
        if (now.failedLogins().failed(address)) {
            now.parts()
                    .journal()
                    .record(new Event.Note(null, "page: " + FailedLogins.MOST + " failed logins from " + address));
        }
        throw Problem.of(
                401,
                "Not logged in",
                token == null ? "there is no such token in the token file" : "this token has expired");
    }

    void logOut(HttpServerRequest request) {
        Sessions sessions = opened().sessions();
        String id = sessionId(request);
        if (sessions != null && id != null) {
            sessions.end(id);
        }
    }
}
