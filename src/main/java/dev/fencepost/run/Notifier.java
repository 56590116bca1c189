package dev.fencepost.run;

import dev.fencepost.effect.HttpEndpoint;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;

/**
 * Who is told of what becomes of a job. A notifier that fails, or hangs, never touches a run.
 *
 * @param on what it is told of; never a skip
 * @param after it is told of a failure once so many ticks in a row have failed, and then again only after a success; pings are sent for each
 *     run whatever this says
 */
public record Notifier(Channel channel, Set<Occasion> on, int after) {

    public Notifier {
        on = Set.copyOf(on);
        if (after < 1) {
            throw new IllegalArgumentException("after must be at least 1, not " + after);
        }
    }

    /** How it is told. */
    public sealed interface Channel {

        /**
         * A dead-man's switch in the way of Healthchecks: {@code URL/start}, {@code URL} at success, {@code URL/fail} or {@code URL/<exit
         * code>} at failure, with {@code rid} as the run id and the end of the output as the body.
         */
        record Ping(HttpEndpoint endpoint) implements Channel {}

        /** A POST with a JSON object. */
        record Webhook(HttpEndpoint endpoint) implements Channel {}

        /**
         * A mail by the host's {@code sendmail}.
         *
         * @param to addresses, or names of local users
         * @param sendmail where the program is, or would be
         */
        record Mail(List<String> to, Path sendmail) implements Channel {
            public Mail {
                to = List.copyOf(to);
            }
        }
    }

    /** What there is to be told. */
    public enum Occasion {
        /** A run began; pings only. */
        START,
        /** A run succeeded; pings only. */
        SUCCESS,
        /** A tick ended as a failure. */
        FAILURE,
        /** The first success after a failure that was told. */
        RECOVERY,
        /** A brake has paused the job. */
        PAUSED,
        /** An effect waits for a person. */
        WAITING
    }
}
