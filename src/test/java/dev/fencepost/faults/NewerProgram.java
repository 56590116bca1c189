package dev.fencepost.faults;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.ToolProvider;

/** The built program as a later version of it will be: the same, with one more script for the schema. */
final class NewerProgram {

    private static final Path BUILT = ServeProcess.PROGRAM.getParent();
    private static final Path SOURCE = Path.of("src/main/java/dev/fencepost/edge/jdbc/Migrations.java");
    private static final Pattern NEWEST = Pattern.compile("String NEWEST = \"(\\d{3})\"");
    private static final Pattern LAST_SCRIPT = Pattern.compile("(\"V\\d{3}__[a-z_]+\\.sql\")\\);");

    private NewerProgram() {}

    /** The number of the newest script that the built program knows. */
    static int newestScript() {
        return number(source());
    }

    private static int number(String source) {
        Matcher newest = NEWEST.matcher(source);
        if (!newest.find()) {
            throw new IllegalStateException("no number of a script in " + SOURCE);
        }
        return Integer.parseInt(newest.group(1));
    }

    private static String source() {
        try {
            return Files.readString(SOURCE);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    /**
     * @param folder does not exist yet
     * @param name of the script, without its number: {@code later}
     * @param script for both kinds of store
     * @return the program, to be started
     */
    static Path in(Path folder, String name, String script) {
        try {
            Path app = Files.createDirectories(folder.resolve("quarkus-app/app"));
            Files.copy(ServeProcess.PROGRAM, folder.resolve("fencepost"));
            Files.copy(BUILT.resolve("quarkus-app/quarkus-run.jar"), folder.resolve("quarkus-app/quarkus-run.jar"));
            for (String same : List.of("lib", "quarkus", "native")) {
                Files.createSymbolicLink(
                        folder.resolve("quarkus-app").resolve(same),
                        BUILT.resolve("quarkus-app").resolve(same));
            }
            Path jar;
            try (Stream<Path> jars = Files.list(BUILT.resolve("quarkus-app/app"))) {
                jar = jars.findFirst().orElseThrow();
            }
            Path changed = Files.copy(jar, app.resolve(jar.getFileName()));
            change(changed, folder, name, script);
            return folder.resolve("fencepost");
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void change(Path jar, Path folder, String name, String script) throws IOException {
        String number = "%03d".formatted(newestScript() + 1);
        String file = "V" + number + "__" + name + ".sql";
        String source = LAST_SCRIPT
                .matcher(NEWEST.matcher(source()).replaceFirst("String NEWEST = \"" + number + "\""))
                .replaceFirst("$1, \"" + file + "\");");
        if (number(source) != newestScript() + 1 || !source.contains(file)) {
            throw new IllegalStateException(SOURCE + " is not written as this expects it");
        }
        Path classes = compiled(Files.createDirectories(folder.resolve("classes")), source);
        try (FileSystem inside = FileSystems.newFileSystem(URI.create("jar:" + jar.toUri()), Map.of());
                Stream<Path> made = Files.walk(classes)) {
            for (Path each : made.filter(Files::isRegularFile).toList()) {
                Path at = inside.getPath(classes.relativize(each).toString());
                if (!Files.exists(at)) {
                    throw new IllegalStateException("the program has no " + at);
                }
                write(at, Files.readAllBytes(each));
            }
            for (String dialect : List.of("postgres", "sqlite")) {
                write(inside.getPath("db", dialect, file), script.getBytes(StandardCharsets.UTF_8));
            }
        }
    }

    private static void write(Path at, byte[] bytes) throws IOException {
        try (OutputStream out = Files.newOutputStream(at)) {
            out.write(bytes);
        }
    }

    private static Path compiled(Path folder, String source) throws IOException {
        Path file = Files.createDirectories(folder.resolveSibling("source")).resolve("Migrations.java");
        Files.writeString(file, source);
        JavaCompiler javac = Objects.requireNonNull(ToolProvider.getSystemJavaCompiler(), "the tests need a JDK");
        String classPath = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
        ByteArrayOutputStream said = new ByteArrayOutputStream();
        int failed = javac.run(
                null,
                said,
                said,
                "-proc:none",
                "-nowarn",
                "-parameters",
                "-d",
                folder.toString(),
                "-cp",
                classPath,
                file.toString());
        if (failed != 0) {
            throw new IllegalStateException(said.toString(StandardCharsets.UTF_8));
        }
        return folder;
    }
}
