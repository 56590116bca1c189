package dev.fencepost.edge.config;

import dev.fencepost.effect.SinkDefinition;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Reads {@code git} of {@code publish}. */
final class GitReader {

    private static final String DEFAULT_REMOTE = "origin";
    private static final Duration DEFAULT_TIMEOUT = Duration.ofMinutes(2);
    private static final Duration LEAST_TIMEOUT = Duration.ofSeconds(1);
    private static final Duration MOST_TIMEOUT = Duration.ofHours(1);
    private static final int LONGEST_MESSAGE = 10_000;
    private static final Pattern REMOTE_NAME = Pattern.compile("[A-Za-z0-9_][A-Za-z0-9._-]*");
    private static final Pattern URL = Pattern.compile("(ssh|https?|git|file)://(?:([^/@]*)@)?[^/].*|file:///.+");
    private static final Pattern SCP = Pattern.compile("(?:[A-Za-z0-9._-]+@)?[A-Za-z0-9._-]+:[^:].*");
    private static final Pattern AUTHOR = Pattern.compile("[^<>\\p{Cntrl}]*[^<>\\p{Cntrl}\\s] <[^<>\\s\\p{Cntrl}]+>");

    private final Section git;
    private final FileNames names;
    private final Values values;

    GitReader(Section git, FileNames names, Values values) {
        this.git = git;
        this.names = names;
        this.values = values;
    }

    /** The sink; after an error it has defaults in the wrong places, which nobody uses. @param name {@code job/git} */
    SinkDefinition.Git read(String name, Given<Duration> maxAge) {
        Given<Path> repo = git.read("repo", text -> repository(FileName.resolve(names.dir(), text)));
        Given<String> writtenRemote = git.read("remote", text -> remote(text.strip()));
        Given<String> remote = Given.or(writtenRemote, DEFAULT_REMOTE, "");
        boolean refused = git.isMisspelt("remote") || (git.has("remote") && writtenRemote == null);
        if (!refused && REMOTE_NAME.matcher(remote.value()).matches()) {
            git.missing(
                    "repo",
                    "there is no repo, and the remote " + Finding.quote(remote.value()) + " is a name",
                    "write repo: PATH of a clone that has this remote, or an address as remote");
        }
        Given<String> branch = Given.or(git.read("branch", GitName::branch), "main", "");
        Given<List<String>> paths = paths();
        Given<String> message = Given.or(git.read("message", GitReader::message), "{job} {slot}", "of the commit");
        Given<String> author =
                Given.or(git.read("author", GitReader::author), "Fencepost <fencepost@localhost>", "of the commit");
        Given<String> fenceRef = git.read("fence-ref", GitName::ref);
        if (fenceRef != null && collides(fenceRef.value(), "refs/heads/" + branch.value())) {
            git.error("fence-ref", "the token would stand in the way of the branch", "write a ref of its own");
        }
        Given<Duration> timeout = Given.or(
                git.read("timeout", text -> DurationText.parse(text, LEAST_TIMEOUT, MOST_TIMEOUT)),
                DEFAULT_TIMEOUT,
                "of one delivery");
        Given<Path> sshKey = git.read("ssh-key", text -> names.secret(text));
        Given<Path> knownHosts = git.read("known-hosts", text -> plainFile(FileName.resolve(names.dir(), text)));
        Given<Path> credentials = git.read("credentials-file", text -> names.secret(text));

        values.add("repo", repo, Path::toString, "the remote is an address");
        values.add("remote", remote, GitReader::shownRemote);
        values.add("branch", branch, text -> text);
        values.add("paths", paths, list -> Values.shown(String.join(", ", list)));
        values.add("message", message, Values::shown);
        values.add("author", author, Values::shown);
        values.add(
                "fence-ref",
                Given.or(fenceRef, "refs/fencepost/" + name.substring(0, name.indexOf('/')), "beside the branch"),
                text -> text);
        values.add("timeout", timeout, DurationText::format);
        values.add("ssh-key", sshKey, Path::toString, "ssh looks for one itself");
        values.add("known-hosts", knownHosts, Path::toString, "ssh's own list");
        values.add("credentials-file", credentials, Path::toString, "no user and password for https");
        return new SinkDefinition.Git(
                name,
                maxAge.value(),
                repo == null ? null : repo.value(),
                remote.value(),
                branch.value(),
                paths.value(),
                message.value(),
                author.value(),
                fenceRef == null ? null : fenceRef.value(),
                timeout.value(),
                sshKey == null ? null : sshKey.value(),
                knownHosts == null ? null : knownHosts.value(),
                credentials == null ? null : credentials.value());
    }

