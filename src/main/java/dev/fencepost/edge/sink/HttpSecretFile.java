package dev.fencepost.edge.sink;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.util.Arrays;

/** Reads secrets from files of their own, anew each time, so that a new one counts at once. */
final class HttpSecretFile {

    private static final int MAX_BYTES = 64 * 1024;

    private HttpSecretFile() {}

    /**
     * The content without one newline at its end.
     *
     * @throws HttpMessage.Unusable if it is missing, no plain file, too big, empty, or may be read by everybody; the message names the file
     *     and the cause, never the content
     */
    static byte[] read(Path file) throws HttpMessage.Unusable {
        byte[] bytes;
        try {
            if (!Files.isRegularFile(file)) { // not opened: a pipe would block
                throw new HttpMessage.Unusable(
                        Files.exists(file) ? file + " is not a plain file" : file + " does not exist");
            }
            if (Files.getPosixFilePermissions(file).contains(PosixFilePermission.OTHERS_READ)) {
                throw new HttpMessage.Unusable(
                        file + " holds a secret and may be read by everybody; say: chmod o-rwx " + file);
            }
            try (InputStream in = Files.newInputStream(file)) {
                bytes = in.readNBytes(MAX_BYTES + 1);
            }
        } catch (NoSuchFileException e) {
            throw new HttpMessage.Unusable(file + " does not exist");
        } catch (IOException e) {
            throw new HttpMessage.Unusable(file + " cannot be read: " + FileFailure.words(e));
        }
        if (bytes.length > MAX_BYTES) {
            throw new HttpMessage.Unusable(file + " is larger than " + MAX_BYTES + " bytes");
        }
        int length = bytes.length;
        if (length > 0 && bytes[length - 1] == '\n') {
            length--;
            if (length > 0 && bytes[length - 1] == '\r') {
                length--;
            }
        }
        if (length == 0) {
            throw new HttpMessage.Unusable(file + " is empty");
        }
        return Arrays.copyOf(bytes, length);
    }
}
