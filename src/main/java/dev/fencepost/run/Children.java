package dev.fencepost.run;

import dev.fencepost.lease.Owner;
import dev.fencepost.lease.RunId;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Starts child processes of this host and cleans up after dead runners: a port. Safe for use by many threads. */
public interface Children {

    /**
     * Starts the command in a session of its own, stdout and stderr captured to the log file.
     *
     * @throws StartFailure if there is no such file, it is not executable, its interpreter or the working directory is missing, or a
     *     limit of the system is reached; the message names the file and the cause (semantics 6.6)
     */
    ChildProcess start(Spec spec) throws StartFailure;

    /**
     * Kills what is left of a run on this host: only processes that carry the run's tag in their environment, or descend from one that
     * does.
     *
     * @return how many were killed
     */
    int sweep(RunId runId);

    /**
     * Whether this owner is an incarnation of <em>this</em> node that cannot be alive: of another boot, or of this pid namespace with
     * its pid gone or given to a process of another start time. When in doubt: false (semantics 2.15).
     */
    boolean provablyDead(Owner owner);

    /** Which guard kills the children when the runner is killed with -9, in words for a person. */
    String guard();

    /**
     * What to start.
     *
     * @param runId stands in the child's environment as {@code FENCEPOST_RUN_ID}: the tag that {@link #sweep} looks for
     * @param environment added to the runner's own environment
     * @param stdin text for the standard input, or null for an empty one
     * @param log file for the captured output; its directory exists
     * @param logLimitBytes how much of the output is kept: head and tail, the cut said
     * @param secrets values that are masked wherever they appear in the output
     * @param runAs name of the user to run as, or null for the runner's own
     * @param withoutCredentials whether what would let it push by git is taken out of its environment
     */
    record Spec(
            RunId runId,
            List<String> command,
            Map<String, String> environment,
            @Nullable Path workingDir,
            @Nullable String stdin,
            Path log,
            long logLimitBytes,
            Set<String> secrets,
            @Nullable String runAs,
            boolean withoutCredentials) {

        public Spec(
                RunId runId,
                List<String> command,
                Map<String, String> environment,
                @Nullable Path workingDir,
                @Nullable String stdin,
                Path log,
                long logLimitBytes,
                Set<String> secrets) {
            this(runId, command, environment, workingDir, stdin, log, logLimitBytes, secrets, null, false);
        }

        /** The run alone: the rest may hold secrets. */
        @Override
        public String toString() {
            return "child of run " + runId;
        }
    }

    /** A child that could not be started. The message is for a person and for the attempt's reason. */
    final class StartFailure extends Exception {

        private final boolean missing;

        public StartFailure(String message, @Nullable Throwable cause) {
            this(message, cause, false);
        }

        /** @param missing see {@link #isMissing} */
        public StartFailure(String message, @Nullable Throwable cause, boolean missing) {
            super(message, cause);
            this.missing = missing;
        }

        /** Whether there is no such command, rather than one that cannot be started. */
        public boolean isMissing() {
            return missing;
        }
    }
}
