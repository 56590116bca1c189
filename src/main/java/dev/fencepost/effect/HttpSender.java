package dev.fencepost.effect;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Sends one HTTP request under the rules of its endpoint, whose secrets are read anew: a port. It keeps to the endpoint's hosts and
 * addresses, follows no redirect and sends nothing twice. Safe for use by many threads.
 */
public interface HttpSender {

    /**
     * Waits for the answer: at most for the endpoint's time limit, and for the name service before it. An interrupt cuts the connection;
     * then the request may have arrived.
     */
    Answer send(HttpEndpoint endpoint, Note note) throws InterruptedException;

    /**
     * What is sent.
     *
     * @param morePath goes behind the path of the endpoint's URL, such as {@code /start}; may be empty
     * @param query goes behind its query
     * @param headers besides the configured ones, which they win over
     * @param contentType instead of the endpoint's own, or null for that
     */
    record Note(
            String morePath,
            Map<String, String> query,
            Map<String, String> headers,
            @Nullable String contentType,
            byte[] body) {

        /** Its size alone: the rest is payload. */
        @Override
        public String toString() {
            return "note of " + body.length + " bytes";
        }
    }

    /**
     * @param status of the answer, or 0 where none came
     * @param text what happened, for people; without any secret
     */
    record Answer(int status, String text) {

        public boolean isFine() {
            return status >= 200 && status < 300;
        }

        /** Whether the receiver has said that the same request will never do. */
        public boolean isFinal() {
            return status >= 300 && status < 500 && status != 408 && status != 429;
        }
    }
}
