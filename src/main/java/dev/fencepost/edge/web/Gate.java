package dev.fencepost.edge.web;

import dev.fencepost.host.Event;
import dev.fencepost.host.Journal;
import java.util.List;
import java.util.Locale;

/** Lets in who shows a good token with the scope that a call needs. It looks at headers alone, before any body is read. */
final class Gate {

    private static final String SCHEME = "bearer ";

    private final Tokens tokens;
    private final FailedLogins failedLogins;
    private final Journal journal;

    Gate(Tokens tokens, FailedLogins failedLogins, Journal journal) {
        this.tokens = tokens;
        this.failedLogins = failedLogins;
        this.journal = journal;
    }

    /**
     * @param authorization all headers of this name
     * @param address of the other side
     * @return the token's name
     * @throws Problem 401 without a good token, 403 if it lacks the scope, 429 after too many failed logins
     */
    String admit(List<String> authorization, String address, Scope scope) {
        if (authorization.isEmpty()) {
            throw Problem.unauthorized("this needs a token: send the header Authorization: Bearer TOKEN");
        }
        String shown = authorization.getFirst();
        boolean wellFormed =
                authorization.size() == 1 && shown.toLowerCase(Locale.ROOT).startsWith(SCHEME);
        Token token = wellFormed ? tokens.find(shown.substring(SCHEME.length()).strip()) : null;
        long waitMillis = failedLogins.waitMillis(address);
        if (waitMillis > 0 && (token == null || !failedLogins.wasGood(address, token.name()))) {
            throw Problem.tooManyRequests("too many failed logins from this address", Math.ceilDiv(waitMillis, 1_000L));
        }
        if (token == null || tokens.isExpired(token)) {
            if (failedLogins.failed(address)) {
                journal.record(new Event.Note(
                        null,
                        "api: " + FailedLogins.MOST + " failed logins from " + address
                                + ", it has to wait until the minute is over"));
            }
            throw Problem.badToken(
                    token != null
                            ? "the token has expired"
                            : wellFormed
                                    ? "the token is unknown"
                                    : "the header Authorization has the form: Bearer TOKEN, once");
        }
        failedLogins.succeeded(address, token.name());
        if (!token.scopes().contains(scope)) {
            throw Problem.forbidden("the token " + token.name() + " lacks the scope " + scope.word());
        }
        return token.name();
    }
}
