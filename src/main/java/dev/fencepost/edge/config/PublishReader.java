package dev.fencepost.edge.config;

import dev.fencepost.effect.SinkDefinition;
import dev.fencepost.run.Publication;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.nodes.MappingNode;
import org.snakeyaml.engine.v2.nodes.Node;
import org.snakeyaml.engine.v2.nodes.SequenceNode;

/** Reads {@code publish} of a job: what every successful run gives out. */
final class PublishReader {

    private static final int MOST = 20;
    private static final int LONGEST_PATH = 1_000;
    private static final int LONGEST_BODY = 1 << 20;
    private static final String EXAMPLE = "publish: [ { git: { repo: PATH } } ]";
    private static final List<String> KINDS = List.of("git", "http", "file");

    private final FileNames names;
    private final SinkReader sinks;
    private final Values values;

    PublishReader(FileNames names, Values values) {
        this.names = names;
        this.sinks = new SinkReader(names);
        this.values = values;
    }

    /**
     * The entries without errors, in the order of the file.
     *
     * @param hasWorktree whether the job has a command: a call of a service has no tree to commit
     */
    List<Publication> read(Section job, String id, boolean hasWorktree) {
        List<Publication> all = new ArrayList<>();
        Node value = job.value("publish");
        if (value == null) {
            values.add("publish", "none", Origin.builtIn("nothing is given out but what a run announces itself"));
            return all;
        }
        if (!(value instanceof SequenceNode list)) {
            job.error("publish", "this must be a list, not a " + Section.shape(value), "write " + EXAMPLE);
            return all;
        }
        if (list.getValue().size() > MOST) {
            job.error("publish", "there are " + list.getValue().size() + " entries, the limit is " + MOST, "");
            return all;
        }
        Map<String, Integer> seen = new HashMap<>();
        for (int i = 0; i < list.getValue().size(); i++) {
            Publication publication = entry(job, id, list.getValue().get(i), i, seen, hasWorktree);
            if (publication != null) {
                all.add(publication);
            }
        }
        return all;
    }

    private @Nullable Publication entry(
            Section job, String id, Node item, int index, Map<String, Integer> seen, boolean hasWorktree) {
        String path = job.pathOf("publish") + "[" + index + "]";
        if (!(item instanceof MappingNode mapping)) {
            job.findings()
                    .error(item, path, "an entry must be a mapping, not a " + Section.shape(item), "write " + EXAMPLE);
            return null;
        }
        Section entry = Section.of(mapping, item, path, job.findings(), Origin.Kind.JOB, Keys.SINK);
        String kind = SinkReader.kind(entry, KINDS);
        if (kind == null) {
            return null;
        }
        int number = seen.merge(kind, 1, Integer::sum);
        String name = number == 1 ? kind : kind + "-" + number;
        String sink = id + "/" + name;
        Values shown = values.under("publish").under(name);
        return switch (kind) {
            case "git" -> git(entry, name, sink, number, hasWorktree, shown);
            case "http" -> http(entry, name, sink, shown);
            default -> file(entry, name, sink, shown);
        };
    }

    private Publication git(Section entry, String name, String sink, int number, boolean hasWorktree, Values shown) {
        if (number > 1) {
            entry.error("git", "the job has git twice", "a job publishes to one repository; make two jobs of it");
        }
        if (!hasWorktree) {
            entry.error(
                    "git",
                    "a job with http has no worktree that could be published",
                    "remove git, or write command instead of http");
        }
        Section git = entry.section("git", Keys.PUBLISH_GIT, EXAMPLE);
        SinkDefinition.Git definition = new GitReader(git, names, shown).read(sink, SinkReader.maxAge(entry, shown));
        return new Publication(name, definition, null, null);
    }

    private @Nullable Publication http(Section entry, String name, String sink, Values shown) {
        Section http = entry.section("http", Keys.PUBLISH_HTTP, "http: { url: … }");
        Given<Duration> maxAge = SinkReader.maxAge(entry, shown);
        SinkDefinition.Http definition = sinks.http(sink, maxAge, http, shown);
        Given<String> body = body(http, shown);
        return definition == null ? null : new Publication(name, definition, body == null ? null : body.value(), null);
    }

    private @Nullable Publication file(Section entry, String name, String sink, Values shown) {
        Section file = entry.section("file", Keys.PUBLISH_FILE, "file: { root: …, path: \"{slot}.md\" }");
        Given<Duration> maxAge = SinkReader.maxAge(entry, shown);
        SinkDefinition.Files definition = sinks.files(sink, maxAge, file, shown);
        Given<String> path = file.read("path", PublishReader::path);
        file.missing("path", "there is no path", "write path: \"digest-{slot}.md\", below root");
        Given<String> body = body(file, shown);
        if (definition == null || path == null) {
            return null;
        }
        shown.add("path", path, Values::shown);
        return new Publication(name, definition, body == null ? null : body.value(), path.value());
    }

    private static @Nullable Given<String> body(Section section, Values shown) {
        Given<String> body = section.read("body", text -> {
            if (text.length() > LONGEST_BODY) {
                throw new BadValueException("the body is longer than 1 MiB", "let the run write it as its result");
            }
            return text;
        });
        shown.add("body", body, Values::shown, "the result of the run");
        String unknown = body == null ? null : Template.unknownPlace(body.value());
        if (unknown != null) {
            section.warning(
                    "body",
                    "nothing is known to fill in for " + Finding.quote(unknown) + ", so it is sent as it is",
                    Template.HINT);
        }
        return body;
    }

    private static String path(String text) {
        if (text.length() > LONGEST_PATH) {
            throw new BadValueException("the path is longer than " + LONGEST_PATH + " characters", "shorten it");
        }
        String problem = GitReader.whyNoPathInTheTree(text);
        if (problem != null || text.endsWith("/")) {
            throw new BadValueException(
                    Finding.quote(text) + (problem == null ? " names no file" : problem),
                    "write the name of a file below root");
        }
        return Template.strict(text);
    }
}
