package dev.fencepost.edge.config;

import dev.fencepost.edge.config.EndpointReader.Address;
import dev.fencepost.effect.HttpEndpoint;
import dev.fencepost.effect.SinkDefinition;
import dev.fencepost.run.Job;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.nodes.MappingNode;
import org.snakeyaml.engine.v2.nodes.Node;

/** Reads {@code sinks}, and what a sink and an entry of {@code publish} have in common. */
final class SinkReader {

    private static final int MOST_SINKS = 100;
    private static final int MOST_TRIES = 1_000;
    private static final Duration DEFAULT_MAX_AGE = Duration.ofHours(24);
    private static final Duration MOST_MAX_AGE = Duration.ofDays(365);
    private static final Duration SECOND = Duration.ofSeconds(1);
    private static final Duration DEFAULT_TIMEOUT = Duration.ofSeconds(30);
    private static final Duration MOST_TIMEOUT = Duration.ofMinutes(10);
    private static final Duration DEFAULT_LOCK_DELAY = Duration.ofSeconds(15);
    private static final Duration MOST_LOCK_DELAY = Duration.ofHours(1);
    private static final Duration MOST_ABSENT_AFTER = Duration.ofDays(1);
    private static final String EXAMPLE = "sinks: { announce: { http: { url: \"https://HOST/PATH\" } } }";
    private static final String KEY_PLACE = "{key}";

    private final FileNames names;

    SinkReader(FileNames names) {
        this.names = names;
    }

    /** The sinks of {@code sinks:} by name, in the order of the file. */
    Map<String, SinkDefinition> sinks(Section top) {
        Map<String, SinkDefinition> all = new LinkedHashMap<>();
        Section sinks = top.open("sinks", EXAMPLE);
        if (sinks.keys().size() > MOST_SINKS) {
            top.error("sinks", "there are " + sinks.keys().size() + " sinks, the limit is " + MOST_SINKS, "");
            return all;
        }
        for (String name : sinks.keys()) {
            SinkDefinition sink = sink(name, sinks);
            if (sink != null) {
                all.put(name, sink);
            }
        }
        return all;
    }

    private @Nullable SinkDefinition sink(String name, Section sinks) {
        if (!Job.ID.matcher(name).matches()) {
            sinks.findings()
                    .error(
                            sinks.keyAt(name),
                            sinks.path(),
                            "the name " + Finding.quote(name) + " of a sink is not allowed",
                            "a name has 1 to 63 characters of a-z, 0-9, dot, dash and _, and begins with a letter or digit");
        }
        Node value = sinks.value(name);
        if (!(value instanceof MappingNode mapping)) {
            sinks.error(
                    name,
                    value == null ? "the sink is empty" : "a sink must be a mapping, not a " + Section.shape(value),
                    "write " + name + ": { http: { url: … } } or " + name + ": { file: { root: … } }");
            return null;
        }
        Section sink = Section.of(
                mapping, sinks.keyAt(name), sinks.pathOf(name), sinks.findings(), Origin.Kind.JOB, Keys.SINK);
        if (sink.has("git")) {
            sink.error(
                    "git",
                    "git is no sink of its own, since a run needs a worktree from its beginning",
                    "write it under the job: publish: [ { git: { … } } ]");
            return null;
        }
        Values unseen = new Values();
        Given<Duration> maxAge = maxAge(sink, unseen);
        String kind = kind(sink, List.of("http", "file"));
        return switch (kind) {
            case "http" -> http(name, maxAge, sink.section("http", Keys.SINK_HTTP, "http: { url: … }"), unseen);
            case "file" -> files(name, maxAge, sink.section("file", Keys.SINK_FILE, "file: { root: … }"), unseen);
            case null, default -> null;
        };
    }

    /** Which of these keys the entry has; null, after an error, when it is not exactly one, or no mapping. */
    static @Nullable String kind(Section entry, List<String> kinds) {
        List<String> written = kinds.stream().filter(entry::has).toList();
        if (written.size() > 1) {
            entry.error(
                    written.get(1),
                    "there are both " + written.get(0) + " and " + written.get(1),
                    "make two entries of it");
            return null;
        }
        if (written.isEmpty()) {
            if (kinds.stream().noneMatch(entry::isMisspelt)) {
                entry.findings()
                        .error(
                                entry.node(),
                                entry.path(),
                                "there is none of " + String.join(", ", kinds),
                                "write exactly one of them");
            }
            return null;
        }
        String kind = written.getFirst();
        if (!(entry.value(kind) instanceof MappingNode)) {
            entry.section(kind, Keys.SINK, kind + ": { … }");
            return null;
        }
        return kind;
    }

    static Given<Duration> maxAge(Section entry, Values values) {
        Given<Duration> maxAge = Given.or(
                entry.read("max-age", text -> DurationText.parse(text, SECOND, MOST_MAX_AGE)),
                DEFAULT_MAX_AGE,
                "an older effect is not sent any more");
        values.add("max-age", maxAge, DurationText::format);
        return maxAge;
    }

