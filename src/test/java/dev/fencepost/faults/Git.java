package dev.fencepost.faults;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** A bare repository as remote, a clone of it, and the git program to look at both. */
public final class Git {

    private final Path remote;
    private final Path blog;

    private Git(Path remote, Path blog) {
        this.remote = remote;
        this.blog = blog;
    }

    /** With one commit on {@code main}, in which there is a file {@code content/first.md}. */
    public static Git in(Path folder) {
        Git git = new Git(folder.resolve("remote.git"), folder.resolve("blog"));
        run(folder, "init", "-q", "--bare", "-b", "main", git.remote.toString());
        run(folder, "clone", "-q", git.remote.toString(), git.blog.toString());
        try {
            Files.createDirectories(git.blog.resolve("content"));
            Files.writeString(git.blog.resolve("content/first.md"), "first\n");
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
        run(git.blog, "checkout", "-q", "-b", "main");
        run(git.blog, "add", "-A");
        run(git.blog, "commit", "-q", "-m", "first");
        run(git.blog, "push", "-q", "origin", "main");
        return git;
    }

    Path remote() {
        return remote;
    }

    public Path blog() {
        return blog;
    }

    /** A hook of the remote. */
    void hook(String name, String script) {
        try {
            Path hook = remote.resolve("hooks").resolve(name);
            Files.createDirectories(hook.getParent());
            Files.writeString(hook, "#!/bin/sh\n" + script);
            hook.toFile().setExecutable(true);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Subjects of the commits of a branch of the remote, the newest first. */
    public List<String> log(String branch) {
        return atRemote("log", "--format=%s", branch).lines().toList();
    }

    /** Content of a file of the remote. */
    String file(String branch, String path) {
        return atRemote("show", branch + ":" + path);
    }

    String atRemote(String... words) {
        List<String> all = new ArrayList<>(List.of("--git-dir", remote.toString()));
        all.addAll(List.of(words));
        return run(remote, all.toArray(String[]::new));
    }

    static String run(Path folder, String... words) {
        List<String> command =
                new ArrayList<>(List.of("git", "-c", "user.name=Test", "-c", "user.email=test@example.invalid"));
        command.addAll(List.of(words));
        try {
            Process process = new ProcessBuilder(command)
                    .directory(folder.toFile())
                    .redirectErrorStream(true)
                    .start();
            String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            if (process.waitFor() != 0) {
                throw new IllegalStateException(command + ": " + said);
            }
            return said;
        } catch (IOException e) {
            throw new IllegalStateException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        }
    }
}
