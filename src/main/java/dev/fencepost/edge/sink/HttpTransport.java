package dev.fencepost.edge.sink;

import dev.fencepost.host.Spawner;
import java.io.ByteArrayOutputStream;
import java.io.UncheckedIOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.net.http.HttpClient;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.Pattern;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/**
 * Sends one HTTP/1.1 request and knows afterwards whether it may have arrived. Safe for use by many threads.
 *
 * <p><b>At most once.</b> Each request has a client, and so a connection, of its own: it never meets a connection that the server has
 * closed meanwhile, and ending it cuts that connection and no other. Redirects are not followed, proxies not used. The JDK's client sends
 * some requests again by itself when a connection breaks; ours gives it the body, and lets it write the headers, once only.
 *
 * <p><b>Surely not sent</b> is what failed before the client asked for the length of the body: the headers that tell it are written only
 * when the connection stands, with TLS when its handshake is over. Everything after that may have arrived.
 *
 * <p><b>Addresses.</b> The host has to be an allowed one, and each of its addresses {@link PrivateAddresses public}, unless the endpoint
 * says otherwise. The client looks the host up once more when it connects, and gets the same answer: the JVM keeps it for 30 s (unless the
 * security property {@code networkaddress.cache.ttl} is set to less).
 *
 * <p><b>Limits.</b> {@value #LOOKUP_SECONDS} s for the name service, then the message's time limit for everything else. The status counts as
 * soon as it is there. The body is read for as long as its bound and the time limit let it, and is never needed for the status. The JDK
 * bounds the headers of an answer to 384 KiB.
 */
final class HttpTransport {

    private static final int LOOKUP_SECONDS = 10;
    private static final Duration CONNECT_LIMIT = Duration.ofSeconds(10);
    private static final Duration MARGIN = Duration.ofSeconds(2);
    private static final int LONGEST_REASON = 300;
    private static final Pattern IP4_LITERAL = Pattern.compile("[0-9.]+");

    /** What came of a request. Reasons are for people and hold no secret. */
    sealed interface Outcome {

        /**
         * @param body as much of it as was read
         * @param isWhole whether the body ended, rather than was cut for its bound, broke off, or took too long
         * @param isCut whether it was cut for its bound
         */
        record Answered(int status, HttpHeaders headers, byte[] body, boolean isWhole, boolean isCut)
                implements Outcome {

            boolean isFine() {
                return status >= 200 && status < 300;
            }
        }

        /** Surely nothing arrived. */
        record NotSent(String reason) implements Outcome {}

        /** It may have arrived; there is no answer. */
        record Lost(String reason) implements Outcome {}
    }

    private final Spawner spawner;

    HttpTransport(Spawner spawner) {
        this.spawner = spawner;
    }

    /** An upper bound of {@link #send} for messages of this time limit. */
    static Duration timeLimit(Duration ofMessage) {
        return ofMessage.plusSeconds(LOOKUP_SECONDS).plus(MARGIN);
    }

