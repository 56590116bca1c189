package dev.fencepost.edge.config;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.util.regex.Pattern;

/**
 * A file that holds one secret. It is read anew each time the secret is needed; here it is only looked at, so that a mistake is told when
 * the jobs file is loaded. Messages never repeat what stands in it.
 */
final class SecretFile {

    private static final Pattern LINE_END = Pattern.compile("\r?\n\\z");
    private static final int MOST_BYTES = 64 << 10;

    private SecretFile() {}

    /**
     * The path itself, if a secret file is there that can be used.
     *
     * @throws BadValueException if it is not there, no plain file, empty, too large, or open to everyone on the host
     */
    static Path checked(Path file) {
        String shown = Finding.quote(file.toString());
        if (content(file).isBlank()) {
            throw new BadValueException("the file " + shown + " is empty", "write the secret into it");
        }
        try {
            if (Files.getPosixFilePermissions(file).contains(PosixFilePermission.OTHERS_READ)) {
                throw new BadValueException(
                        "everyone on this host can read the file of a secret " + shown, "chmod 600 " + file);
            }
        } catch (IOException | UnsupportedOperationException e) {
            // A file system without such rights has none to check.
        }
        return file;
    }

    /** What stands in it, without one line end at its end, as it is read when it is needed. */
    static String content(Path file) {
        String shown = Finding.quote(file.toString());
        if (Files.exists(file) && !Files.isDirectory(file) && !Files.isRegularFile(file)) {
            throw new BadValueException(shown + " is no plain file", "name a file that holds the secret");
        }
        byte[] bytes;
        try (InputStream in = Files.newInputStream(file)) {
            bytes = in.readNBytes(MOST_BYTES + 1);
        } catch (IOException e) {
            throw new BadValueException(
                    JobsFileReader.whyUnreadable(file, e), "name a file that holds the secret, with chmod 600");
        }
        if (bytes.length > MOST_BYTES) {
            throw new BadValueException("the file " + shown + " is larger than 64 KiB", "is it the right file?");
        }
        String text = new String(bytes, StandardCharsets.UTF_8);
        return LINE_END.matcher(text).replaceFirst("");
    }
}
