package dev.fencepost.edge.quarkus;

import dev.fencepost.edge.config.Definition;
import dev.fencepost.edge.config.JobsFile;
import dev.fencepost.edge.web.page.Configured;
import java.util.List;

/** The jobs file as the page shows it. */
final class Shown {

    private Shown() {}

    static List<Configured> jobs(JobsFile file) {
        return file.definitions().values().stream()
                .map(definition -> job(file, definition))
                .toList();
    }

    private static Configured job(JobsFile file, Definition definition) {
        return new Configured(
                definition.job(),
                file.path() + ":" + definition.line(),
                definition.values().stream()
                        .map(value -> new Configured.Value(
                                value.key(), value.text(), value.origin().text()))
                        .toList());
    }
}
