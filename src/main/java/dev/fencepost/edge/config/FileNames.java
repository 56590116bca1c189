package dev.fencepost.edge.config;

import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Where the names of files in a jobs file start from: its own directory, and for {@code credential:NAME} the directory in which systemd gives
 * this service what its unit loads.
 *
 * @param dir absolute
 * @param credentials null outside of a service with credentials
 */
record FileNames(Path dir, @Nullable String credentials) {

    private static final String PREFIX = "credential:";
    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9_][A-Za-z0-9._-]{0,254}");

    static FileNames at(Path dir, Map<String, String> environment) {
        String given = environment.get("CREDENTIALS_DIRECTORY");
        return new FileNames(dir, given == null || given.isBlank() ? null : given);
    }

    /**
     * The path of a file that may be a credential.
     *
     * @throws BadValueException if the text is blank or no path, or there is no such credential here
     */
    Path resolve(String written) {
        return written.startsWith(PREFIX)
                ? credential(written.substring(PREFIX.length()))
                : FileName.resolve(dir, written);
    }

    /**
     * The path of a secret file that can be used.
     *
     * @throws BadValueException as {@link #resolve}, or if it is not there, no plain file, empty, too large, or open to everyone on the host
     */
    Path secret(String written) {
        return SecretFile.checked(resolve(written));
    }

    private Path credential(String name) {
        String shown = Finding.quote(name);
        if (!NAME.matcher(name).matches()) {
            throw new BadValueException(
                    shown + " is no name of a credential", "write credential:NAME, as in LoadCredential=NAME:FILE");
        }
        String load = "LoadCredential=" + name + ":FILE in the unit";
        if (credentials == null) {
            throw new BadValueException(
                    "there is no credential " + shown + " here, $CREDENTIALS_DIRECTORY is not set",
                    "systemd sets it for a service with " + load + ", and for nothing else: ask inside of the service,"
                            + " as systemctl reload does");
        }
        try {
            Path file = Path.of(credentials).resolve(name);
            if (!Files.exists(file)) {
                throw new BadValueException("systemd gives this service no credential " + shown, "add " + load);
            }
            return file;
        } catch (InvalidPathException e) {
            throw new BadValueException("$CREDENTIALS_DIRECTORY holds no path", "");
        }
    }
}
