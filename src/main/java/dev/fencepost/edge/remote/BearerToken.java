package dev.fencepost.edge.remote;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;

/** What a server asks of who calls it. Never shown. */
public record BearerToken(String value) {

    private static final Pattern FORM = Pattern.compile("[!-~]{16,512}");
    private static final int LARGEST_FILE = 8_192;
    private static final Set<PosixFilePermission> OTHERS = EnumSet.of(
            PosixFilePermission.GROUP_READ,
            PosixFilePermission.GROUP_WRITE,
            PosixFilePermission.OTHERS_READ,
            PosixFilePermission.OTHERS_WRITE);

    public BearerToken {
        if (!FORM.matcher(value).matches()) {
            throw new IllegalArgumentException("a token has 16 to 512 visible ASCII characters");
        }
    }

    /**
     * Reads a file that holds the token alone, or one line of a server's own file: {@code NAME SCOPES TOKEN [EXPIRES]}. Empty lines and those that
     * begin with {@code #} do not count.
     *
     * @throws IOException if there is no such file, others than its owner may read or write it, or it holds anything else; the message
     *     names the file and never its content
     */
    public static BearerToken read(Path file) throws IOException {
        if (!Files.isRegularFile(file)) {
            throw new IOException("the token file " + file
                    + (Files.exists(file) ? " is no plain file" : " does not exist, or may not be seen"));
        }
        checkRights(file);
        byte[] bytes;
        try (InputStream in = Files.newInputStream(file)) {
            bytes = in.readNBytes(LARGEST_FILE + 1);
        } catch (IOException e) {
            throw new IOException("the token file " + file + " cannot be read", e);
        }
        List<String> lines = new String(bytes, StandardCharsets.UTF_8)
                .lines()
                .map(String::strip)
                .filter(line -> !line.isEmpty() && !line.startsWith("#"))
                .toList();
        if (bytes.length > LARGEST_FILE || lines.size() != 1) {
            throw new IOException("the token file " + file + " does not hold one line with one token");
        }
        String[] words = lines.getFirst().split("\\s+");
        if (words.length == 2 || words.length > 4) {
            throw new IOException(
                    "the token file " + file + " holds neither a token alone nor a line of the form NAME SCOPES TOKEN");
        }
        try {
            return new BearerToken(words.length == 1 ? words[0] : words[2]);
        } catch (IllegalArgumentException e) {
            throw new IOException("the token file " + file + " holds no token: " + e.getMessage(), e);
        }
    }

    private static void checkRights(Path file) throws IOException {
        Set<PosixFilePermission> rights;
        try {
            rights = Files.getPosixFilePermissions(file);
        } catch (UnsupportedOperationException noRightsHere) {
            return;
        }
        if (rights.stream().anyMatch(OTHERS::contains)) {
            throw new IOException("the token file " + file + " may be read or written by others; chmod 600 it");
        }
    }

    @Override
    public String toString() {
        return "***";
    }
}
