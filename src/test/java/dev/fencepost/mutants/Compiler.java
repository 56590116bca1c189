package dev.fencepost.mutants;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.StringWriter;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import javax.tools.FileObject;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/** The JDK's compiler, in memory. It keeps what it has read of the class path, and does one thing at a time. */
final class Compiler implements AutoCloseable {

    private final JavaCompiler javac =
            Objects.requireNonNull(ToolProvider.getSystemJavaCompiler(), "the tests need a JDK");
    private final StandardJavaFileManager files = javac.getStandardFileManager(null, null, StandardCharsets.UTF_8);

    /** @return the classes of these sources, by their names */
    synchronized Map<String, byte[]> compile(Map<String, String> sources) throws IOException {
        Map<String, ByteArrayOutputStream> made = new HashMap<>();
        JavaFileManager inMemory = new ForwardingJavaFileManager<JavaFileManager>(files) {
            @Override
            public JavaFileObject getJavaFileForOutput(
                    Location location, String className, JavaFileObject.Kind kind, FileObject sibling) {
                return new SimpleJavaFileObject(URI.create("mutant:///" + className), kind) {
                    @Override
                    public OutputStream openOutputStream() {
                        return made.computeIfAbsent(className, name -> new ByteArrayOutputStream());
                    }
                };
            }
        };
        List<JavaFileObject> units = new ArrayList<>();
        sources.forEach((name, text) -> units.add(
                new SimpleJavaFileObject(
                        URI.create("mutant:///" + name.replace('.', '/') + ".java"), JavaFileObject.Kind.SOURCE) {
                    @Override
                    public CharSequence getCharContent(boolean ignoreErrors) {
                        return text;
                    }
                }));
        String classPath = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
        List<String> options = List.of("-proc:none", "-nowarn", "-parameters", "-cp", classPath);
        StringWriter said = new StringWriter();
        if (!javac.getTask(said, inMemory, null, options, null, units).call()) {
            throw new AssertionError("the mutant is no Java: " + said);
        }
        Map<String, byte[]> classes = new HashMap<>();
        made.forEach((name, bytes) -> classes.put(name, bytes.toByteArray()));
        return classes;
    }

    @Override
    public void close() throws IOException {
        files.close();
    }
}
