package dev.fencepost.edge.sink;

import dev.fencepost.edge.sink.HttpTransport.Outcome;
import dev.fencepost.effect.Delivery;
import dev.fencepost.effect.Effect;
import dev.fencepost.effect.ReadBack;
import dev.fencepost.effect.Receipt;
import dev.fencepost.effect.Sink;
import dev.fencepost.effect.SinkDefinition;
import dev.fencepost.host.Spawner;
import dev.fencepost.host.Time;
import java.net.http.HttpHeaders;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.regex.Matcher;
import org.jspecify.annotations.Nullable;

/**
 * An HTTP receiver. Every try at an effect carries the same key and the same bytes.
 *
 * <p><b>What it is shown.</b> {@code Idempotency-Key}, {@code Fencing-Token}, {@code Fencepost-Run-Id}, {@code Fencepost-Job},
 * {@code Fencepost-Slot}, {@code Fencepost-Resource}, written as {@link HttpText#forHeader} says, and the configured headers. With a
 * signature: {@code t=<unix seconds>,v1=<HMAC-SHA-256, hexadecimal, of "<t>.<body>">}.
 *
 * <p><b>What its answers mean.</b>
 *
 * <pre>
 * 2xx            it took place
 * 409, 412       it knows a newer token: refused. Its answer may name that in Fencing-Token
 * 429, 503       not now, and when, in Retry-After
 * 301, 302, 303  may have taken place: receivers answer so after they have done what was asked
 * 307, 308       not done: they ask for the same once more somewhere else, where nobody has allowed it to go
 * other 3xx      not done: 300, 304, 305 say what to do instead
 * other 4xx      not done, and never will be
 * other 5xx      may have taken place
 * none           not now if surely nothing was sent, else it may have taken place
 * </pre>
 *
 * A setting that a person can mend (a host that is not allowed, a secret that cannot be read) is a "not now", until the effect is too old.
 */
public final class HttpSink implements Sink {

    /** Read of an answer whose body nobody needs, so that the connection ends in good order. */
    private static final int BODY_TO_DRAIN = 16 * 1024;

    private static final int BODY_TO_SEARCH = 64 * 1024;

    /** Characters that a pattern may look at before it is given up: enough for any that does not grow with a power of the text. */
    private static final long PATTERN_STEPS = 20_000_000;

    private static final List<String> RECEIPT_HEADERS = List.of("Location", "Content-Location", "ETag", "X-Request-Id");
    private static final int LONGEST_HEADER = 200;
    private static final int LONGEST_REASON = 300;
    private static final String KEY = "{key}";

    private final SinkDefinition.Http definition;
    private final Time time;
    private final HttpTransport transport;

    public HttpSink(SinkDefinition.Http definition, Time time, Spawner spawner) {
        this.definition = definition;
        this.time = time;
        this.transport = new HttpTransport(spawner);
    }

    @Override
    public Duration timeLimit() {
        return HttpTransport.timeLimit(definition.endpoint().timeLimit());
    }

    @Override
    public Duration lockDelay() {
        return definition.idempotent() || definition.checksToken() ? Duration.ZERO : definition.lockDelay();
    }

    @Override
    public boolean isIdempotent() {
        return definition.idempotent();
    }

    @Override
    public int maxTries() {
        return definition.maxTries();
    }

    @Override
    public Delivery deliver(Effect effect) throws InterruptedException {
        String type = effect.content().type();
        if (type != null && (type.isBlank() || !HttpText.isHeaderValue(type))) {
            return new Delivery.Dead("the media type of the effect cannot stand in a header", null);
        }
        HttpMessage message;
        try {
            message = HttpMessage.sending(
                    definition.endpoint(),
                    identity(effect),
                    type == null ? definition.endpoint().contentType() : type,
                    effect.content().bytes(),
                    time.wallClock());
        } catch (HttpMessage.Unusable e) {
            return new Delivery.NotNow(String.valueOf(e.getMessage()), null);
        }
        return switch (transport.send(message, BODY_TO_DRAIN)) {
            case Outcome.Answered answer -> meaning(answer, message);
            case Outcome.NotSent none -> new Delivery.NotNow(none.reason(), null);
            case Outcome.Lost lost -> new Delivery.Unknown(lost.reason());
        };
    }

    private Delivery meaning(Outcome.Answered answer, HttpMessage message) {
        int status = answer.status();
        String words = "HTTP " + status + " from " + message.place();
        return switch (status) {
            case 409, 412 -> new Delivery.Refused(words, token(answer.headers()));
            case 429, 503 ->
                new Delivery.NotNow(
                        words,
                        answer.headers()
                                .firstValue("Retry-After")
                                .map(value -> HttpText.retryAfter(value, time.wallClock()))
                                .orElse(null));
            case 301, 302, 303 ->
                new Delivery.Unknown(words + ": a redirect" + where(answer, message)
                        + ", which is not followed; it may have taken place");
            case 307, 308 ->
                new Delivery.Dead(words + ": a redirect" + where(answer, message) + ", which is not followed", null);
            default ->
                switch (status / 100) {
                    case 2 -> new Delivery.Confirmed(receipt("HTTP " + status, answer.headers(), message));
                    case 3, 4 -> new Delivery.Dead(words, null);
                    default -> new Delivery.Unknown(words);
                };
        };
    }

    private static @Nullable Long token(HttpHeaders headers) {
        try {
            return headers.firstValue("Fencing-Token")
                    .map(String::strip)
                    .map(Long::valueOf)
                    .filter(token -> token > 0)
                    .orElse(null);
        } catch (NumberFormatException notOurs) {
            return null;
        }
    }

