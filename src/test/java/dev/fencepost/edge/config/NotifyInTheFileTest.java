package dev.fencepost.edge.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.effect.TextOrFile;
import dev.fencepost.run.Notifier;
import dev.fencepost.run.Notifier.Channel;
import dev.fencepost.run.Notifier.Occasion;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** {@code notify}: who is told of what becomes of a job. */
class NotifyInTheFileTest {

    @TempDir
    Path dir;

    private List<Notifier> notifiers(String notify) throws IOException {
        return Readings.accepted(Readings.of(dir, "jobs: { a: { command: [date], notify: " + notify + " } }"))
                .jobs()
                .getFirst()
                .notifiers();
    }

    @Test
    void theExampleOfTheDesignIsAccepted() throws IOException {
        Reading reading = Readings.of(
                dir,
                "jobs: { a: { command: [date], notify: { ping: \"https://monitor.example/ping/abc\", on: [success, failure] } } }");
        Definition job = Readings.job(reading, "a");
        assertEquals(List.of(), reading.warnings());
        Notifier notifier = job.job().notifiers().getFirst();
        assertEquals(EnumSet.of(Occasion.SUCCESS, Occasion.FAILURE), notifier.on());
        Channel.Ping ping = assertInstanceOf(Channel.Ping.class, notifier.channel());
        assertEquals(
                new TextOrFile("https://monitor.example/ping/abc", null),
                ping.endpoint().url());
        assertEquals("POST", ping.endpoint().method());
        assertEquals(Duration.ofSeconds(10), ping.endpoint().timeLimit());
        assertEquals("text/plain; charset=utf-8", ping.endpoint().contentType());
        assertTrue(job.values().toString().contains("https://monitor.example/…"), () -> "" + job.values());
        assertFalse(job.values().toString().contains("abc"), "the URL of a ping is a secret");
    }

    @Test
    void nobodyIsToldWithoutIt() throws IOException {
        Definition job = Readings.job(Readings.of(dir, "jobs: { a: { command: [date] } }"), "a");
        assertEquals(List.of(), job.job().notifiers());
        assertTrue(job.values().stream()
                .anyMatch(value -> value.key().equals("notify") && value.text().equals("none")));
    }

    @Test
    void severalCanBeToldInSeveralWays() throws IOException {
        Path url = Files.writeString(dir.resolve("ping.url"), "https://ping.example/secret-id\n");
        Files.setPosixFilePermissions(url, PosixFilePermissions.fromString("rw-------"));
        Path bin = Files.createDirectory(dir.resolve("bin"));
        Path sendmail = Files.writeString(bin.resolve("sendmail"), "#!/bin/sh\n");
        Files.setPosixFilePermissions(sendmail, PosixFilePermissions.fromString("rwx------"));
        Path file = Files.writeString(dir.resolve("fencepost.yaml"), """
                jobs:
                  a:
                    command: [date]
                    notify:
                      - { ping: { url-file: ping.url, timeout: 5s } }
                      - webhook: { url: "http://127.0.0.1:8080/hook", headers: { X-Team: blog }, allow-hosts: [127.0.0.1] }
                        on: [failure, recovery]
                        after: 3
                      - { webhook: "https://hooks.example/x" }
                      - { mail: [ops@example.org, root] }
                """);
        Reading reading = new JobsFileReader(
                        Map.of("PATH", bin + ":/usr/bin:/bin"), Path.of("/"), Instant.parse("2026-01-01T00:00:00Z"))
                .read(file);
        Definition job = Readings.job(reading, "a");
        assertEquals(List.of(), reading.warnings());
        List<Notifier> all = job.job().notifiers();
        assertEquals(4, all.size());
        Channel.Ping ping = assertInstanceOf(Channel.Ping.class, all.get(0).channel());
        assertEquals(new TextOrFile(null, url), ping.endpoint().url());
        assertEquals(
                EnumSet.of(Occasion.START, Occasion.SUCCESS, Occasion.FAILURE),
                all.get(0).on());
        Channel.Webhook webhook =
                assertInstanceOf(Channel.Webhook.class, all.get(1).channel());
        assertEquals(
                Map.of("X-Team", new TextOrFile("blog", null)),
                webhook.endpoint().headers());
        assertEquals(EnumSet.of(Occasion.FAILURE, Occasion.RECOVERY), all.get(1).on());
        assertEquals(3, all.get(1).after());
        assertEquals(
                EnumSet.of(Occasion.FAILURE, Occasion.RECOVERY, Occasion.PAUSED, Occasion.WAITING),
                all.get(2).on());
        assertEquals(1, all.get(2).after());
        assertEquals(
                new Channel.Mail(List.of("ops@example.org", "root"), sendmail),
                all.get(3).channel());
        assertTrue(job.values().stream().anyMatch(value -> value.key().equals("notify.webhook-2.url")));
        assertFalse(job.values().toString().contains("secret-id"));
    }

    @Test
    void aJobsOwnTakesThePlaceOfThatOfTheDefaults() throws IOException {
        JobsFile file = Readings.accepted(Readings.of(dir, """
                defaults: { notify: { webhook: "https://hooks.example/all" } }
                jobs:
                  a: { command: [date] }
                  b: { command: [date], notify: { ping: "https://ping.example/b" } }
                  c: { command: [date], notify: [] }
                  d: { command: [date], notify: ~ }
                """));
        assertInstanceOf(
                Channel.Webhook.class,
                file.job("a").orElseThrow().notifiers().getFirst().channel());
        assertInstanceOf(
                Channel.Ping.class,
                file.job("b").orElseThrow().notifiers().getFirst().channel());
        assertEquals(List.of(), file.job("c").orElseThrow().notifiers());
        assertEquals(1, file.job("d").orElseThrow().notifiers().size());
        assertTrue(Objects.requireNonNull(file.definitions().get("a")).values().stream()
                .anyMatch(value -> value.key().equals("notify.webhook.url")
                        && value.origin().text().equals("defaults, fencepost.yaml:1")));
    }

