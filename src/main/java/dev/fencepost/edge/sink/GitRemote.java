package dev.fencepost.edge.sink;

import dev.fencepost.effect.SinkDefinition;
import dev.fencepost.run.Secrets;
import java.io.IOException;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Where a git sink pushes to, without the secrets that its address may hold: those go to git by its environment, never as an argument,
 * and are masked in whatever git says.
 */
final class GitRemote {

    /** Under this name git knows it. */
    static final String NAME = "fencepost";

    private static final List<String> PROTOCOLS = List.of("https", "http", "ssh", "git", "file");
    private static final Pattern SCP_LIKE = Pattern.compile("[^/:]+:.*");
    private static final Pattern WITH_USER = Pattern.compile("(?i)(https?://)([^/?#]*)@(.*)");
    private static final Pattern SCHEME = Pattern.compile("([a-z][a-z0-9+.-]*)://.*");
    private static final Pattern USER_IN_TEXT = Pattern.compile("://[^/@\\s]+@");

    private final String url;
    private final List<Map.Entry<String, String>> settings = new ArrayList<>();
    private final Secrets secrets;

    private GitRemote(String address) throws IOException {
        Matcher parts = WITH_USER.matcher(address);
        List<String> hidden = new ArrayList<>();
        if (parts.matches()) {
            url = parts.group(1) + parts.group(3);
            String[] user = parts.group(2).split(":", 2);
            hidden.add(parts.group(2));
            hidden.addAll(List.of(user));
            if (user.length == 2 && !user[1].isEmpty()) {
                String pair = decoded(user[0]) + ":" + decoded(user[1]);
                String basic = Base64.getEncoder().encodeToString(pair.getBytes(StandardCharsets.UTF_8));
                hidden.addAll(List.of(basic, decoded(user[0]), decoded(user[1])));
                settings.add(Map.entry("http." + url + ".extraHeader", "Authorization: Basic " + basic));
            } else {
                settings.add(Map.entry("credential." + url + ".username", decoded(user[0])));
            }
        } else {
            url = address;
        }
        if (!PROTOCOLS.contains(protocol())) { // others are programs of their own; the address may come from a clone
            throw new IOException("the remote's address is by none of " + String.join(", ", PROTOCOLS));
        }
        settings.add(Map.entry("protocol." + protocol() + ".allow", "always"));
        settings.add(Map.entry("remote." + NAME + ".url", url));
        secrets = new Secrets(hidden);
    }

    private static String decoded(String text) throws IOException {
        try {
            return URLDecoder.decode(text.replace("+", "%2B"), StandardCharsets.UTF_8);
        } catch (IllegalArgumentException e) {
            throw new IOException("user and password in the remote's address have a % that is no escape", e);
        }
    }

    /**
     * The sink's remote, looked up in the configuration of its local clone if it is a name. That file is read as text: nothing of the
     * clone is carried out.
     *
     * @throws IOException if there is no such remote, or its protocol is not allowed; the message is for a person
     */
    static GitRemote of(SinkDefinition.Git sink, Git git) throws IOException, InterruptedException {
        String remote = sink.remote();
        String address = remote.startsWith("/")
                        || remote.contains("://")
                        || SCP_LIKE.matcher(remote).matches()
                ? remote
                : lookedUp(sink, git);
        if (address.contains("::") && !address.contains("://") || address.startsWith("-")) {
            throw new IOException("the remote of sink " + sink.name()
                    + " is not an address by https, ssh or a path; write one of those");
        }
        return new GitRemote(address);
    }

    private static String lookedUp(SinkDefinition.Git sink, Git git) throws IOException, InterruptedException {
        Path repo = sink.repo();
        if (repo == null) {
            throw new IOException("sink " + sink.name() + " names the remote " + sink.remote()
                    + " but no repo to look it up in; give repo, or an address as remote");
        }
        Path config = configOf(repo);
        for (String setting : List.of("pushurl", "url")) {
            List<String> command =
                    List.of("config", "--file", config.toString(), "--get", "remote." + sink.remote() + "." + setting);
            String found = git.local(command, Map.of(), new byte[0]).text().strip();
            if (!found.isEmpty()) {
                boolean relative = !found.startsWith("/")
                        && !found.contains("://")
                        && !SCP_LIKE.matcher(found).matches();
                return relative ? repo.resolve(found).normalize().toString() : found;
            }
        }
        throw new IOException("repository " + repo + " has no remote " + sink.remote() + "; add it there with"
                + " git remote add, or give its address as remote");
    }

    private static Path configOf(Path repo) throws IOException {
        Path dotGit = repo.resolve(".git");
        try {
            if (Files.isRegularFile(dotGit)) { // a linked worktree
                String line = Files.readString(dotGit).strip();
                Path own = repo.resolve(line.startsWith("gitdir: ") ? line.substring(8) : line);
                Path common = own.resolve("commondir");
                dotGit = Files.exists(common)
                        ? own.resolve(Files.readString(common).strip())
                        : own;
            }
        } catch (InvalidPathException | java.io.UncheckedIOException e) {
            throw new IOException(repo + " is not a git repository: " + e.getMessage(), e);
        }
        for (Path place : List.of(dotGit, repo)) {
            if (Files.isRegularFile(place.resolve("config")) && Files.exists(place.resolve("HEAD"))) {
                return place.resolve("config");
            }
        }
        throw new IOException(repo + " is not a git repository");
    }

    private String protocol() {
        Matcher scheme = SCHEME.matcher(url);
        if (scheme.matches()) {
            return scheme.group(1).equals("git+ssh") ? "ssh" : scheme.group(1);
        }
        return url.startsWith("/") ? "file" : "ssh";
    }

    /** Without user and password. */
    String url() {
        return url;
    }

    /** What git has to be told of it. */
    List<Map.Entry<String, String>> settings() {
        return List.copyOf(settings);
    }

    /** The text as it may be shown. */
    String masked(String text) {
        return USER_IN_TEXT.matcher(secrets.masked(text)).replaceAll("://");
    }
}
