package dev.fencepost.effect;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** A sink as configured: an entry of {@code sinks:}, named as there, or of a job's {@code publish:}, named {@code job/name}. */
public sealed interface SinkDefinition {

    String name();

    /** After which an effect is not sent any more. */
    Duration maxAge();

    /**
     * A branch of a git repository.
     *
     * @param repo a local clone that names the remote, and in which the job's working directory may lie; null if the remote is an address
     * @param remote name of a remote of {@code repo}, or an address
     * @param paths relative to the top of the tree: what may be published, everything below included
     * @param message of the commit; {@code {job}}, {@code {slot}}, {@code {attempt}} and {@code {fence}} are filled in
     * @param author {@code Name <address>}, of author and committer
     * @param fenceRef ref of the remote that holds the token, or null for {@code refs/fencepost/<job>}
     * @param timeLimit of one delivery
     * @param sshKey private key of the runner, for remotes by ssh, or null for ssh's own search
     * @param knownHosts host keys that are trusted, or null for ssh's own list
     * @param credentialsFile in the form of git's credential store, for remotes by https, or null
     */
    record Git(
            String name,
            Duration maxAge,
            @Nullable Path repo,
            String remote,
            String branch,
            List<String> paths,
            String message,
            String author,
            @Nullable String fenceRef,
            Duration timeLimit,
            @Nullable Path sshKey,
            @Nullable Path knownHosts,
            @Nullable Path credentialsFile)
            implements SinkDefinition {

        public Git {
            paths = List.copyOf(paths);
        }
    }

    /**
     * An HTTP receiver.
     *
     * @param idempotent whether it knows keys, so that sending again does no harm
     * @param checksToken whether it refuses old tokens, so that no lock-delay is needed
     * @param lockDelay wait after a sender died
     * @param maxTries see {@link Sink#maxTries}
     * @param readBack how it is asked whether a key arrived, or null if it cannot be asked
     */
    record Http(
            String name,
            Duration maxAge,
            HttpEndpoint endpoint,
            boolean idempotent,
            boolean checksToken,
            Duration lockDelay,
            int maxTries,
            @Nullable HttpReadBack readBack)
            implements SinkDefinition {}

    /**
     * A GET that tells whether an effect took place.
     *
     * @param url in which {@code {key}} stands for the key; same rules as for the endpoint's own
     * @param matches must be found in the first 64 KiB of the answer; null: any 2xx will do
     * @param absentAfter how long after the last try a 404 proves that it did not arrive; null: never
     */
    record HttpReadBack(
            String url, @Nullable Pattern matches, @Nullable Duration absentAfter) {}

    /** A folder whose files are placed atomically. */
    record Files(String name, Duration maxAge, Path root) implements SinkDefinition {}
}