    /**
     * Sends the message and waits for the answer. An interrupt cuts the connection; then it may have arrived.
     *
     * @param bodyLimit how many bytes of the answer's body are read at most
     */
    Outcome send(HttpMessage message, int bodyLimit) throws InterruptedException {
        String forbidden = forbidden(message);
        if (forbidden != null) {
            return new Outcome.NotSent(message.forPeople(forbidden, LONGEST_REASON));
        }
        OnceBody body = new OnceBody(message.body());
        HttpRequest request;
        try {
            request = request(message, body);
        } catch (HttpMessage.Unusable e) {
            return new Outcome.NotSent(message.forPeople(String.valueOf(e.getMessage()), LONGEST_REASON));
        }
        HttpClient client;
        try {
            Duration limit = message.timeLimit();
            client = HttpClient.newBuilder()
                    .version(HttpClient.Version.HTTP_1_1)
                    .followRedirects(HttpClient.Redirect.NEVER)
                    .proxy(HttpClient.Builder.NO_PROXY)
                    .connectTimeout(limit.compareTo(CONNECT_LIMIT) < 0 ? limit : CONNECT_LIMIT)
                    .build();
        } catch (UncheckedIOException e) {
            return new Outcome.NotSent("no connection can be made: " + e.getCause());
        }
        Answer answer = new Answer(bodyLimit);
        String trouble;
        try {
            client.sendAsync(request, answer).get(message.timeLimit().toNanos(), TimeUnit.NANOSECONDS);
            trouble = "no answer";
        } catch (TimeoutException e) {
            body.giveUp();
            trouble = body.wasAskedFor()
                    ? "no answer from " + message.place() + " within " + seconds(message.timeLimit())
                    : "no connection to " + message.place() + " within " + seconds(message.timeLimit());
        } catch (ExecutionException e) {
            body.giveUp();
            trouble = words(message, e.getCause() == null ? e : e.getCause(), body.wasAskedFor());
        } catch (IllegalArgumentException e) { // thrown before anything is done
            body.giveUp();
            trouble = "no request can be made of this URL";
        } finally {
            client.shutdownNow();
        }
        Outcome answered = answer.outcome();
        if (answered != null) {
            return answered;
        }
        String reason = message.forPeople(trouble, LONGEST_REASON);
        return body.wasAskedFor() ? new Outcome.Lost(reason) : new Outcome.NotSent(reason);
    }

    private static HttpRequest request(HttpMessage message, OnceBody body) throws HttpMessage.Unusable {
        HttpRequest.Builder builder;
        try {
            builder = HttpRequest.newBuilder(message.url()).method(message.method(), body);
        } catch (IllegalArgumentException e) {
            throw new HttpMessage.Unusable("no request can be made of this method and URL");
        }
        for (Map.Entry<String, String> header : message.headers().entrySet()) {
            try {
                builder.setHeader(header.getKey(), header.getValue());
            } catch (IllegalArgumentException e) { // its message may hold the value
                throw new HttpMessage.Unusable("header " + header.getKey() + " cannot be set");
            }
        }
        return builder.build();
    }

    /** Why the host must not be called, or null if it may. */
    private @Nullable String forbidden(HttpMessage message) throws InterruptedException {
        String notListed = message.forbiddenHost();
        if (notListed != null) {
            return notListed;
        }
        String host = message.host();
        boolean saysItself = host.equals("localhost")
                || host.indexOf(':') >= 0
                || IP4_LITERAL.matcher(host).matches();
        boolean isNamed = message.hostsAreListed() && saysItself;
        CompletableFuture<InetAddress[]> lookup = new CompletableFuture<>();
        // A platform thread: the lookup is native, would pin a carrier, and cannot be interrupted.
        spawner.platformThread("lookup of a host", () -> {
            try {
                lookup.complete(InetAddress.getAllByName(host));
            } catch (UnknownHostException | RuntimeException e) {
                lookup.completeExceptionally(e);
            }
        });
        try {
            for (InetAddress address : lookup.get(LOOKUP_SECONDS, TimeUnit.SECONDS)) {
                if (!message.allowPrivate() && !isNamed && !PrivateAddresses.isPublic(address)) {
                    return "host " + host + " has the address " + address.getHostAddress()
                            + ", which is not on the internet; allow-private lets it be called";
                }
            }
            return null;
        } catch (ExecutionException e) {
            return "no such host: " + message.place();
        } catch (TimeoutException e) {
            return "the name service did not answer for " + message.place() + " within " + LOOKUP_SECONDS + " s";
        }
    }

    private static String words(HttpMessage message, Throwable failure, boolean mayHaveArrived) {
        String place = message.place();
        if (mayHaveArrived) {
            return "the connection to " + place + " broke before the answer: " + cause(failure);
        }
        return switch (failure) {
            case HttpConnectTimeoutException e -> "no connection to " + place + ": timed out";
            case ConnectException e -> "no connection to " + place + ": " + cause(e);
            case SSLException e -> "no TLS connection to " + place + ": " + cause(e);
            default -> "no connection to " + place + ": " + cause(failure);
        };
    }