    private static Path repository(Path path) {
        String problem = FileName.whyNoDirectory(path);
        if (problem != null) {
            throw new BadValueException(problem, "write the path of a clone");
        }
        boolean bare = Files.isRegularFile(path.resolve("HEAD"))
                && Files.isDirectory(path.resolve("objects"))
                && Files.isDirectory(path.resolve("refs"));
        if (!bare && !Files.exists(path.resolve(".git"))) {
            throw new BadValueException(
                    Finding.quote(path.toString()) + " is no git repository",
                    "write the top of a clone, the folder that has .git in it");
        }
        return path;
    }

    private static String remote(String text) {
        Matcher url = URL.matcher(text);
        if (url.matches()) {
            String user = url.group(2);
            if (user != null && user.contains(":")) {
                throw new BadValueException(
                        "there is a password in the address of the remote",
                        "put user and password into a file in the form of git-credential-store: credentials-file");
            }
            return text;
        }
        boolean good = REMOTE_NAME.matcher(text).matches()
                || (text.startsWith("/") && !text.contains("::"))
                || (SCP.matcher(text).matches() && !text.contains("::"));
        if (!good || text.chars().anyMatch(Character::isISOControl)) {
            String shown = text.contains("@") || text.contains("://") ? "this" : Finding.quote(text);
            throw new BadValueException(
                    shown + " is neither the name of a remote nor an address",
                    "write origin, https://HOST/PATH, ssh://HOST/PATH, USER@HOST:PATH or an absolute path");
        }
        return text;
    }

    /** A token can stand where the user's name belongs. */
    private static String shownRemote(String remote) {
        Matcher url = URL.matcher(remote);
        boolean login = url.matches() && url.group(2) != null && url.group(1).startsWith("http");
        return Finding.quotable(login ? remote.replace(url.group(2) + "@", Values.MASK + "@") : remote);
    }

    private Given<List<String>> paths() {
        Given<List<String>> written = git.list("paths", "paths: [content]");
        if (written == null) {
            return Given.builtIn(List.of("."), "the whole tree");
        }
        List<String> paths = new ArrayList<>();
        for (String path : written.value()) {
            String problem = whyNoPathInTheTree(path);
            if (problem != null) {
                git.error("paths", Finding.quote(path) + problem, "write paths from the top of the tree: [content]");
            } else {
                String plain = Path.of(path).normalize().toString();
                paths.add(plain.isEmpty() ? "." : plain);
            }
        }
        return new Given<>(paths, written.origin());
    }

    /** Why this is no place below the top of a tree, as the rest of a sentence; null when it is one. */
    static @Nullable String whyNoPathInTheTree(String path) {
        if (path.isBlank() || path.indexOf('\0') >= 0) {
            return " is no path";
        }
        if (path.startsWith("/") || path.startsWith("~")) {
            return " is not relative";
        }
        if (path.startsWith(":")) {
            return " begins with a colon, which has a meaning of its own in git";
        }
        for (String part : path.split("/")) {
            if (part.equals("..")) {
                return " leads out of it with ..";
            }
            if (part.equalsIgnoreCase(".git")) {
                return " leads into .git";
            }
        }
        return null;
    }

    private static String message(String text) {
        if (text.isBlank() || text.indexOf('\0') >= 0) {
            throw new BadValueException("the message is empty", "write a text such as \"{job} {slot}\"");
        }
        if (text.length() > LONGEST_MESSAGE) {
            throw new BadValueException("the message is longer than " + LONGEST_MESSAGE + " characters", "shorten it");
        }
        return Template.strict(text);
    }

    private static String author(String text) {
        if (!AUTHOR.matcher(text.strip()).matches()) {
            throw new BadValueException(
                    Finding.quote(text) + " is no author",
                    "write \"NAME <ADDRESS>\", such as \"Bot <bot@example.org>\"");
        }
        return text.strip();
    }

    private static Path plainFile(Path file) {
        SecretFile.content(file); // whether it is there and can be read; it need not be secret
        return file;
    }

    private static boolean collides(String one, String other) {
        return one.equals(other) || one.startsWith(other + "/") || other.startsWith(one + "/");
    }
}