    SinkDefinition.@Nullable Http http(String name, Given<Duration> maxAge, Section http, Values values) {
        EndpointReader reader = new EndpointReader(http, names, values);
        Given<String> method = reader.method(List.of("POST", "PUT", "PATCH", "DELETE"), "POST");
        values.add("method", method, text -> text);
        Address address = reader.address();
        Given<Duration> timeout = Given.or(
                http.read("timeout", text -> DurationText.parse(text, SECOND, MOST_TIMEOUT)),
                DEFAULT_TIMEOUT,
                "of one request");
        values.add("timeout", timeout, DurationText::format);
        Given<Boolean> idempotent = Given.or(
                http.truth("idempotent"), false, "after an unknown outcome a person decides, not a second request");
        Given<Boolean> checksToken =
                Given.or(http.truth("checks-token"), false, "the receiver may know no tokens: lock-delay holds");
        Given<Duration> lockDelay = Given.or(
                http.read("lock-delay", text -> DurationText.parse(text, Duration.ZERO, MOST_LOCK_DELAY)),
                DEFAULT_LOCK_DELAY,
                "after a sender died");
        Given<Integer> maxTries = Given.or(http.number("max-tries", 0, MOST_TRIES), 0, "until it is too old");
        if (address == null) {
            return null;
        }
        HttpEndpoint endpoint = reader.endpoint(method.value(), address, timeout.value());
        SinkDefinition.HttpReadBack readBack = readBack(http, address, endpoint.allowHosts(), values);
        values.add("idempotent", idempotent, String::valueOf);
        values.add("checks-token", checksToken, String::valueOf);
        values.add("lock-delay", lockDelay, DurationText::format);
        values.add("max-tries", maxTries, String::valueOf);
        return new SinkDefinition.Http(
                name,
                maxAge.value(),
                endpoint,
                idempotent.value(),
                checksToken.value(),
                lockDelay.value(),
                maxTries.value(),
                readBack);
    }

    private static SinkDefinition.@Nullable HttpReadBack readBack(
            Section http, Address address, Set<String> allowHosts, Values values) {
        if (!http.has("read-back")) {
            values.add("read-back", "none", Origin.builtIn("the receiver cannot be asked"));
            return null;
        }
        Section section = http.section("read-back", Keys.READ_BACK, "read-back: { url: \"https://HOST/PATH/{key}\" }");
        Given<String> url = section.read("url", text -> readBackUrl(text.strip(), address, allowHosts));
        Given<Pattern> matches = section.read("matches", SinkReader::pattern);
        Given<Duration> absentAfter =
                section.read("absent-after", text -> DurationText.parse(text, Duration.ZERO, MOST_ABSENT_AFTER));
        if (url == null) {
            if (http.value("read-back") instanceof MappingNode) {
                section.missing("url", "there is no url", "write url: \"https://HOST/PATH/{key}\"");
            }
            return null;
        }
        Values shown = values.under("read-back");
        shown.add("url", HttpUrl.shown(HttpUrl.parse(withKey(url.value()))), url.origin());
        shown.add("matches", matches, pattern -> Values.shown(pattern.pattern()), "any 2xx answer will do");
        shown.add("absent-after", absentAfter, DurationText::format, "a 404 proves nothing");
        return new SinkDefinition.HttpReadBack(
                url.value(),
                matches == null ? null : matches.value(),
                absentAfter == null ? null : absentAfter.value());
    }

    private static String readBackUrl(String text, Address address, Set<String> allowHosts) {
        URI uri = HttpUrl.parse(withKey(text));
        int end = text.indexOf('/', text.indexOf("//") + 2);
        if (end < 0 || text.indexOf(KEY_PLACE, end) < 0) {
            throw new BadValueException(
                    "there is no {key} after the host, so the answer would say nothing of this effect",
                    "write {key} where the receiver has the idempotency key");
        }
        if (!HttpUrl.host(uri).equals(HttpUrl.host(address.uri())) && !allowHosts.contains(HttpUrl.host(uri))) {
            throw new BadValueException(
                    "the host is neither that of the sink's url nor one of allow-hosts", "add both to allow-hosts");
        }
        return text;
    }

    private static String withKey(String text) {
        return text.replace(KEY_PLACE, "key");
    }

    private static Pattern pattern(String text) {
        try {
            return Pattern.compile(text);
        } catch (PatternSyntaxException e) {
            throw new BadValueException(
                    Finding.quote(text) + " is no regular expression: " + e.getDescription(),
                    "the rules are those of Java; put it in single quotes");
        }
    }

    SinkDefinition.@Nullable Files files(String name, Given<Duration> maxAge, Section file, Values values) {
        Given<Path> root = file.read("root", text -> FileName.resolve(names.dir(), text));
        if (root == null) {
            file.missing("root", "there is no root", "write root: DIRECTORY, below which the files are placed");
            return null;
        }
        String problem = FileName.whyNoDirectory(root.value());
        if (problem != null) {
            file.error("root", problem, "create it, or name another one; ~ and $NAME are not expanded");
        }
        values.add("root", root, Path::toString);
        return new SinkDefinition.Files(name, maxAge.value(), root.value());
    }
}
