package dev.fencepost.edge.web;

import dev.fencepost.edge.web.TokenFile.BadFile;
import dev.fencepost.edge.web.TokenFile.Content;
import dev.fencepost.edge.web.TokenFile.Stamp;
import dev.fencepost.host.Event;
import dev.fencepost.host.Journal;
import dev.fencepost.host.Time;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The bearer tokens in force. The file is looked at when a token is asked for, at most once a second, and read again when it has changed;
 * so tokens come and go without a restart. A new file that is no good leaves the old tokens in force and is told once. Safe for use by
 * many threads.
 */
public final class Tokens {

    private static final long LOOK_MILLIS = 1_000;

    /** A file so young may be changed once more without a change of its stamp. */
    private static final Duration YOUNG = Duration.ofSeconds(2);

    private final TokenFile file;
    private final Time time;
    private final Journal journal;
    private volatile List<Token> tokens;
    private @Nullable Stamp seen;
    private boolean seenYoung;
    private @Nullable String told;
    private long lookedAt;

    private Tokens(TokenFile file, Content content, Time time, Journal journal) {
        this.file = file;
        this.time = time;
        this.journal = journal;
        this.tokens = content.tokens();
        remember(content.stamp());
        this.lookedAt = time.bootMillis();
    }

    /**
     * Reads the file for the first time.
     *
     * @throws IllegalArgumentException if it is no good; the message says why and names the line, never what stands in it
     */
    public static Tokens open(Path path, Time time, Journal journal) {
        TokenFile file = new TokenFile(path);
        try {
            return new Tokens(file, file.read(), time, journal);
        } catch (BadFile e) {
            throw new IllegalArgumentException(e.getMessage(), e);
        }
    }

    /** Why a file cannot be used, or null if it can. */
    public static @Nullable String whyBad(Path path) {
        try {
            new TokenFile(path).read();
            return null;
        } catch (BadFile e) {
            return e.getMessage();
        }
    }

    /** The token with this text, be it expired or not; null if there is none. */
    public @Nullable Token find(String text) {
        lookAgain();
        if (text.length() > TokenFile.MOST_LENGTH) {
            return null;
        }
        byte[] digest = Token.digestOf(text);
        Token found = null;
        for (Token token : tokens) { // all of them, so that the time tells nothing
            found = token.hasDigest(digest) ? token : found;
        }
        return found;
    }

    /** The same token as it stands in the file now; null if it is gone, or has expired. */
    public @Nullable Token stillGood(Token token) {
        lookAgain();
        for (Token each : tokens) {
            if (each.hasDigest(token.digest()) && !isExpired(each)) {
                return each;
            }
        }
        return null;
    }

    public boolean isExpired(Token token) {
        return token.isExpiredAt(time.wallClock());
    }

    private synchronized void lookAgain() {
        long now = time.bootMillis();
        if (now - lookedAt < LOOK_MILLIS) {
            return;
        }
        lookedAt = now;
        try {
            Stamp stamp = file.stamp();
            if (stamp.equals(seen) && !seenYoung) {
                return;
            }
            boolean changed = !stamp.equals(seen);
            remember(stamp); // a bad file is not read again before it changes
            Content content = file.read();
            remember(content.stamp());
            tokens = content.tokens();
            if (changed || told != null) {
                journal.record(new Event.Note(null, "token file read again: " + tokens.size() + " tokens"));
            }
            told = null;
        } catch (BadFile e) {
            String why = String.valueOf(e.getMessage());
            if (!why.equals(told)) {
                told = why;
                journal.record(new Event.Problem(
                        "api", null, null, null, "the tokens read before stay in force, since " + why, null));
            }
        }
    }

    private void remember(Stamp stamp) {
        seen = stamp;
        Instant modified = stamp.modified().toInstant();
        seenYoung = modified.plus(YOUNG).isAfter(time.wallClock());
    }
}
