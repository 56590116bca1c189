package dev.fencepost.edge.quarkus;

import dev.fencepost.edge.config.JobsFile;
import dev.fencepost.edge.config.StoreUrl;
import java.nio.file.Path;
import java.util.List;

/**
 * What {@code serve} was asked for, in the form in which it goes through Quarkus to the application.
 *
 * @param jobsFile already read once and found good
 * @param store as written on the command line, or empty
 */
public record ServeArguments(Path jobsFile, String store, Path stateDir) {

    public String[] asArguments() {
        return new String[] {jobsFile.toString(), store, stateDir.toString()};
    }

    static ServeArguments of(String... arguments) {
        List<String> words = List.of(arguments);
        if (words.size() != 3) {
            throw new IllegalArgumentException("the service is started by the program fencepost, not directly");
        }
        return new ServeArguments(Path.of(words.get(0)), words.get(1), Path.of(words.get(2)));
    }

    StoreUrl storeUrl(JobsFile file) {
        return store.isEmpty()
                ? file.store(stateDir)
                : StoreUrl.parse(store, Path.of("").toAbsolutePath());
    }
}
