package dev.fencepost.edge.web;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The file of bearer tokens: one {@code NAME SCOPES TOKEN [EXPIRES]} a line, with blanks between, and {@code #} comments on lines of their
 * own. SCOPES is a list of {@code read}, {@code work}, {@code operate} with commas between; EXPIRES an instant such as
 * {@code 2027-01-01T00:00:00Z}.
 *
 * <p>It must be a plain file that its owner alone may read or write. A symbolic link to such a file is followed, since secrets are often
 * put in place by one. What is wrong with it is told with the line's number, and never with what stands there.
 */
final class TokenFile {

    static final int LEAST_LENGTH = 32;
    static final int MOST_LENGTH = 512;

    private static final int MOST_BYTES = 256 << 10;
    private static final int MOST_TOKENS = 1_000;
    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._-]{0,62}");
    private static final Pattern TOKEN = Pattern.compile("[!-~]{" + LEAST_LENGTH + "," + MOST_LENGTH + "}");
    /** Where systemd keeps the credentials of services of the host, each in a folder that nobody else can enter. */
    private static final Path CREDENTIALS = Path.of("/run/credentials");

    private static final Set<PosixFilePermission> OWNERS = EnumSet.of(
            PosixFilePermission.OWNER_READ, PosixFilePermission.OWNER_WRITE, PosixFilePermission.OWNER_EXECUTE);

    private final Path path;

    TokenFile(Path path) {
        this.path = path;
    }

    /** The file cannot be used; the message says why, for a person. */
    static final class BadFile extends Exception {

        BadFile(String message) {
            super(message, null, false, false);
        }
    }

    /** Tells whether a file was changed, without reading it. */
    record Stamp(FileTime modified, long size, @Nullable Object key, Set<PosixFilePermission> rights) {}

    /** @param stamp from before the reading */
    record Content(Stamp stamp, List<Token> tokens) {}

    Path path() {
        return path;
    }

    Stamp stamp() throws BadFile {
        return attributes().stamp();
    }

    private record Attributes(Stamp stamp, boolean plain) {}

    private Attributes attributes() throws BadFile {
        try {
            PosixFileAttributes read = Files.readAttributes(path, PosixFileAttributes.class);
            return new Attributes(
                    new Stamp(read.lastModifiedTime(), read.size(), read.fileKey(), read.permissions()),
                    read.isRegularFile());
        } catch (IOException e) {
            throw unreadable(e);
        } catch (UnsupportedOperationException e) {
            throw new BadFile("the rights of the token file " + path + " cannot be told on this file system");
        }
    }

    /** Reads the whole file, strictly. */
    Content read() throws BadFile {
        Attributes before = attributes();
        if (!before.plain()) {
            throw new BadFile("the token file " + path + " is not a plain file");
        }
        if (!isForUsAlone(path, before.stamp().rights())) {
            throw new BadFile("the token file " + path + " can be used by others than its owner: chmod 600 " + path);
        }
        byte[] bytes;
        try (InputStream in = Files.newInputStream(path)) {
            bytes = in.readNBytes(MOST_BYTES + 1);
        } catch (IOException e) {
            throw unreadable(e);
        }
        if (bytes.length > MOST_BYTES) {
            throw new BadFile("the token file " + path + " has more than " + MOST_BYTES + " bytes");
        }
        try {
            String text = StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(bytes))
                    .toString();
            return new Content(before.stamp(), tokens(text));
        } catch (CharacterCodingException e) {
            throw new BadFile("the token file " + path + " is not UTF-8");
        }
    }

    /** A credential is let in to one service by an access list, whose mask shows as a right of the group. */
    static boolean isForUsAlone(Path path, Set<PosixFilePermission> rights) {
        Set<PosixFilePermission> allowed = EnumSet.copyOf(OWNERS);
        if (path.startsWith(CREDENTIALS)) {
            allowed.add(PosixFilePermission.GROUP_READ);
        }
        return allowed.containsAll(rights);
    }

    private List<Token> tokens(String text) throws BadFile {
        List<Token> tokens = new ArrayList<>();
        List<Integer> lineOf = new ArrayList<>();
        List<String> lines = text.lines().toList();
        for (int i = 0; i < lines.size(); i++) {
            String line = lines.get(i).strip();
            if (line.isEmpty() || line.startsWith("#")) {
                continue;
            }
            Token token = token(line, i + 1);
            for (int k = 0; k < tokens.size(); k++) {
                if (tokens.get(k).hasDigest(token.digest())) {
                    throw bad(i + 1, "the same token stands in line " + lineOf.get(k));
                }
            }
            tokens.add(token);
            lineOf.add(i + 1);
            if (tokens.size() > MOST_TOKENS) {
                throw bad(i + 1, "there are more than " + MOST_TOKENS + " tokens");
            }
        }
        return List.copyOf(tokens);
    }

    private Token token(String line, int number) throws BadFile {
        List<String> words = Arrays.asList(line.split("[ \\t]+"));
        if (words.size() < 3 || words.size() > 4) {
            throw bad(number, "a line is NAME SCOPES TOKEN [EXPIRES], this one has " + words.size() + " words");
        }
        String name = words.get(0);
        if (!NAME.matcher(name).matches()) {
            throw bad(number, "a name has 1 to 63 characters of A-Z a-z 0-9 . _ - and begins with a letter or digit");
        }
        EnumSet<Scope> scopes = EnumSet.noneOf(Scope.class);
        for (String word : words.get(1).split(",", -1)) {
            Scope scope = Scope.of(word);
            if (scope == null || !scopes.add(scope)) {
                throw bad(number, "the scopes are read, work and operate, each once, with commas between");
            }
        }
        if (!TOKEN.matcher(words.get(2)).matches()) {
            throw bad(
                    number,
                    "a token has " + LEAST_LENGTH + " to " + MOST_LENGTH
                            + " printable ASCII characters; openssl rand -hex 32 makes one");
        }
        Instant expires = null;
        if (words.size() == 4) {
            try {
                expires = Instant.parse(words.get(3));
            } catch (DateTimeParseException e) {
                throw bad(number, "the last word is the end of the token, an instant such as 2027-01-01T00:00:00Z");
            }
        }
        return new Token(name, scopes, Token.digestOf(words.get(2)), expires);
    }

    private BadFile bad(int line, String what) {
        return new BadFile("the token file " + path + ", line " + line + ": " + what);
    }

    private BadFile unreadable(IOException e) {
        return new BadFile(
                switch (e) {
                    case NoSuchFileException missing -> "the token file " + path + " does not exist";
                    case AccessDeniedException denied -> "there is no right to read the token file " + path;
                    default -> "the token file " + path + " cannot be read: " + e.getMessage();
                });
    }
}