    /** The host that a redirect names: its path and query may hold what is not ours to tell. */
    private static String where(Outcome.Answered answer, HttpMessage message) {
        Optional<String> location = answer.headers().firstValue("Location");
        try {
            String host = location.isEmpty()
                    ? null
                    : message.url().resolve(location.get().strip()).getHost();
            return host == null ? "" : " to host " + message.forPeople(host, LONGEST_HEADER);
        } catch (IllegalArgumentException noUrl) {
            return "";
        }
    }

    private static Receipt receipt(String status, HttpHeaders headers, HttpMessage message) {
        StringBuilder text = new StringBuilder(status);
        for (String name : RECEIPT_HEADERS) {
            headers.firstValue(name)
                    .map(value -> message.forPeople(value, LONGEST_HEADER))
                    .filter(value -> !value.isBlank())
                    .ifPresent(
                            value -> text.append(", ").append(name).append(": ").append(value));
        }
        return new Receipt(text.toString());
    }

    private static Map<String, String> identity(Effect effect) {
        return Map.of(
                "Idempotency-Key", effect.key(),
                "Fencing-Token", effect.fence().toString(),
                "Fencepost-Run-Id", effect.runId().toString(),
                "Fencepost-Job", effect.job(),
                "Fencepost-Slot", effect.slotKey(),
                "Fencepost-Resource", effect.pair().resource());
    }

    /** Asks by the configured GET. It is shown the same headers as a delivery; a signature is over an empty body. */
    @Override
    public ReadBack readBack(Effect effect) throws InterruptedException {
        SinkDefinition.HttpReadBack asked = definition.readBack();
        if (asked == null) {
            return new ReadBack.CannotTell("the sink has no read-back", false);
        }
        HttpMessage message;
        try {
            String url = asked.url().replace(KEY, HttpText.forUrl(effect.key()));
            message = HttpMessage.asking(definition.endpoint(), url, identity(effect), time.wallClock());
        } catch (HttpMessage.Unusable e) {
            return new ReadBack.NoAnswer(String.valueOf(e.getMessage()));
        }
        return switch (transport.send(message, BODY_TO_SEARCH)) {
            case Outcome.Answered answer -> meaning(answer, asked, effect, message);
            case Outcome.NotSent none -> new ReadBack.NoAnswer(none.reason());
            case Outcome.Lost lost -> new ReadBack.NoAnswer(lost.reason());
        };
    }

    private static ReadBack meaning(
            Outcome.Answered answer, SinkDefinition.HttpReadBack asked, Effect effect, HttpMessage message) {
        String words = "HTTP " + answer.status() + " read back";
        if (answer.isFine()) {
            Boolean found = matches(asked, answer);
            if (found == null) {
                return new ReadBack.NoAnswer(words + ", but the pattern takes too long on this answer");
            }
            if (found) {
                return new ReadBack.Found(receipt(words, answer.headers(), message));
            }
            if (!answer.isWhole() && !answer.isCut()) {
                return new ReadBack.NoAnswer(words + ", but the answer broke off before the pattern was in it");
            }
            return absent(words + " without the pattern", asked, effect);
        }
        if (answer.status() == 404 || answer.status() == 410) {
            return absent(words, asked, effect);
        }
        return new ReadBack.NoAnswer(words);
    }

    /** That it is not there proves something only when nothing can be under way any more. */
    private static ReadBack absent(String words, SinkDefinition.HttpReadBack asked, Effect effect) {
        if (asked.absentAfter() == null) {
            return new ReadBack.CannotTell(words + "; without absent-after that proves nothing", true);
        }
        if (effect.lastSentAt() == null) {
            return new ReadBack.NoAnswer(words + ", and nobody knows when it was sent");
        }
        if (effect.lastSentAt().plus(asked.absentAfter()).isAfter(effect.now())) {
            return new ReadBack.NoAnswer(
                    words + ", which proves nothing before " + asked.absentAfter() + " have passed since it was sent");
        }
        return new ReadBack.Absent(words + ", " + asked.absentAfter() + " after it was sent");
    }

    /** Whether the pattern is in the answer; null if that cannot be found out. */
    private static @Nullable Boolean matches(SinkDefinition.HttpReadBack asked, Outcome.Answered answer) {
        if (asked.matches() == null) {
            return true;
        }
        String text = new String(answer.body(), StandardCharsets.UTF_8);
        Matcher matcher =
                Objects.requireNonNull(asked.matches()).matcher(new Budgeted(text, new long[] {PATTERN_STEPS}));
        try {
            return matcher.find();
        } catch (OutOfSteps | StackOverflowError tooHard) {
            return null;
        }
    }

    private static final class OutOfSteps extends RuntimeException {
        OutOfSteps() {
            super("too many steps", null, false, false);
        }
    }

    /** A text that may be looked at so often. A pattern that backtracks for ever ends so, without a clock. */
    private record Budgeted(CharSequence text, long[] left) implements CharSequence {

        @Override
        public int length() {
            return text.length();
        }

        @Override
        public char charAt(int index) {
            if (--left[0] < 0) {
                throw new OutOfSteps();
            }
            return text.charAt(index);
        }

        @Override
        public CharSequence subSequence(int start, int end) {
            return new Budgeted(text.subSequence(start, end), left);
        }

        @Override
        public String toString() {
            return text.toString();
        }
    }
}
