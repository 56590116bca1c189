package dev.fencepost.run;

import java.util.Map;
import java.util.Set;

/** Carries out HTTP actions: a port. Safe for use by many threads. */
public interface HttpCalls {

    /**
     * Sends the request and gives what stands for the child: it ends with exit code 0 for a 2xx answer, else with 1 and the reason, and
     * stopping it cuts the connection. The body of a 2xx answer is written to {@code files.result()}, at most
     * {@link Completion#MAX_RESULT_BYTES}; a larger one ends it with 1. The output's tail is the answer as people read it.
     *
     * @param headers what tells the run, as {@code Idempotency-Key} and {@code Fencing-Token}
     * @param secrets masked in whatever is kept of the answer
     * @throws Children.StartFailure if the address is not allowed, or a file with a secret cannot be read
     */
    ChildProcess start(Action.HttpCall call, Map<String, String> headers, Workspace.RunFiles files, Set<String> secrets)
            throws Children.StartFailure;
}
