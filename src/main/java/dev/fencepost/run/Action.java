package dev.fencepost.run;

import dev.fencepost.effect.HttpEndpoint;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What an attempt does. */
public sealed interface Action {

    /**
     * A child process.
     *
     * @param words program and arguments, started without a shell
     * @param workingDir where it is started, or null for the runner's own directory
     * @param env variables that it gets on top of the runner's environment
     * @param stdin what it reads, or null for an empty input
     * @param runAs name of the user that it runs as, or null for the runner's own
     */
    record Command(
            List<String> words,
            @Nullable Path workingDir,
            Map<String, String> env,
            @Nullable String stdin,
            @Nullable String runAs)
            implements Action {

        public Command {
            if (words.isEmpty()) {
                throw new IllegalArgumentException("a command has at least a program");
            }
            words = List.copyOf(words);
            env = Map.copyOf(env);
        }

        /** The program alone: the rest may hold secrets. */
        @Override
        public String toString() {
            return "command " + words.getFirst();
        }
    }

    /**
     * A call of an agent that is a service. 2xx is success; the body of the answer is the result.
     *
     * @param body what is sent, or null for an empty body
     */
    record HttpCall(HttpEndpoint endpoint, @Nullable String body) implements Action {

        @Override
        public String toString() {
            return "http " + endpoint.method();
        }
    }
}
