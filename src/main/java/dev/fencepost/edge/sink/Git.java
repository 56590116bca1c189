package dev.fencepost.edge.sink;

import dev.fencepost.effect.SinkDefinition;
import dev.fencepost.host.Programs;
import dev.fencepost.host.Programs.Ended;
import dev.fencepost.host.Time;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Runs git in the runner's own repositories, within one limit for all calls together. It never asks anybody anything.
 *
 * <p>Two kinds of calls. <em>Local</em> ones know no configuration but what stands here: so filters, merge drivers and hooks that the
 * runner's user or a worktree may have configured have no say. Those that talk to a remote know the configuration of the runner's user,
 * since proxies and credential helpers stand there, but no hooks.
 */
final class Git {

    private static final Duration CONNECT_LIMIT = Duration.ofSeconds(20);

    private static final List<String> INHERITED = List.of(
            "PATH",
            "HOME",
            "USER",
            "LOGNAME",
            "TMPDIR",
            "XDG_CONFIG_HOME",
            "SSH_AUTH_SOCK",
            "http_proxy",
            "https_proxy",
            "HTTPS_PROXY",
            "all_proxy",
            "ALL_PROXY",
            "no_proxy",
            "NO_PROXY",
            "SSL_CERT_FILE",
            "SSL_CERT_DIR",
            "GIT_SSL_CAINFO",
            "GIT_SSL_CAPATH",
            "GIT_CONFIG_GLOBAL",
            "GIT_CONFIG_SYSTEM",
            "GIT_CONFIG_NOSYSTEM");

    private static final List<Map.Entry<String, String>> ALWAYS = List.of(
            Map.entry("core.hooksPath", "/dev/null"),
            Map.entry("core.fsmonitor", "false"),
            Map.entry("core.untrackedCache", "false"),
            Map.entry("core.askPass", ""),
            Map.entry("core.symlinks", "true"),
            Map.entry("core.autocrlf", "false"),
            Map.entry("core.safecrlf", "false"),
            Map.entry("core.excludesFile", "/dev/null"),
            Map.entry("core.attributesFile", "/dev/null"),
            Map.entry("core.quotePath", "false"),
            Map.entry("gc.auto", "0"),
            Map.entry("maintenance.auto", "false"),
            Map.entry("submodule.recurse", "false"),
            Map.entry("fetch.recurseSubmodules", "false"),
            Map.entry("fetch.prune", "false"),
            Map.entry("push.recurseSubmodules", "no"),
            Map.entry("push.gpgSign", "false"),
            Map.entry("protocol.allow", "never"),
            Map.entry("protocol.https.allow", "always"),
            Map.entry("protocol.ssh.allow", "always"));

    private final Programs programs;
    private final Map<String, String> runnerEnvironment;
    private final Time time;
    private final long endBootMillis;

    /** @param limit of all calls together, on the boot clock */
    Git(Programs programs, Map<String, String> runnerEnvironment, Time time, Duration limit) {
        this.programs = programs;
        this.runnerEnvironment = Map.copyOf(runnerEnvironment);
        this.time = time;
        this.endBootMillis = time.bootMillis() + limit.toMillis();
    }

    Duration left() {
        return Duration.ofMillis(Math.max(0, endBootMillis - time.bootMillis()));
    }

    /** A call that touches no remote. */
    Ended local(List<String> words, Map<String, String> variables, byte[] stdin)
            throws IOException, InterruptedException {
        Map<String, String> environment = new HashMap<>();
        environment.put("GIT_CONFIG_GLOBAL", "/dev/null");
        environment.put("GIT_CONFIG_NOSYSTEM", "1");
        environment.put("GIT_ATTR_NOSYSTEM", "1");
        environment.put("GIT_LITERAL_PATHSPECS", "1");
        configure(environment, List.of());
        environment.putAll(variables);
        return run(words, environment, stdin);
    }

