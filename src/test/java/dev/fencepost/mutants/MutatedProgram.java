package dev.fencepost.mutants;

import dev.fencepost.Store;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/** Loads the program and its tests anew, with a mutant's changes in them. */
final class MutatedProgram extends ClassLoader {

    private static final String OURS = "dev.fencepost.";
    private static final String STATEMENTS = "dev/fencepost/edge/jdbc";
    private static final Path SOURCES = Path.of("src/main/java/dev/fencepost");

    /** Is beneath the program, and one is enough. */
    private static final Set<String> SHARED = Set.of("dev.fencepost.store.PostgresServer");

    private final Map<String, byte[]> changed;

    /** @throws AssertionError if a change finds no place */
    MutatedProgram(Mutant mutant, Compiler compiler) throws IOException {
        super(MutatedProgram.class.getClassLoader());
        changed = changed(mutant, compiler);
    }

    private static Map<String, byte[]> changed(Mutant mutant, Compiler compiler) throws IOException {
        Map<String, String> sources = new LinkedHashMap<>();
        for (Change change : mutant.changes()) {
            if (change instanceof Change.Java java) {
                Path file = SOURCES.resolve(java.file());
                String name = OURS + java.file().replace(".java", "").replace('/', '.');
                String before = sources.containsKey(name) ? sources.get(name) : Files.readString(file);
                String after = java.in(before);
                checkThatItFoundAPlace(mutant, change, !after.equals(before));
                sources.put(name, after);
            }
        }
        Map<String, byte[]> classes = new HashMap<>(sources.isEmpty() ? Map.of() : compiler.compile(sources));
        for (Change change : mutant.changes()) {
            if (change instanceof Change.Sql sql) {
                boolean found = false;
                for (Path file : statements(sql.classes())) {
                    String name = STATEMENTS.replace('/', '.') + "."
                            + file.getFileName().toString().replace(".class", "");
                    byte[] before = classes.containsKey(name) ? classes.get(name) : Files.readAllBytes(file);
                    byte[] after = withTexts(before, sql);
                    if (!Arrays.equals(after, before)) {
                        classes.put(name, after);
                        found = true;
                    }
                }
                checkThatItFoundAPlace(mutant, change, found);
            }
        }
        return classes;
    }

    private static void checkThatItFoundAPlace(Mutant mutant, Change change, boolean found) {
        if (!found) {
            throw new AssertionError(
                    "the mutant \"" + mutant + "\" finds no place, the text has changed: " + change.text());
        }
    }

    private static List<Path> statements(Set<String> classes) throws IOException {
        Path folder;
        try {
            folder = Path.of(Store.class
                            .getProtectionDomain()
                            .getCodeSource()
                            .getLocation()
                            .toURI())
                    .resolve(STATEMENTS);
        } catch (URISyntaxException e) {
            throw new IOException(e);
        }
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(file -> file.toString().endsWith(".class"))
                    .filter(file -> classes.isEmpty()
                            || classes.contains(file.getFileName().toString().split("[.$]", -1)[0]))
                    .sorted()
                    .toList();
        }
    }

    /** The texts of a class are entries of its constant pool; everything else refers to them by number. See JVMS 4.4. */
    private static byte[] withTexts(byte[] bytes, Change change) throws IOException {
        ByteArrayOutputStream result = new ByteArrayOutputStream();
        try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes));
                DataOutputStream out = new DataOutputStream(result)) {
            out.writeLong(in.readLong());
            int count = in.readUnsignedShort();
            out.writeShort(count);
            for (int i = 1; i < count; i++) {
                int tag = in.readUnsignedByte();
                out.writeByte(tag);
                switch (tag) {
                    case 1 -> out.writeUTF(change.in(in.readUTF()));
                    case 3, 4, 9, 10, 11, 12, 17, 18 -> out.writeInt(in.readInt());
                    case 5, 6 -> {
                        out.writeLong(in.readLong());
                        i++; // it takes two numbers
                    }
                    case 7, 8, 16, 19, 20 -> out.writeShort(in.readUnsignedShort());
                    case 15 -> {
                        out.writeByte(in.readUnsignedByte());
                        out.writeShort(in.readUnsignedShort());
                    }
                    default -> throw new IOException("no constant has the tag " + tag);
                }
            }
            in.transferTo(out);
        }
        return result.toByteArray();
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        if (!name.startsWith(OURS) || SHARED.contains(name)) {
            return super.loadClass(name, resolve);
        }
        synchronized (getClassLoadingLock(name)) {
            Class<?> known = findLoadedClass(name);
            return known != null ? known : define(name);
        }
    }

    private Class<?> define(String name) throws ClassNotFoundException {
        byte[] bytes = changed.get(name);
        if (bytes == null) {
            try (InputStream in = getParent().getResourceAsStream(name.replace('.', '/') + ".class")) {
                if (in == null) {
                    throw new ClassNotFoundException(name);
                }
                bytes = in.readAllBytes();
            } catch (IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }
        return defineClass(name, bytes, 0, bytes.length);
    }
}
