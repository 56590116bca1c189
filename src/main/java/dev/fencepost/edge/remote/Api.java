package dev.fencepost.edge.remote;

import dev.fencepost.host.Entropy;
import dev.fencepost.host.Spawner;
import dev.fencepost.host.Time;
import dev.fencepost.lease.StoreException;
import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandler;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import javax.net.ssl.SSLHandshakeException;
import org.jspecify.annotations.Nullable;

/**
 * One server: sends requests, and says of a missing answer what it means. Follows no redirect: it would get the token.
 *
 * <p>The JDK's client ends its calls on the common pool; so nothing that waits may be put there.
 */
final class Api implements AutoCloseable {

    private static final Duration CONNECT_LIMIT = Duration.ofSeconds(10);
    private static final int TRIES = 3;
    private static final long FIRST_BACKOFF_MILLIS = 200;
    private static final int LONGEST_DETAIL = 500;
    private static final String PATH = "/api/v1/work";

    private final URI base;
    private final BearerToken token;
    private final Time time;
    private final Entropy entropy;
    private final HttpClient client;

    /** @param base with scheme and host, without a slash at its end */
    Api(URI base, BearerToken token, Time time, Spawner spawner, Entropy entropy) {
        this.base = base;
        this.token = token;
        this.time = time;
        this.entropy = entropy;
        this.client = HttpClient.newBuilder()
                .version(HttpClient.Version.HTTP_1_1)
                .followRedirects(HttpClient.Redirect.NEVER)
                .connectTimeout(CONNECT_LIMIT)
                .executor(task -> spawner.virtualThread("http", task))
                .build();
    }

    /**
     * @param mayWrite whether the server may have changed something once the request is out
     * @param limit for the whole of it, the answer's body included
     * @param largestAnswer in bytes
     */
    record Call(
            String method,
            String path,
            HttpRequest.BodyPublisher body,
            Map<String, String> headers,
            boolean mayWrite,
            Duration limit,
            long largestAnswer) {}

    /** An answer that is about the request itself: what concerns server or token is an exception. */
    record Answer(int status, byte[] body) {

        boolean isFine() {
            return status / 100 == 2;
        }
    }

    /** Sends once. */
    Answer send(Call call) {
        return send(call, BodyHandlers.ofByteArray());
    }

    /** Sends once; what the handler makes of the body of a good answer is not looked at. */
    Answer send(Call call, BodyHandler<byte[]> handler) {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(base + PATH + call.path()))
                .header("Authorization", "Bearer " + token.value())
                .header("Accept", "*/*")
                .timeout(call.limit())
                .method(call.method(), call.body());
        call.headers().forEach(request::header);
        CompletableFuture<HttpResponse<byte[]>> answering =
                client.sendAsync(request.build(), BodyHandlers.limiting(handler, call.largestAnswer()));
        try {
            HttpResponse<byte[]> response = answering.get(call.limit().toMillis() + 250, TimeUnit.MILLISECONDS);
            return checked(call, new Answer(response.statusCode(), response.body()));
        } catch (TimeoutException e) {
            throw noAnswer(call, "no answer within " + call.limit().toMillis() + " ms", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw noAnswer(call, "interrupted", e);
        } catch (ExecutionException e) {
            throw failed(call, e.getCause() == null ? e : e.getCause());
        } finally {
            answering.cancel(true);
        }
    }

    /** For what may be sent twice: again after a short wait when there was no answer. */
    Answer sendRepeatedly(Call call) {
        for (int tries = 1; ; tries++) {
            try {
                return send(call);
            } catch (StoreException e) {
                if (e.kind() == StoreException.Kind.BROKEN || tries == TRIES) {
                    throw e;
                }
            }
            try {
                time.sleep(Duration.ofMillis(
                        Math.round((FIRST_BACKOFF_MILLIS << (tries - 1)) * (0.5 + entropy.fraction()))));
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw noAnswer(call, "interrupted", e);
            }
        }
    }

    private Answer checked(Call call, Answer answer) {
        int status = answer.status();
        if (status == 401 || status == 403) {
            throw status == 401
                    ? broken("does not accept the token (401)", null)
                    : broken("does not allow this to the token (403)" + detail(answer), null);
        }
        if (status == 429) {
            throw new StoreException(StoreException.Kind.UNAVAILABLE, this + ": too many requests (429)", null);
        }
        if (status / 100 == 3) {
            throw broken("answers with a redirect (" + status + "); name the address itself", null);
        }
        if (status >= 500 || status == 408) {
            throw noAnswer(call, "error " + status + detail(answer), null);
        }
        return answer;
    }

    private StoreException failed(Call call, Throwable cause) {
        if (cause instanceof ConnectException || cause instanceof HttpConnectTimeoutException) {
            return new StoreException(
                    StoreException.Kind.UNAVAILABLE, this + ": it cannot be reached" + words(cause), cause);
        }
        if (cause instanceof SSLHandshakeException) {
            return new StoreException(
                    StoreException.Kind.UNAVAILABLE, this + ": no safe connection" + words(cause), cause);
        }
        return noAnswer(
                call, cause instanceof IOException ? "the connection failed" + words(cause) : cause.toString(), cause);
    }

    private static String words(Throwable cause) {
        return cause.getMessage() == null ? "" : ": " + cause.getMessage();
    }

    /** Whatever was sent may have arrived. */
    StoreException noAnswer(Call call, String why, @Nullable Throwable cause) {
        return new StoreException(
                call.mayWrite() ? StoreException.Kind.AMBIGUOUS : StoreException.Kind.UNAVAILABLE,
                this + ": " + why,
                cause);
    }

    /** The server said that it did nothing, and would say so again. */
    StoreException broken(String why, @Nullable Throwable cause) {
        return new StoreException(StoreException.Kind.BROKEN, this + " " + why, cause);
    }

    /** What a problem document tells, for a message; empty if it tells nothing. */
    static String detail(Answer answer) {
        try {
            Fields problem = Fields.parse(answer.body());
            String detail = problem.textIfAny("detail");
            String text = detail == null ? problem.textIfAny("title") : detail;
            return text == null ? "" : ": " + text.substring(0, Math.min(text.length(), LONGEST_DETAIL));
        } catch (IOException noProblemDocument) {
            return "";
        }
    }

    @Override
    public void close() {
        client.shutdownNow();
    }

    @Override
    public String toString() {
        return "server " + base;
    }
}