    /** A call that talks to the remote, with the sink's credentials. */
    Ended remote(List<String> words, Path gitDir, SinkDefinition.Git sink, GitRemote remote)
            throws IOException, InterruptedException {
        Map<String, String> environment = new HashMap<>();
        for (String name : INHERITED) {
            String value = runnerEnvironment.get(name);
            if (value != null) {
                environment.put(name, value);
            }
        }
        environment.put("GIT_DIR", gitDir.toString());
        environment.put("GIT_SSH_COMMAND", ssh(sink.sshKey(), sink.knownHosts()));
        environment.put("GIT_SSH_VARIANT", "ssh");
        List<Map.Entry<String, String>> settings = new ArrayList<>(remote.settings());
        if (sink.credentialsFile() != null) {
            settings.add(Map.entry("credential.helper", ""));
            settings.add(Map.entry(
                    "credential.helper",
                    "store --file="
                            + quoted(sink.credentialsFile().toAbsolutePath().toString())));
        }
        configure(environment, settings);
        Ended ended = run(words, environment, new byte[0]);
        return new Ended(ended.code(), ended.out(), remote.masked(ended.err()), ended.timedOut());
    }

    private Ended run(List<String> words, Map<String, String> environment, byte[] stdin)
            throws IOException, InterruptedException {
        environment.put("PATH", searchPath());
        environment.put("LC_ALL", "C");
        environment.put("GIT_TERMINAL_PROMPT", "0");
        environment.put("GIT_ASKPASS", "");
        environment.put("SSH_ASKPASS", "");
        environment.put("SSH_ASKPASS_REQUIRE", "never");
        environment.put("GIT_NO_REPLACE_OBJECTS", "1");
        environment.put("GIT_PAGER", "cat");
        List<String> command = new ArrayList<>(List.of("git"));
        command.addAll(words);
        return programs.run(command, environment, Path.of("/"), stdin, left());
    }

    /** Without places that depend on the current directory. */
    private String searchPath() {
        return Arrays.stream(runnerEnvironment
                        .getOrDefault("PATH", "/usr/local/bin:/usr/bin:/bin")
                        .split(":", -1))
                .filter(place -> place.startsWith("/"))
                .collect(Collectors.joining(":"));
    }

    private static void configure(Map<String, String> environment, List<Map.Entry<String, String>> more) {
        List<Map.Entry<String, String>> settings = new ArrayList<>(ALWAYS);
        settings.addAll(more);
        environment.put("GIT_CONFIG_COUNT", Integer.toString(settings.size()));
        for (int i = 0; i < settings.size(); i++) {
            environment.put("GIT_CONFIG_KEY_" + i, settings.get(i).getKey());
            environment.put("GIT_CONFIG_VALUE_" + i, settings.get(i).getValue());
        }
    }

    /** A connection of its own each time: a shared one would outlive the call and hold its output open. */
    private static String ssh(@Nullable Path key, @Nullable Path knownHosts) {
        StringBuilder command = new StringBuilder("ssh -oBatchMode=yes -oStrictHostKeyChecking=yes");
        command.append(" -oControlMaster=no -oControlPath=none -oConnectTimeout=")
                .append(CONNECT_LIMIT.toSeconds());
        if (knownHosts != null) {
            command.append(" -oGlobalKnownHostsFile=/dev/null ")
                    .append(quoted("-oUserKnownHostsFile=\"" + sshPath(knownHosts) + "\""));
        }
        if (key != null) {
            command.append(" -oIdentitiesOnly=yes -oIdentityAgent=none -i ").append(quoted(sshPath(key)));
        }
        return command.toString();
    }

    /** ssh fills in what follows a percent sign. */
    private static String sshPath(Path file) {
        return file.toAbsolutePath().toString().replace("%", "%%");
    }

    /** As one word for the shell that git hands it to. */
    private static String quoted(String word) {
        return "'" + word.replace("'", "'\\''") + "'";
    }

    /** What git said, in one line. */
    static String words(Ended ended) {
        if (ended.timedOut()) {
            return "git did not end within the time limit";
        }
        String said = ended.err()
                .lines()
                .map(line -> line.strip().replaceFirst("^(fatal|error): ", ""))
                .filter(line -> !line.isEmpty() && !line.startsWith("hint:") && !line.startsWith("warning:"))
                .map(Git::printable)
                .collect(Collectors.joining("; "));
        if (said.isEmpty()) {
            return "git ended with code " + ended.code();
        }
        return said.length() <= 600 ? said : "… " + said.substring(said.length() - 600);
    }

    private static String printable(String line) {
        return line.replaceAll("\\p{Cntrl}", " ");
    }
}
