package dev.fencepost.edge.web.page;

import dev.fencepost.Store;
import dev.fencepost.edge.web.FailedLogins;
import dev.fencepost.edge.web.Problem;
import dev.fencepost.edge.web.QueueCounts;
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
import java.net.InetAddress;
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

    /** Headers of whoever passes on what another one asks for. */
    private static final List<String> PASSED_ON =
            List.of("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP", "Via");

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
            Parts parts,
            @Nullable Sessions sessions,
            FailedLogins failedLogins,
            TrustedProxies proxies,
            Board board,
            Waiting waiting,
            QueueCounts counts) {

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
                new Board(parts),
                new Waiting(parts),
                new QueueCounts(parts.store(), parts.time()));
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
     * @throws Problem 403, without tokens, for a name that is none of this machine, or from elsewhere
     * @throws LoginNeeded without a session
     */
    Visit visit(HttpServerRequest request) {
        Open now = opened();
        Sessions sessions = now.sessions();
        if (sessions == null) {
            checkIsOfThisMachine(request);
            return new Visit(now, null, said(request));
        }
        Session session = session(sessions, request);
        if (session == null) {
            throw LoginNeeded.of(request);
        }
        return new Visit(now, session, said(request));
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

    private static @Nullable Said said(HttpServerRequest request) {
        try {
            return Said.of(request.getParam(Said.PARAMETER));
        } catch (IllegalArgumentException noQuery) {
            return null;
        }
    }

    /**
     * The name keeps out pages of others that a browser here has open; the peer, and that nobody passed the request on, keep out whoever is
     * elsewhere and claims that name.
     */
    private static void checkIsOfThisMachine(HttpServerRequest request) {
        String host = request.authority() == null ? "" : request.authority().host();
        InetAddress peer = AddressRange.literal(peer(request));
        boolean passedOn = PASSED_ON.stream().anyMatch(request.headers()::contains);
        if (passedOn || peer == null || !peer.isLoopbackAddress() || !LOOPBACK.contains(bracketed(host))) {
            throw Problem.forbidden("without tokens this page is for this machine alone, and is called localhost or"
                    + " 127.0.0.1 there. For all others name a token file in the jobs file: api: { token-file: FILE }");
        }
    }

    private static String bracketed(String host) {
        String lower = host.toLowerCase(Locale.ROOT);
        return lower.equals("::1") ? "[::1]" : lower;
    }

    private static String peer(HttpServerRequest request) {
        return request.remoteAddress() == null
                ? "unknown"
                : String.valueOf(request.remoteAddress().hostAddress());
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
        return request.isSSL()
                || (opened().proxies().isTrusted(peer(request))
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
            logOut(request); // a session that this browser had before ends
            now.parts().journal().record(new Event.Note(null, "page: login of " + token.name()));
            return sessions.begin(token);
        }
        String address = now.proxies().client(peer(request), request.headers().getAll(TrustedProxies.HEADER));
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