    @Test
    void oneNotifierNeedsNoList() throws IOException {
        assertEquals(
                1,
                notifiers("{ webhook: { url: \"https://hooks.example/x\" } }").size());
        assertEquals(
                1,
                notifiers("[ { webhook: { url: \"https://hooks.example/x\" } } ]")
                        .size());
    }

    private static BadInputTest.Bad notify(String text, String... expected) {
        return BadInputTest.key("notify: " + text, expected);
    }

    static Stream<BadInputTest.Bad> wrong() {
        return Stream.of(
                notify("{}", "4:5 jobs.a.notify:~none of ping, webhook, mail"),
                notify("https://ping.example/x", "4:13 jobs.a.notify:~must be a mapping~notify: { ping:"),
                notify("[ ping ]", "4:15 jobs.a.notify[0]:~must be a mapping"),
                notify("{ pings: \"https://x.example/\" }", "4:15 jobs.a.notify.pings:~did you mean ping?"),
                notify(
                        "{ ping: \"https://x.example/s3cret\", mail: [a@b.org] }",
                        "4:55 jobs.a.notify.mail:~both ping and mail~two entries"),
                notify("{ ping: \"ftp://x.example/s3cret\" }", "4:21 jobs.a.notify.ping:~does not begin with https://"),
                notify("{ ping: \"https://u:p@x.example/\" }", "4:21 jobs.a.notify.ping:~user or a password"),
                notify("{ ping: [a] }", "4:21 jobs.a.notify.ping:~must be a mapping, not a list"),
                notify("{ ping: {} }", "4:15 jobs.a.notify.ping.url:~there is no url"),
                notify("{ ping: { url-file: /no/such } }", "4:33 jobs.a.notify.ping.url-file:~does not exist"),
                notify(
                        "{ ping: \"http://localhost:1/s3cret\" }",
                        "4:21 jobs.a.notify.ping:~this machine~ping: { url: …, allow-hosts: [localhost] }"),
                notify(
                        "{ webhook: { url: \"http://10.0.0.1/\" } }",
                        "4:31 jobs.a.notify.webhook.url:~this machine~allow-hosts: [10.0.0.1]"),
                notify(
                        "{ webhook: { url: \"https://x.example/\", timeout: 2m } }",
                        "4:62 jobs.a.notify.webhook.timeout:~too long~1m"),
                notify(
                        "{ webhook: { url: \"https://x.example/\", headers: { Idempotency-Key: a } } }",
                        "4:64 jobs.a.notify.webhook.headers.Idempotency-Key:~set for each request"),
                notify(
                        "{ ping: \"https://x.example/\", on: failure }",
                        "4:47 jobs.a.notify.on:~must be a list~[failure]"),
                notify("{ ping: \"https://x.example/\", on: [] }", "4:47 jobs.a.notify.on:~empty"),
                notify(
                        "{ ping: \"https://x.example/\", on: [failed, skip, recovery] }",
                        "4:48 jobs.a.notify.on[0]:~\"failed\"~start, success, failure",
                        "4:56 jobs.a.notify.on[1]:~\"skip\"",
                        "4:62 jobs.a.notify.on[2]:~a ping does not tell of recovery"),
                notify(
                        "{ webhook: \"https://x.example/\", on: [success] }",
                        "4:51 jobs.a.notify.on[0]:~a webhook does not tell of success"),
                notify("{ ping: \"https://x.example/\", after: 2 }", "4:50 jobs.a.notify.after:~sent for each run"),
                notify("{ webhook: \"https://x.example/\", after: 0 }", "4:53 jobs.a.notify.after:~1 to 1000"),
                notify("{ webhook: \"https://x.example/\", after: 0x2 }", "4:53 jobs.a.notify.after:~\"0x2\""),
                notify("{ mail: a@b.org }", "4:21 jobs.a.notify.mail:~must be a list~[NAME@HOST]"),
                notify(
                        "{ mail: [\"A Name <a@b.org>\", \"a@b.org\\nBcc: x@y.org\", \"-oQ/tmp\"] }",
                        "4:22 jobs.a.notify.mail[0]:~no mail address",
                        "4:42 jobs.a.notify.mail[1]:~a@b.org\\nBcc",
                        "4:67 jobs.a.notify.mail[2]:~\"-oQ/tmp\""),
                notify("{ on: [failure] }", "4:5 jobs.a.notify:~none of ping, webhook, mail"),
                new BadInputTest.Bad(
                        "at the top",
                        "notify: { ping: \"https://x.example/\" }\njobs: {}\n",
                        List.of("1:1 notify:~unknown~at a job or under defaults")));
    }

    @ParameterizedTest
    @MethodSource("wrong")
    void isRefusedAtItsPlace(BadInputTest.Bad bad) throws IOException {
        BadInputTest.check(dir, bad);
        assertFalse(Readings.of(dir, bad.yaml()).toString().contains("s3cret"));
    }
}
