package dev.fencepost.edge.config;

import dev.fencepost.effect.SinkDefinition;
import dev.fencepost.host.Nearest;
import dev.fencepost.run.Job;
import dev.fencepost.run.RetentionPolicy;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A jobs file that was read and found good. Immutable.
 *
 * @param path as it was named by the caller
 * @param writtenStore the store that the file names, or null when it names none
 * @param drain how long running jobs may go on at a graceful stop
 * @param workKeep how long items of work stay after their end; null for ever
 * @param maxParallel how many runs this node carries out at a time, or null for any number
 * @param retention how long history is kept
 * @param reloadOnChange whether the file is read anew when it changes
 * @param api null where the file does not switch it on
 * @param sinks of {@code sinks:}, by name
 * @param definitions by job id, in the order of the file
 * @param warnings doubtful things that do not refuse the file
 */
public record JobsFile(
        Path path,
        @Nullable StoreUrl writtenStore,
        Duration drain,
        @Nullable Duration workKeep,
        @Nullable Integer maxParallel,
        RetentionPolicy retention,
        boolean reloadOnChange,
        @Nullable ApiSettings api,
        Map<String, SinkDefinition> sinks,
        Map<String, Definition> definitions,
        List<Finding> warnings) {

    public static final Duration DEFAULT_DRAIN = Duration.ofSeconds(30);
    public static final Duration DEFAULT_WORK_KEEP = Duration.ofDays(30);

    public JobsFile {
        sinks = Map.copyOf(sinks);
        definitions = Collections.unmodifiableMap(new LinkedHashMap<>(definitions));
        warnings = List.copyOf(warnings);
    }

    /** The jobs in the order of the file. */
    public List<Job> jobs() {
        return definitions.values().stream().map(Definition::job).toList();
    }

    /** All sinks: those of {@code sinks:} and those of the jobs' {@code publish:}. */
    public List<SinkDefinition> allSinks() {
        List<SinkDefinition> all = new ArrayList<>(sinks.values());
        jobs().forEach(job -> job.publish().forEach(each -> all.add(each.sink())));
        return all;
    }

    public Optional<Job> job(String id) {
        return Optional.ofNullable(definitions.get(id)).map(Definition::job);
    }

    /** The store that the file names, else the SQLite file {@code fencepost.db} in the state directory. */
    public StoreUrl store(Path stateDir) {
        return writtenStore != null ? writtenStore : StoreUrl.inStateDir(stateDir);
    }

    /** The id that was most likely meant by this unknown one. */
    public Optional<String> nearestId(String id) {
        return Nearest.to(id, definitions.keySet());
    }
}
