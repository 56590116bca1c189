package dev.fencepost.edge.web;

import dev.fencepost.host.Event;
import dev.fencepost.host.Journal;
import java.util.List;
import java.util.Locale;
import java.util.function.Supplier;

/**
 * Lets in who shows a good token with the scope that a call needs. It looks at headers alone, before any body is read.
 *
 * <p>A good token is let in whoever else fails from the same address, which may be a proxy's: nobody guesses one of 32 characters at
 * least. The limit of failures is against those who try all the same, and against what they would write into the log.
 */
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
     * @param address of the other side; asked for after a failure alone
     * @return the token's name
     * @throws Problem 401 without a good token, 403 if it lacks the scope, 429 instead of 401 after too many failed logins
     */
    String admit(List<String> authorization, Supplier<String> address, Scope scope) {
        if (authorization.isEmpty()) {
            throw Problem.unauthorized("this needs a token: send the header Authorization: Bearer TOKEN");
        }
        String shown = authorization.getFirst();
        boolean wellFormed =
                authorization.size() == 1 && shown.toLowerCase(Locale.ROOT).startsWith(SCHEME);
        Token token = wellFormed ? tokens.find(shown.substring(SCHEME.length()).strip()) : null;
        if (token == null || tokens.isExpired(token)) {
            throw refused(
                    address.get(),
                    token != null
                            ? "the token has expired"
                            : wellFormed
                                    ? "the token is unknown"
                                    : "the header Authorization has the form: Bearer TOKEN, once");
        }
        if (!token.scopes().contains(scope)) {
            throw Problem.forbidden("the token " + token.name() + " lacks the scope " + scope.word());
        }
        return token.name();
    }

    private Problem refused(String address, String why) {
        long waitMillis = failedLogins.waitMillis(address);
        if (waitMillis > 0) {
            return Problem.tooManyRequests(
                    "too many failed logins from this address", Math.ceilDiv(waitMillis, 1_000L));
        }
        if (failedLogins.failed(address)) {
            journal.record(new Event.Note(
                    null,
                    "api: " + FailedLogins.MOST + " failed logins from " + address
                            + "; until the minute is over its bad tokens are not looked at one by one"));
        }
        return Problem.badToken(why);
    }
}
