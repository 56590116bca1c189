package dev.fencepost.edge.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.effect.HttpEndpoint;
import dev.fencepost.effect.SinkDefinition;
import dev.fencepost.effect.TextOrFile;
import dev.fencepost.run.Action;
import dev.fencepost.run.Job;
import dev.fencepost.run.Publication;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Sinks, what a job publishes, HTTP actions: good ones arrive as written, bad ones are refused at their place. */
class EffectsInTheFileTest {

    @TempDir
    Path dir;

    @BeforeEach
    void makeFiles() throws IOException {
        Files.createDirectories(dir.resolve("blog/.git"));
        Files.createDirectories(dir.resolve(".git"));
        Files.createDirectories(dir.resolve("bare/objects"));
        Files.createDirectories(dir.resolve("bare/refs"));
        Files.writeString(dir.resolve("bare/HEAD"), "ref: refs/heads/main\n");
        Files.createDirectories(dir.resolve("www"));
        secret("token", "Bearer CANARY-7f3a\n", "rw-------");
        secret("hmac", "CANARY-8b2c", "rw-r-----");
        secret("url", "https://hooks.example/CANARY-9d1e?token=CANARY-9d1e\n", "rw-------");
        secret("open", "CANARY-open", "rw-r--r--");
        secret("empty", "\n", "rw-------");
        secret("two-lines", "CANARY-a\nCANARY-b", "rw-------");
        secret("no-url", "CANARY-no-url", "rw-------");
        secret("known_hosts", "git.example ssh-ed25519 AAAA\n", "rw-r--r--");
    }

