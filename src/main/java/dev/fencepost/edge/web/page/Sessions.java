package dev.fencepost.edge.web.page;

import dev.fencepost.edge.web.Token;
import dev.fencepost.edge.web.Tokens;
import dev.fencepost.host.Entropy;
import dev.fencepost.host.Time;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Who is logged in, in memory: a restart logs everybody out. A session lives for {@link #IDLE} after its last request, at most for {@link
 * #LONGEST}, on the boot clock, and never longer than its token stands in the token file. Of its id only a digest is kept. Safe for use by
 * many threads.
 */
final class Sessions {

    static final Duration IDLE = Duration.ofHours(12);
    static final Duration LONGEST = Duration.ofDays(7);

    /** The one that has not been used for the longest time makes room. */
    static final int MOST = 1_000;

    private final Tokens tokens;
    private final Time time;
    private final Entropy entropy;
    private final Map<String, Entry> entries = new LinkedHashMap<>(16, 0.75f, true);

    Sessions(Tokens tokens, Time time, Entropy entropy) {
        this.tokens = tokens;
        this.time = time;
        this.entropy = entropy;
    }

    private static final class Entry {
        private final Session session;
        private final long begunMillis;
        private long usedMillis;

        Entry(Session session, long nowMillis) {
            this.session = session;
            this.begunMillis = nowMillis;
            this.usedMillis = nowMillis;
        }
    }

    /** @return the id, for the cookie: whoever has it is this person */
    synchronized String begin(Token token) {
        String id = random();
        entries.put(digest(id), new Entry(new Session(token, random().getBytes(StandardCharsets.UTF_8)), now()));
        if (entries.size() > MOST) {
            Iterator<String> oldest = entries.keySet().iterator();
            oldest.next();
            oldest.remove();
        }
        return id;
    }

    /** With the token as it stands in the file now; null if there is none, or no longer. */
    synchronized @Nullable Session find(String id) {
        String key = digest(id);
        Entry entry = entries.get(key);
        if (entry == null) {
            return null;
        }
        long now = now();
        Token token = tokens.stillGood(entry.session.token());
        if (token == null || now - entry.usedMillis > IDLE.toMillis() || now - entry.begunMillis > LONGEST.toMillis()) {
            entries.remove(key);
            return null;
        }
        entry.usedMillis = now;
        return new Session(token, entry.session.secret());
    }

    synchronized void end(String id) {
        entries.remove(digest(id));
    }

    private long now() {
        return time.bootMillis();
    }

    /** 244 random bits. */
    private String random() {
        return (entropy.uuid().toString() + entropy.uuid()).replace("-", "");
    }

    private static String digest(String id) {
        try {
            return HexFormat.of()
                    .formatHex(MessageDigest.getInstance("SHA-256").digest(id.getBytes(StandardCharsets.UTF_8)));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JVM has SHA-256", e);
        }
    }
}