    /** The innermost message; the outer ones are often empty. */
    private static String cause(Throwable failure) {
        String text = failure.getClass().getSimpleName();
        for (Throwable at = failure; at != null; at = at.getCause()) {
            if (at.getMessage() != null && !at.getMessage().isBlank()) {
                text = at.getMessage();
            }
        }
        return text;
    }

    private static String seconds(Duration limit) {
        return limit.toMillis() % 1000 == 0 ? limit.toSeconds() + " s" : limit.toMillis() + " ms";
    }

    /** A body that goes out once, and tells whether it may have gone out. */
    private static final class OnceBody implements HttpRequest.BodyPublisher {

        private enum Stage {
            NOT_ASKED_FOR,
            ASKED_FOR,
            SUBSCRIBED,
            GIVEN_UP
        }

        private final HttpRequest.BodyPublisher bytes;
        private final AtomicReference<Stage> stage = new AtomicReference<>(Stage.NOT_ASKED_FOR);

        OnceBody(byte[] bytes) {
            this.bytes = HttpRequest.BodyPublishers.ofByteArray(bytes);
        }

        /** From here on it is not sent, if it was not before. */
        void giveUp() {
            stage.compareAndSet(Stage.NOT_ASKED_FOR, Stage.GIVEN_UP);
        }

        boolean wasAskedFor() {
            Stage now = stage.get();
            return now == Stage.ASKED_FOR || now == Stage.SUBSCRIBED;
        }

        @Override
        public long contentLength() {
            if (!stage.compareAndSet(Stage.NOT_ASKED_FOR, Stage.ASKED_FOR)) {
                throw new IllegalStateException("a request is sent once");
            }
            return bytes.contentLength();
        }

        @Override
        public void subscribe(Flow.Subscriber<? super ByteBuffer> subscriber) {
            if (!stage.compareAndSet(Stage.ASKED_FOR, Stage.SUBSCRIBED)) {
                throw new IllegalStateException("a body is sent once");
            }
            bytes.subscribe(subscriber);
        }
    }

    /** Takes the status as soon as it comes, and then as much of the body as is wanted. */
    private static final class Answer implements HttpResponse.BodyHandler<Answer>, HttpResponse.BodySubscriber<Answer> {

        private final int limit;
        private final ByteArrayOutputStream body = new ByteArrayOutputStream();
        private final CompletableFuture<Answer> done = new CompletableFuture<>();
        private HttpResponse.@Nullable ResponseInfo info;
        private Flow.@Nullable Subscription subscription;
        private boolean isWhole;
        private boolean isCut;

        Answer(int limit) {
            this.limit = limit;
        }

        synchronized @Nullable Outcome outcome() {
            return info == null
                    ? null
                    : new Outcome.Answered(info.statusCode(), info.headers(), body.toByteArray(), isWhole, isCut);
        }

        @Override
        public synchronized HttpResponse.BodySubscriber<Answer> apply(HttpResponse.ResponseInfo answered) {
            info = answered;
            return this;
        }

        @Override
        public CompletionStage<Answer> getBody() {
            return done;
        }

        @Override
        public synchronized void onSubscribe(Flow.Subscription given) {
            subscription = given;
            given.request(1);
        }

        @Override
        public void onNext(List<ByteBuffer> buffers) {
            boolean isFull;
            Flow.Subscription from;
            synchronized (this) {
                for (ByteBuffer buffer : buffers) {
                    byte[] bytes = new byte[Math.min(buffer.remaining(), limit - body.size())];
                    isCut |= bytes.length < buffer.remaining();
                    buffer.get(bytes);
                    body.writeBytes(bytes);
                }
                isFull = isCut;
                from = Objects.requireNonNull(subscription);
            }
            if (isFull) {
                from.cancel();
                done.complete(this);
            } else {
                from.request(1);
            }
        }

        @Override
        public void onError(Throwable broken) {
            done.complete(this);
        }

        @Override
        public void onComplete() {
            synchronized (this) {
                isWhole = true;
            }
            done.complete(this);
        }
    }
}
