package dev.fencepost.edge.cli;

import dev.fencepost.edge.config.Definition;
import dev.fencepost.edge.config.JobsFile;
import dev.fencepost.effect.HttpEndpoint;
import dev.fencepost.effect.SinkDefinition;
import dev.fencepost.effect.TextOrFile;
import dev.fencepost.run.Action;
import dev.fencepost.run.Job;
import dev.fencepost.run.Notifier;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** The files with secrets that a jobs file names, with what each of them is. Their contents are not read. */
final class SecretPlaces {

    private final Map<Path, String> files = new TreeMap<>();

    private SecretPlaces() {}

    /** @param path of the jobs file, absolute */
    static Map<Path, String> of(JobsFile file, Path path) {
        SecretPlaces places = new SecretPlaces();
        for (Definition definition : file.definitions().values()) {
            definition.values().stream()
                    .filter(value -> value.key().equals("env-file"))
                    .forEach(value -> places.add(path.resolveSibling(value.text()), "env-file"));
            places.addJob(definition.job());
        }
        file.allSinks().forEach(places::addSink);
        return places.files;
    }

    private void addJob(Job job) {
        if (job.action() instanceof Action.HttpCall call) {
            addEndpoint(call.endpoint());
        }
        for (Notifier notifier : job.notifiers()) {
            switch (notifier.channel()) {
                case Notifier.Channel.Ping ping -> addEndpoint(ping.endpoint());
                case Notifier.Channel.Webhook webhook -> addEndpoint(webhook.endpoint());
                case Notifier.Channel.Mail mail -> {}
            }
        }
    }

    private void addSink(SinkDefinition sink) {
        switch (sink) {
            case SinkDefinition.Git git -> {
                add(git.sshKey(), "private key");
                add(git.credentialsFile(), "credentials file");
            }
            case SinkDefinition.Http http -> addEndpoint(http.endpoint());
            case SinkDefinition.Files folder -> {}
        }
    }

    private void addEndpoint(HttpEndpoint endpoint) {
        addIfFile(endpoint.url());
        endpoint.headers().values().forEach(this::addIfFile);
        if (endpoint.signature() != null) {
            add(endpoint.signature().secretFile(), "secret file");
        }
    }

    private void addIfFile(TextOrFile setting) {
        add(setting.file(), "secret file");
    }

    private void add(@Nullable Path path, String what) {
        if (path != null) {
            files.putIfAbsent(path, what);
        }
    }
}