    private void secret(String name, String text, String rights) throws IOException {
        Path file = Files.writeString(dir.resolve(name), text);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString(rights));
    }

    private JobsFile file(String yaml) throws IOException {
        return Readings.accepted(Readings.of(dir, yaml));
    }

    private Job job(String lines) throws IOException {
        return file("jobs:\n  a:\n" + lines.indent(4)).jobs().getFirst();
    }

    private static <T> T only(JobsFile file, Class<T> type) {
        return assertInstanceOf(type, file.allSinks().getFirst());
    }

    @Test
    void anHttpSinkWithItsUrlAloneHasAllDefaults() throws IOException {
        JobsFile file = file("sinks: { hook: { http: { url: 'https://Hooks.example/x' } } }\njobs: {}\n");
        assertEquals(Set.of("hook"), file.sinks().keySet());
        assertEquals(
                new SinkDefinition.Http(
                        "hook",
                        Duration.ofHours(24),
                        new HttpEndpoint(
                                "POST",
                                new TextOrFile("https://Hooks.example/x", null),
                                Map.of(),
                                "application/json",
                                Duration.ofSeconds(30),
                                Set.of(),
                                false,
                                null),
                        false,
                        false,
                        Duration.ofSeconds(15),
                        0,
                        null),
                only(file, SinkDefinition.class));
    }

    @Test
    void everyValueOfAnHttpSinkCanBeWritten() throws IOException {
        Reading reading = Readings.of(dir, """
                sinks:
                  announce:
                    max-age: 2h
                    http:
                      url-file: url
                      method: PUT
                      content-type: text/plain; charset=utf-8
                      headers: { X-Kind: news, Accept: "*/*" }
                      header-files: { Authorization: token }
                      timeout: 10m
                      allow-hosts: [Hooks.Example, status.example]
                      allow-private: true
                      sign: { secret-file: hmac, header: X-Signature }
                      read-back: { url: "https://status.example/{key}", matches: '"done": *true', absent-after: 5m }
                      idempotent: true
                      checks-token: true
                      lock-delay: 0s
                      max-tries: 7
                jobs: {}
                """);
        JobsFile file = Readings.accepted(reading);
        SinkDefinition.Http sink = only(file, SinkDefinition.Http.class);
        assertEquals(Duration.ofHours(2), sink.maxAge());
        assertEquals(
                new HttpEndpoint(
                        "PUT",
                        new TextOrFile(null, dir.resolve("url")),
                        Map.of(
                                "X-Kind", new TextOrFile("news", null),
                                "Accept", new TextOrFile("*/*", null),
                                "Authorization", new TextOrFile(null, dir.resolve("token"))),
                        "text/plain; charset=utf-8",
                        Duration.ofMinutes(10),
                        Set.of("hooks.example", "status.example"),
                        true,
                        new HttpEndpoint.Signature(dir.resolve("hmac"), "X-Signature")),
                sink.endpoint());
        assertTrue(sink.idempotent());
        assertTrue(sink.checksToken());
        assertEquals(Duration.ZERO, sink.lockDelay());
        assertEquals(7, sink.maxTries());
        SinkDefinition.HttpReadBack readBack = java.util.Objects.requireNonNull(sink.readBack());
        assertEquals("https://status.example/{key}", readBack.url());
        assertTrue(java.util.Objects.requireNonNull(readBack.matches())
                .matcher("{\"done\":true}")
                .find());
        assertEquals(Duration.ofMinutes(5), readBack.absentAfter());
        assertEquals(
                List.of("there are no jobs"),
                reading.warnings().stream().map(Finding::message).toList());
    }

    @Test
    void aFileSinkHasItsRootFromTheFoldersOfTheFile() throws IOException {
        JobsFile file = file("sinks: { site: { file: { root: www }, max-age: 1d } }\njobs: {}\n");
        assertEquals(
                new SinkDefinition.Files("site", Duration.ofDays(1), dir.resolve("www")),
                only(file, SinkDefinition.class));
    }

    @Test
    void aGitPublicationWithItsRepoAloneHasAllDefaults() throws IOException {
        Job job = job("command: [date]\npublish:\n  - git: { repo: blog }");
        assertEquals(
                List.of(new Publication(
                        "git",
                        new SinkDefinition.Git(
                                "a/git",
                                Duration.ofHours(24),
                                dir.resolve("blog"),
                                "origin",
                                "main",
                                List.of("."),
                                "{job} {slot}",
                                "Fencepost <fencepost@localhost>",
                                null,
                                Duration.ofMinutes(2),
                                null,
                                null,
                                null),
                        null,
                        null)),
                job.publish());
        assertFalse(job.policies().succeedIf().filesChanged());
    }

    @Test
    void everyValueOfAGitPublicationCanBeWritten() throws IOException {
        Job job = job("""
                command: [date]
                succeed-if: { files-changed: true }
                publish:
                  - max-age: 30m
                    git:
                      remote: git@git.example:blog.git
                      branch: feature/x_1.0
                      paths: [content/, ./a b.md]
                      message: "{job} {slot} {attempt} {fence} {}"
                      author: "Bot ☃ <bot@example.org>"
                      fence-ref: refs/heads/tokens
                      timeout: 1h
                      ssh-key: token
                      known-hosts: known_hosts
                      credentials-file: hmac
                """);
        assertTrue(job.policies().succeedIf().filesChanged());
        assertEquals(
                new SinkDefinition.Git(
                        "a/git",
                        Duration.ofMinutes(30),
                        null,
                        "git@git.example:blog.git",
                        "feature/x_1.0",
                        List.of("content", "a b.md"),
                        "{job} {slot} {attempt} {fence} {}",
                        "Bot ☃ <bot@example.org>",
                        "refs/heads/tokens",
                        Duration.ofHours(1),
                        dir.resolve("token"),
                        dir.resolve("known_hosts"),
                        dir.resolve("hmac")),
                job.publish().getFirst().sink());
    }

    @ParameterizedTest
    @CsvSource({
        "https://git.example/blog.git",
        "https://user@git.example/blog.git",
        "ssh://git@git.example:2222/blog.git",
        "git.example:blog.git",
        "file:///srv/git/blog.git",
        "/srv/git/blog.git"
    })
    void anAddressNeedsNoRepo(String remote) throws IOException {
        Job job = job("command: [date]\npublish: [ { git: { remote: '" + remote + "' } } ]");
        assertEquals(remote, ((SinkDefinition.Git) job.publish().getFirst().sink()).remote());
    }

    @Test
    void aBareRepositoryIsOneToo() throws IOException {
        assertEquals(
                1,
                job("command: [date]\npublish: [ { git: { repo: bare } } ]")
                        .publish()
                        .size());
    }

    @Test
    void publicationsAreNamedByKindAndNumber() throws IOException {
        JobsFile file = file("""
                sinks: { hook: { http: { url: "https://h.example/" } } }
                jobs:
                  a:
                    command: [date]
                    publish:
                      - http: { url: "https://h.example/1", body: '{"text": "{slot}"}' }
                      - file: { root: www, path: "digest-{slot}.md" }
                      - http: { url: "https://h.example/2" }
                      - file: { root: www, path: x/y.md, body: "{job}" }
                """);
        List<Publication> publish = file.jobs().getFirst().publish();
        assertEquals(
                List.of("http", "file", "http-2", "file-2"),
                publish.stream().map(Publication::name).toList());
        assertEquals(
                List.of("hook", "a/http", "a/file", "a/http-2", "a/file-2"),
                file.allSinks().stream().map(SinkDefinition::name).toList());
        assertEquals("{\"text\": \"{slot}\"}", publish.get(0).body());
        assertNull(publish.get(1).body());
        assertEquals("digest-{slot}.md", publish.get(1).path());
        assertNull(publish.get(2).body());
        assertEquals("{job}", publish.get(3).body());
        assertEquals(List.of(), file.warnings());
    }

    @Test
    void aCallOfAServiceTakesTheTimeoutOfTheJob() throws IOException {
        Job job = job("timeout: 5m\nhttp: { post: 'https://agent.example/run', body: '{\"a\": 1}' }");
        assertEquals(
                new Action.HttpCall(
                        new HttpEndpoint(
                                "POST",
                                new TextOrFile("https://agent.example/run", null),
                                Map.of(),
                                "application/json",
                                Duration.ofMinutes(5),
                                Set.of(),
                                false,
                                null),
                        "{\"a\": 1}"),
                job.action());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "put: 'https://agent.example/run' | PUT",
                "get: 'https://agent.example/run' | GET",
                "url-file: url | POST",
                "url-file: url, method: DELETE | DELETE"
            })
    void theMethodStandsAtTheUrlOrBesideTheFile(String keys, String method) throws IOException {
        Action.HttpCall call = (Action.HttpCall) job("http: { " + keys + " }").action();
        assertEquals(method, call.endpoint().method());
        assertEquals(Duration.ofHours(24), call.endpoint().timeLimit());
        assertNull(call.body());
    }

    @Test
    void workingDirAndEnvUnderDefaultsDoNoHarmToACall() throws IOException {
        JobsFile file = file("defaults: { working-dir: www, env: { A: x } }\n"
                + "jobs: { a: { http: { get: 'https://agent.example/' } } }\n");
        assertInstanceOf(Action.HttpCall.class, file.jobs().getFirst().action());
    }

    @Test
    void aCommandMayRunAsAnotherUserWhereTheServiceIsRoot() throws IOException {
        Reading reading = Readings.of(dir, "jobs: { a: { command: [date], run-as: root } }");
        boolean root = Files.readAllLines(Path.of("/proc/self/status")).stream()
                .anyMatch(line -> line.matches("Uid:\\s+\\d+\\s+0\\s.*"));
        if (root) {
            Job job = Readings.accepted(reading).jobs().getFirst();
            assertEquals("root", EffectiveValuesTest.command(job).runAs());
        } else {
            assertTrue(reading.errors().getFirst().message().contains("only root may start"), () -> "" + reading);
        }
    }

    /** One wrong thing: the file around it, where it is told, and what is told. */
    record Bad(String yaml, String path, String... parts) {
        @Override
        public String toString() {
            return yaml;
        }
    }

    private static Bad sink(String keys, String path, String... parts) {
        return new Bad("sinks: { s: { " + keys + " } }\njobs: {}\n", path, parts);
    }

    private static Bad http(String keys, String path, String... parts) {
        String url = keys.contains("url") ? "" : "url: 'https://h.example/', ";
        return sink("http: { " + url + keys + " }", "sinks.s.http" + path, parts);
    }

    private static Bad git(String keys, String key, String... parts) {
        String repo = keys.contains("repo:") || keys.contains("remote:") ? "" : "repo: blog, ";
        return publish("git: { " + repo + keys + " }", ".git" + key, parts);
    }

    private static Bad publish(String entry, String path, String... parts) {
        return job("command: [date], publish: [ { " + entry + " } ]", ".publish[0]" + path, parts);
    }

    private static Bad call(String keys, String path, String... parts) {
        return job("http: { " + keys + " }", ".http" + path, parts);
    }

    private static Bad job(String keys, String path, String... parts) {
        return new Bad("jobs: { a: { " + keys + " } }\n", "jobs.a" + path, parts);
    }

    static Stream<Bad> sinks() {
        return Stream.of(
                new Bad("sinks: []\njobs: {}\n", "sinks", "mapping, not a list"),
                new Bad("sinks: { s: x }\njobs: {}\n", "sinks.s", "mapping, not a single value"),
                new Bad("sinks: { s: }\njobs: {}\n", "sinks.s", "empty", "s: { http:"),
                new Bad("sinks: { S: { file: { root: www } } }\njobs: {}\n", "sinks", "\"S\"", "a-z"),
                new Bad("sinks: { a/git: { file: { root: www } } }\njobs: {}\n", "sinks", "\"a/git\""),
                new Bad(
                        "sinks:\n  s: { file: { root: www } }\n  s: { file: { root: www } }\njobs: {}\n",
                        "sinks.s",
                        "given twice, first in line 2"),
                sink("max-age: 1h", "sinks.s", "none of http, file", "exactly one"),
                sink("http: { url: 'https://h/' }, file: { root: www }", "sinks.s.file", "both http and file"),
                sink("htpp: { url: 'https://h/' }", "sinks.s.htpp", "did you mean http?"),
                sink("git: { repo: blog }", "sinks.s.git", "under the job: publish:"),
                sink("http: 'https://h/'", "sinks.s.http", "mapping, not a single value"),
                sink("file: { root: www }, max-age: 0s", "sinks.s.max-age", "zero"),
                sink("file: {}", "sinks.s.file.root", "no root"),
                sink("file: { root: nowhere }", "sinks.s.file.root", "does not exist"),
                sink("file: { root: token }", "sinks.s.file.root", "not a directory"),
                sink("file: { root: www, body: x }", "sinks.s.file.body", "unknown"),
                http("method: GET", ".method", "\"GET\" is no method here", "POST, PUT, PATCH, DELETE"),
                http("method: post", ".method", "\"post\" is no method here"),
                sink("http: {}", "sinks.s.http.url", "no url"),
                http("url: hooks.example/x", ".url", "https://"),
                http("url: 'ftp://h.example/CANARY'", ".url", "https://"),
                http("url: 'https:///CANARY'", ".url", "names no host"),
                http("url: 'https://h.example/a CANARY'", ".url", "no URL", "at character 20"),
                http("url: 'https://u:CANARY@h.example/'", ".url", "user or a password", "Authorization"),
                http("url: 'https://CANARY@h.example/'", ".url", "user or a password"),
                http("url: 'https://h.example/#CANARY'", ".url", "fragment"),
                http("url: 'https://h.example:70000/'", ".url", "port"),
                http("url: 'https://h.example/', url-file: url", ".url-file", "both url and url-file"),
                http("url-file: nowhere", ".url-file", "does not exist"),
                http("url-file: no-url", ".url-file", "what stands in the file: the URL does not begin with"),
                http("url-file: open", ".url-file", "everyone on this host", "chmod 600"),
                http("url-file: empty", ".url-file", "is empty"),
                http("url-file: www", ".url-file", "is a directory"),
                http("url-file: /dev/null", ".url-file", "no plain file"),
                http("url: 'http://127.0.0.1:8080/'", ".url", "this machine", "allow-hosts: [127.0.0.1]"),
                http("url: 'http://localhost/'", ".url", "this machine", "allow-private"),
                http("url: 'https://10.0.0.1/'", ".url", "this machine"),
                http("url: 'https://169.254.169.254/x'", ".url", "this machine"),
                http("url: 'https://[fd00::1]/'", ".url", "this machine", "[\"[fd00::1]\"]"),
                http("content-type: json", ".content-type", "\"json\" is no media type"),
                http("allow-hosts: [other.example]", ".allow-hosts", "host of the URL is not among them"),
                http("allow-hosts: []", ".allow-hosts", "empty"),
                http("allow-hosts: h.example", ".allow-hosts", "list, not a single value"),
                http(
                        "allow-hosts: [h.example, 'https://x.example']",
                        ".allow-hosts",
                        "\"https://x.example\" is no host"),
                http("allow-hosts: [h.example, '*.example']", ".allow-hosts", "\"*.example\" is no host"),
                http("allow-private: yes", ".allow-private", "\"yes\" is neither true nor false"),
                http("timeout: 500ms", ".timeout", "too short"),
                http("timeout: 11m", ".timeout", "too long", "10m"),
                http("max-tries: -1", ".max-tries", "0 to 1000"),
                http("lock-delay: 2h", ".lock-delay", "too long"),
                http("headers: { 'X Y': a }", ".headers.X Y", "no name of a header"),
                http("headers: { Host: a }", ".headers.Host", "set for each request"),
                http("headers: { content-length: 1 }", ".headers.content-length", "set for each request"),
                http("headers: { Idempotency-Key: a }", ".headers.Idempotency-Key", "set for each request"),
                http("header-files: { fencing-token: token }", ".header-files.fencing-token", "set for each request"),
                http("headers: { Fencepost-Job: a }", ".headers.Fencepost-Job", "set for each request"),
                http("headers: { Content-Type: a }", ".headers.Content-Type", "content-type: TYPE"),
                http("headers: { X-A: a, x-a: b }", ".headers.x-a", "twice, first as sinks.s.http.headers.X-A"),
                http(
                        "headers: { X-A: a }, header-files: { x-A: token }",
                        ".header-files.x-A",
                        "twice, first as sinks.s.http.headers.X-A"),
                http("headers: { X-A: \"a\\r\\nB: CANARY\" }", ".headers.X-A", "line end"),
                http("headers: { X-A: }", ".headers.X-A", "null"),
                http("headers: [X-A]", ".headers", "mapping, not a list"),
                http("header-files: { Authorization: open }", ".header-files.Authorization", "everyone", "chmod 600"),
                http("header-files: { Authorization: nowhere }", ".header-files.Authorization", "does not exist"),
                http("header-files: { Authorization: two-lines }", ".header-files.Authorization", "more than one line"),
                http("header-files: { Authorization: }", ".header-files.Authorization", "no file"),
                http("sign: {}", ".sign.secret-file", "no secret-file"),
                http("sign: hmac", ".sign", "mapping, not a single value"),
                http("sign: { secret-file: open }", ".sign.secret-file", "chmod 600"),
                http("sign: { secret-file: hmac, header: 'a b' }", ".sign.header", "\"a b\""),
                http(
                        "headers: { X-A: a }, sign: { secret-file: hmac, header: x-a }",
                        ".sign.header",
                        "under headers too"),
                sink("http: { url: 'https://h.example/', read-back: {} }", "sinks.s.http.read-back.url", "no url"),
                sink(
                        "http: { url: 'https://h.example/', read-back: { url: 'https://h.example/x' } }",
                        "sinks.s.http.read-back.url",
                        "no {key}"),
                sink(
                        "http: { url: 'https://h.example/', read-back: { url: 'https://{key}.example/x' } }",
                        "sinks.s.http.read-back.url",
                        "no {key} after the host"),
                sink(
                        "http: { url: 'https://h.example/', read-back: { url: 'https://other.example/{key}' } }",
                        "sinks.s.http.read-back.url",
                        "neither that of the sink's url nor one of allow-hosts"),
                sink(
                        "http: { url: 'https://h.example/', read-back: { url: 'https://h.example/{key}', matches: '(' } }",
                        "sinks.s.http.read-back.matches",
                        "\"(\" is no regular expression"),
                sink(
                        "http: { url: 'https://h.example/', read-back: { url: 'https://h.example/{key}', absent-after: 2d } }",
                        "sinks.s.http.read-back.absent-after",
                        "too long"),
                http("body: x", ".body", "unknown"));
    }

    static Stream<Bad> publications() {
        return Stream.of(
                job("command: [date], publish: { git: { repo: blog } }", ".publish", "list, not a mapping"),
                job("command: [date], publish: [git]", ".publish[0]", "mapping, not a single value"),
                publish("max-age: 1h", "", "none of git, http, file"),
                publish("git: { repo: blog }, http: { url: 'https://h/' }", ".http", "both git and http"),
                publish("gti: { repo: blog }", ".gti", "did you mean git?"),
                job(
                        "command: [date], publish: [ { git: { repo: blog } }, { git: { repo: bare } } ]",
                        ".publish[1].git",
                        "git twice"),
                job(
                        "http: { get: 'https://h/' }, publish: [ { git: { repo: blog } } ]",
                        ".publish[0].git",
                        "no worktree"),
                git("repo: nowhere", ".repo", "does not exist"),
                git("repo: www", ".repo", "no git repository", ".git"),
                publish("git: {}", ".git.repo", "no repo", "\"origin\" is a name"),
                git("remote: upstream", ".repo", "no repo", "\"upstream\" is a name"),
                git("remote: ''", ".remote", "neither"),
                git("remote: '--upload-pack=x'", ".remote", "neither"),
                git("remote: 'ext::sh -c x'", ".remote", "neither"),
                git("remote: './x'", ".remote", "neither"),
                git("remote: 'https://user:CANARY@git.example/x'", ".remote", "password", "credentials-file"),
                git("branch: ''", ".branch", "no name of a branch"),
                git("branch: 'a b'", ".branch", "a blank"),
                git("branch: a..b", ".branch", ".."),
                git("branch: '-x'", ".branch", "no name of a branch"),
                git("branch: HEAD", ".branch", "no name of a branch"),
                git("branch: x.lock", ".branch", ".lock"),
                git("branch: a/.b", ".branch", "dot"),
                git("branch: a//b", ".branch", "slash"),
                git("branch: a/", ".branch", "slash"),
                git("branch: 'a~1'", ".branch", "~"),
                git("branch: 'a:b'", ".branch", ":"),
                git("branch: 'a@{1}'", ".branch", "@{"),
                git("branch: '@'", ".branch", "git does not allow it"),
                git("branch: refs/heads/main", ".branch", "a ref, not a branch"),
                git("fence-ref: tokens", ".fence-ref", "no full name of a ref"),
                git("fence-ref: refs/x", ".fence-ref", "no full name of a ref"),
                git("fence-ref: 'refs/fencepost/a b'", ".fence-ref", "blank"),
                git("fence-ref: refs/heads/main", ".fence-ref", "in the way of the branch"),
                git("fence-ref: refs/heads/main/x", ".fence-ref", "in the way of the branch"),
                git("paths: content", ".paths", "list, not a single value"),
                git("paths: []", ".paths", "empty"),
                git("paths: [/etc]", ".paths", "\"/etc\" is not relative"),
                git("paths: [a/../../b]", ".paths", "leads out"),
                git("paths: ['']", ".paths", "no path"),
                git("paths: [.git/hooks]", ".paths", "into .git"),
                git("paths: [':(glob)*']", ".paths", "colon"),
                git("message: ' '", ".message", "empty"),
                git("message: '{date}'", ".message", "\"{date}\"", "{job}, {slot}, {attempt} and {fence}"),
                git("author: Bot", ".author", "\"Bot\" is no author", "NAME <ADDRESS>"),
                git("author: \"A\\nB <x>\"", ".author", "no author"),
                git("author: 'Bot <>'", ".author", "no author"),
                git("timeout: 0s", ".timeout", "zero"),
                git("ssh-key: open", ".ssh-key", "chmod 600"),
                git("known-hosts: nowhere", ".known-hosts", "does not exist"),
                git("credentials-file: open", ".credentials-file", "chmod 600"),
                publish("file: { root: www }", ".file.path", "no path"),
                publish("file: { root: www, path: ../x }", ".file.path", "leads out"),
                publish("file: { root: www, path: /x }", ".file.path", "not relative"),
                publish("file: { root: www, path: x/ }", ".file.path", "names no file"),
                publish("file: { root: www, path: '{day}.md' }", ".file.path", "\"{day}\""),
                publish("http: { body: x }", ".http.url", "no url"),
                job("command: [date], succeed-if: { files-changed: true }", ".succeed-if.files-changed", "git"),
                job(
                        "command: [date], publish: [ { file: { root: www, path: x } } ], succeed-if: { files-changed: true }",
                        ".succeed-if.files-changed",
                        "without git"),
                job("command: [date], succeed-if: { files-changed: 1 }", ".succeed-if.files-changed", "neither true"),
                job("command: [date], run-as: no-such-user-here", ".run-as", "no user \"no-such-user-here\""),
                job("command: [date], run-as: '-u'", ".run-as", "no name of a user"),
                new Bad("defaults: { publish: [] }\njobs: {}\n", "defaults.publish", "unknown", "publish, at a job"));
    }

    static Stream<Bad> calls() {
        return Stream.of(
                job("command: [date], http: { get: 'https://h/' }", ".http", "both command and http"),
                job("http: 'https://h/'", ".http", "mapping, not a single value"),
                job("htpp: { get: 'https://h/' }", ".htpp", "did you mean http?"),
                call("body: x", "", "no URL", "post:"),
                call("url: 'https://h/'", ".url", "post: URL"),
                call("post: 'https://h/', get: 'https://h/'", ".get", "more than one URL"),
                call("post: 'https://h/', url-file: url", ".url-file", "more than one URL"),
                call("post: 'https://h/', method: PUT", ".method", "at the URL already"),
                call("url-file: url, method: FETCH", ".method", "\"FETCH\""),
                call("get: 'https://h/', body: x", ".body", "a GET has no body"),
                call("get: 'https://h/', timeout: 5s", ".timeout", "at the job itself"),
                call("get: 'https://h/', idempotent: true", ".idempotent", "unknown"),
                call("get: 'https://u:CANARY@h/'", ".get", "user or a password"),
                job("http: { get: 'https://h/' }, working-dir: www", ".working-dir", "belongs to a command"),
                job("http: { get: 'https://h/' }, env: { A: x }", ".env", "belongs to a command"),
                job("http: { get: 'https://h/' }, stdin: x", ".stdin", "belongs to a command"),
                job("http: { get: 'https://h/' }, run-as: root", ".run-as", "belongs to a command"));
    }

    @ParameterizedTest
    @MethodSource({"sinks", "publications", "calls"})
    void isRefusedAtItsPlaceAndNoSecretIsRepeated(Bad bad) throws IOException {
        Reading reading = Readings.of(dir, bad.yaml);
        assertEquals(1, reading.errors().size(), () -> "" + Readings.texts(reading.errors()));
        Finding error = reading.errors().getFirst();
        assertEquals(bad.path, error.path());
        assertTrue(error.line() > 0 && error.column() > 0, error.text());
        for (String part : bad.parts) {
            assertTrue(
                    (error.message() + " " + error.hint()).contains(part), () -> "no " + part + " in " + error.text());
        }
        assertFalse(Readings.texts(reading.errors()).toString().contains("CANARY"));
        assertFalse(Readings.texts(reading.warnings()).toString().contains("CANARY"));
    }

    @ParameterizedTest
    @CsvSource({"'http://127.0.0.1:1/x', '127.0.0.1'", "'http://[::1]/', '\"[::1]\"'", "'https://10.1.2.3/', '10.1.2.3'"
    })
    void aPrivateAddressThatIsNamedMayBeCalled(String url, String host) throws IOException {
        String keys = "url: '" + url + "', allow-hosts: [" + host + "]";
        assertEquals(
                1,
                file("sinks: { s: { http: { " + keys + " } } }\njobs: {}\n")
                        .sinks()
                        .size());
    }

    @Test
    void thereAreLimits() throws IOException {
        StringBuilder sinks = new StringBuilder("sinks:\n");
        for (int i = 0; i <= 100; i++) {
            sinks.append("  s").append(i).append(": { file: { root: www } }\n");
        }
        assertEquals(
                "there are 101 sinks, the limit is 100",
                Readings.of(dir, sinks + "jobs: {}\n").errors().getFirst().message());
        String entry = "{ file: { root: www, path: x } }";
        assertEquals(
                "there are 21 entries, the limit is 20",
                Readings.of(
                                dir,
                                "jobs: { a: { command: [date], publish: [ " + (entry + ", ").repeat(20) + entry
                                        + " ] } }")
                        .errors()
                        .getFirst()
                        .message());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "url: 'http://h.example/' | plain http",
                "url: 'https://h.example/?a=1&api_key=CANARY' | a secret in the URL",
                "url: 'https://h.example/', headers: { Authorization: Bearer CANARY } | looks like a secret",
                "url: 'https://h.example/', headers: { cookie: CANARY } | looks like a secret",
                "url: 'https://h.example/', headers: { X-Api-Key: CANARY } | looks like a secret",
                "url: 'https://h.example/', headers: { X-Hub-Secret: CANARY } | looks like a secret",
                "url: 'https://h.example/', body: 'Hello {name}' | \"{name}\", so it is sent as it is"
            })
    void doubtfulThingsAreWarnedOf(String keys, String part) throws IOException {
        Reading reading = Readings.of(dir, "jobs: { a: { command: [date], publish: [ { http: { " + keys + " } } ] } }");
        Readings.accepted(reading);
        assertEquals(1, reading.warnings().size(), () -> "" + Readings.texts(reading.warnings()));
        Finding warning = reading.warnings().getFirst();
        assertTrue(warning.message().contains(part), warning.text());
        assertFalse(warning.text().contains("CANARY"), warning.text());
    }

    @ParameterizedTest
    @CsvSource({"http://localhost:8080/", "http://127.0.0.1/", "'http://[::1]:9/'"})
    void plainHttpStaysOnThisHost(String url) throws IOException {
        Reading reading = Readings.of(
                dir,
                "jobs: { a: { command: [date], publish: [ { http: { url: '" + url + "', allow-private: true } } ] } }");
        Readings.accepted(reading);
        assertEquals(List.of(), reading.warnings());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "[curl, -H, 'Authorization: Bearer ${API_TOKEN}', 'https://example.invalid'] | like shell syntax",
                "[curl, -H, 'Authorization: Bearer CANARY-7f3a', 'https://example.invalid'] | looks like a secret",
                "[curl, -H, 'x-api-key: CANARY-7f3a', 'https://example.invalid'] | looks like a secret"
            })
    void aSecretInTheWordsOfACommandIsWarnedOf(String command, String part) throws IOException {
        Path curl = Files.writeString(dir.resolve("curl"), "#!/bin/sh\n");
        Files.setPosixFilePermissions(curl, PosixFilePermissions.fromString("rwx------"));
        Reading reading = Readings.of(dir, "jobs: { a: { command: " + command + ", env: { PATH: " + dir + " } } }");
        Readings.accepted(reading);
        assertTrue(
                reading.warnings().stream().anyMatch(f -> f.message().contains(part)),
                () -> "" + Readings.texts(reading.warnings()));
        assertFalse(Readings.texts(reading.warnings()).toString().contains("CANARY"));
    }

    @Test
    void effectiveValuesShowNoSecret() throws IOException {
        Definition a = Readings.job(Readings.of(dir, """
                jobs:
                  a:
                    http:
                      url-file: url
                      headers: { X-Kind: news, X-Token: CANARY-1 }
                      header-files: { Authorization: token }
                      sign: { secret-file: hmac }
                    publish:
                      - http: { url: "https://h.example:8443/CANARY-2?x=CANARY-3", read-back: { url: "https://h.example:8443/CANARY-4/{key}" } }
                      - http: { url: "https://h.example" }
                """), "a");
        Map<String, String> values = a.values().stream()
                .collect(java.util.stream.Collectors.toMap(Definition.Value::key, Definition.Value::text));
        assertFalse((values + "" + a.job() + a.job().action() + a.job().publish()).contains("CANARY-7"));
        assertFalse(values.toString().contains("CANARY"), values::toString);
        assertEquals(dir.resolve("url").toString(), values.get("http.url-file"));
        assertEquals("news", values.get("http.headers.X-Kind"));
        assertEquals("***", values.get("http.headers.X-Token"));
        assertEquals(dir.resolve("token").toString(), values.get("http.header-files.Authorization"));
        assertEquals("https://h.example:8443/…", values.get("publish.http.url"));
        assertEquals("https://h.example:8443/…", values.get("publish.http.read-back.url"));
        assertEquals("https://h.example", values.get("publish.http-2.url"));
        assertEquals("1d", values.get("publish.http.max-age"));
        assertNull(values.get("command"));
    }

    @Test
    void aTokenInPlaceOfAUserIsNotShown() throws IOException {
        Definition a = Readings.job(
                Readings.of(
                        dir,
                        "jobs: { a: { command: [date], publish: [ { git: { remote: 'https://CANARY@git.example/x.git' } } ] } }"),
                "a");
        assertFalse(a.values().toString().contains("CANARY"), () -> "" + a.values());
        assertTrue(a.values().toString().contains("https://***@git.example/x.git"), () -> "" + a.values());
    }

    @Test
    void theBlogIsGoodOnceItIsARepository() throws IOException {
        Path blog = dir.resolve("example");
        Files.createDirectories(blog.resolve(".git"));
        for (String name : List.of("fencepost.yaml", "write-article.sh", "template.md")) {
            Files.copy(
                    Path.of("deploy/examples/blog").resolve(name),
                    blog.resolve(name),
                    java.nio.file.StandardCopyOption.COPY_ATTRIBUTES);
        }
        Reading reading = Readings.of(blog.resolve("fencepost.yaml"));
        Job job = Readings.accepted(reading).jobs().getFirst();
        assertEquals(List.of(), reading.warnings());
        assertTrue(job.policies().succeedIf().filesChanged());
        SinkDefinition.Git git = (SinkDefinition.Git) job.publish().getFirst().sink();
        assertEquals(blog, git.repo());
        assertEquals(EffectiveValuesTest.command(job).workingDir(), git.repo());
        assertEquals(List.of("content"), git.paths());
    }

    @Test
    void theArticleIsGoodOnceItsRepositoryAndItsSecretsAreThere() throws IOException {
        Files.createDirectories(dir.resolve("srv/.git"));
        Files.writeString(dir.resolve("article.env"), "ANTHROPIC_API_KEY=sk-test\n");
        Files.writeString(dir.resolve("blog-key"), "a key\n");
        for (String secret : List.of("article.env", "blog-key")) {
            Files.setPosixFilePermissions(dir.resolve(secret), PosixFilePermissions.fromString("rw-------"));
        }
        String text = Files.readString(Path.of("deploy/examples/article.yaml"))
                .replace("/etc/fencepost/", dir + "/")
                .replace("/srv/blog", dir.resolve("srv").toString())
                .replace("/var/lib/fencepost", dir.toString());
        Reading reading = Readings.of(dir, text);
        Job job = Readings.accepted(reading).jobs().getFirst();
        assertEquals(List.of(), reading.warnings());
        assertTrue(
                job.schedule().text().startsWith("every PT45M "), job.schedule().text());
        assertTrue(job.policies().succeedIf().filesChanged());
        SinkDefinition.Git git = (SinkDefinition.Git) job.publish().getFirst().sink();
        assertEquals(dir.resolve("srv"), git.repo());
        assertEquals(List.of("content"), git.paths());
        assertEquals(Set.of("sk-test"), job.secrets());
    }

    @Test
    void aSecretMayBeACredentialOfSystemd() throws IOException {
        Path given = Files.createDirectories(dir.resolve("given"));
        for (String name : List.of("key", "job.env", "hook")) {
            Files.writeString(given.resolve(name), name.equals("hook") ? "https://hooks.example/x" : "TOKEN=sk-given");
            Files.setPosixFilePermissions(given.resolve(name), PosixFilePermissions.fromString("r--r-----"));
        }
        Files.createDirectories(dir.resolve("blog/.git"));
        Path file = Files.writeString(dir.resolve("fencepost.yaml"), """
                jobs:
                  a:
                    every: 1h
                    command: [date]
                    env-file: credential:job.env
                    publish: [ { git: { repo: blog, ssh-key: credential:key } } ]
                    notify: [ { webhook: { url-file: credential:hook } } ]
                """);
        Job job = Readings.accepted(reader(Map.of("PATH", "/usr/bin:/bin", "CREDENTIALS_DIRECTORY", given.toString()))
                        .read(file))
                .jobs()
                .getFirst();
        assertEquals(Set.of("sk-given"), job.secrets());
        assertEquals(
                given.resolve("key"),
                ((SinkDefinition.Git) job.publish().getFirst().sink()).sshKey());

        List<Finding> outside =
                reader(Map.of("PATH", "/usr/bin:/bin")).read(file).errors();
        assertEquals(3, outside.size(), outside::toString);
        assertTrue(
                outside.stream()
                        .allMatch(each -> each.text().contains("$CREDENTIALS_DIRECTORY is not set")
                                && each.text().contains("LoadCredential=")),
                outside::toString);

        Files.delete(given.resolve("key"));
        Files.writeString(file, Files.readString(file).replace("credential:hook", "credential:../hook"));
        List<Finding> missing = reader(Map.of("PATH", "/usr/bin:/bin", "CREDENTIALS_DIRECTORY", given.toString()))
                .read(file)
                .errors();
        assertEquals(2, missing.size(), missing::toString);
        assertTrue(missing.toString().contains("no credential \"key\""), missing::toString);
        assertTrue(missing.toString().contains("\"../hook\" is no name of a credential"), missing::toString);
    }

    private static JobsFileReader reader(Map<String, String> environment) {
        return new JobsFileReader(environment, Path.of("/"), Readings.NOW);
    }

    @Test
    void twoJobsWithOneFenceRefWouldRefuseEachOther() throws IOException {
        String job = ": { command: [date], publish: [ { git: { repo: blog, fence-ref: refs/tokens/x } } ] }\n";
        Reading reading = Readings.of(dir, "jobs:\n  a" + job + "  b" + job);
        Reading.Refused refused = assertInstanceOf(Reading.Refused.class, reading);
        assertEquals(1, refused.errors().size());
        assertTrue(refused.errors().getFirst().text().contains("fence-ref"), refused::toString);
        assertEquals(3, refused.errors().getFirst().line());
    }

    @Test
    void aCommandThatPublishesBeginsInItsWorktreeUnlessTheFileSaysWhere() throws IOException {
        JobsFile file = file("""
                jobs:
                  a: { command: [date], publish: [ { git: { repo: blog } } ] }
                  b: { command: [date], publish: [ { git: { remote: "https://git.example/x.git" } } ] }
                  c: { command: [date], working-dir: www, publish: [ { git: { repo: blog } } ] }
                  d: { command: [date], publish: [ { git: { repo: . } } ] }
                """);
        assertEquals(dir.resolve("blog"), directoryOf(file, "a"));
        assertNull(directoryOf(file, "b"));
        assertEquals(dir.resolve("www"), directoryOf(file, "c"));
        assertEquals(dir, directoryOf(file, "d"));
    }

    private static @Nullable Path directoryOf(JobsFile file, String job) {
        return ((Action.Command) file.job(job).orElseThrow().action()).workingDir();
    }
}
