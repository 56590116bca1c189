package dev.fencepost.sim;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Method;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * A bug that is planted into a text of the program, mostly SQL, while its classes are loaded: nothing of it is in the program itself.
 *
 * @param name what is wrong
 * @param text as it stands in the class files
 * @param instead what stands there in the mutant
 */
record Mutant(String name, String text, String instead) {

    private static final String OURS = "dev.fencepost.";
    private static final String MUTATED = "dev.fencepost.edge.jdbc.";

    /**
     * Tells the story of a seed with this bug in the program.
     *
     * @return what the witness says, or null if it saw nothing
     */
    @Nullable
    String toldBy(long seed, Path folder) throws ReflectiveOperationException {
        Loader loader = new Loader();
        Method tell = loader.loadClass(World.class.getName()).getDeclaredMethod("tell", long.class, Path.class);
        tell.setAccessible(true); // another loader's class is of another package
        Object said = tell.invoke(null, seed, folder);
        if (loader.planted == 0) {
            throw new AssertionError("the mutant \"" + name + "\" finds no place: the text has changed");
        }
        return (String) said;
    }

    /** Loads the program anew, with the bug in it. */
    private final class Loader extends ClassLoader {
        private int planted;

        Loader() {
            super(Mutant.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String className, boolean resolve) throws ClassNotFoundException {
            if (!className.startsWith(OURS)) {
                return super.loadClass(className, resolve);
            }
            synchronized (getClassLoadingLock(className)) {
                Class<?> known = findLoadedClass(className);
                return known != null ? known : define(className);
            }
        }

        private Class<?> define(String className) throws ClassNotFoundException {
            try (InputStream in = getParent().getResourceAsStream(className.replace('.', '/') + ".class")) {
                if (in == null) {
                    throw new ClassNotFoundException(className);
                }
                byte[] bytes = in.readAllBytes();
                byte[] changed = className.startsWith(MUTATED) ? mutated(bytes) : bytes;
                return defineClass(className, changed, 0, changed.length);
            } catch (IOException e) {
                throw new ClassNotFoundException(className, e);
            }
        }

        /** The texts of a class are entries of its constant pool; everything else refers to them by number. See JVMS 4.4. */
        private byte[] mutated(byte[] bytes) throws IOException {
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
                        case 1 -> out.writeUTF(mutated(in.readUTF()));
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

        private String mutated(String constant) {
            if (!constant.contains(text)) {
                return constant;
            }
            planted++;
            return constant.replace(text, instead);
        }
    }

    @Override
    public String toString() {
        return name;
    }
}
