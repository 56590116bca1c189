package dev.fencepost.fuzz;

import dev.fencepost.edge.config.FuzzedConfig;
import dev.fencepost.edge.remote.FuzzedAnswers;
import dev.fencepost.edge.sink.FuzzedFiles;
import dev.fencepost.edge.web.FuzzedRequests;
import dev.fencepost.edge.web.page.FuzzedPage;
import dev.fencepost.schedule.FuzzedCron;
import java.nio.file.Path;
import java.util.Locale;

/** A part of the program that takes what others have written. */
public enum Target {
    JOBS_FILE(FuzzedConfig::jobsFile),
    ENV_FILE(FuzzedConfig::envFile),
    CONFIG_TEXTS(FuzzedConfig::texts),
    CRON(FuzzedCron::take),
    EFFECT_LINES(FuzzedFiles::effectLines),
    FENCE_FILE(FuzzedFiles::fenceFile),
    REQUEST_BODIES(FuzzedRequests::body),
    REQUEST_TEXTS(FuzzedRequests::texts),
    ARTIFACT_NAMES(FuzzedRequests::artifactName, 20),
    ANSWERS(FuzzedAnswers::take),
    OUTPUT(FuzzedPage::output);

    /** Gives bytes to the program. */
    private interface Taking {

        /** @throws Exception or an Error, if the program does something else than it may */
        void take(byte[] input, Path folder) throws Exception;
    }

    /** More than this is refused by its size in most places. */
    static final int MOST_BYTES = 64 << 10;

    private final Taking taking;
    private final int cost;

    Target(Taking taking) {
        this(taking, 1);
    }

    Target(Taking taking, int cost) {
        this.taking = taking;
        this.cost = cost;
    }

    /** How much longer an input takes here than elsewhere: files that are brought to the disk for good. */
    int cost() {
        return cost;
    }

    /** @param folder in which files may be made */
    public void take(byte[] input, Path folder) throws Exception {
        taking.take(input, folder);
    }

    /** Of its files: {@code jobs-file}. */
    public String word() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    static Target of(String word) {
        return valueOf(word.toUpperCase(Locale.ROOT).replace('-', '_'));
    }
}
