package dev.fencepost.edge.config;

import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Where the state lives, in the form that a JDBC driver wants. User and password stand apart from the URL; neither {@link #display()}
 * nor {@link #toString()} shows a password.
 *
 * @param jdbcUrl for the driver only: its parameters may hold a secret such as {@code sslpassword}
 * @param user null leaves the choice to the driver ({@code $PGUSER} is not read by it; it takes the name of the system's user)
 * @param password null leaves it to the driver, which looks into {@code $PGPASSFILE} or {@code ~/.pgpass}
 * @param file the database file of SQLite, absolute; null for PostgreSQL
 * @param display for people and logs
 */
public record StoreUrl(
        Kind kind,
        String jdbcUrl,
        @Nullable String user,
        @Nullable String password,
        @Nullable Path file,
        String display) {

    public enum Kind {
        SQLITE,
        POSTGRESQL
    }

    private static final String KINDS = "write sqlite:PATH or postgresql://USER@HOST/DATABASE";
    private static final Pattern SCHEME = Pattern.compile("(?:jdbc:)?([a-zA-Z][a-zA-Z0-9+.-]*):.*", Pattern.DOTALL);
    private static final Pattern SECRET = Pattern.compile("(?i)password|sslpassword|passwd|pwd|secret|token");
    private static final Pattern HOST =
            Pattern.compile("(?:[A-Za-z0-9._-]+|\\[[0-9A-Fa-f:.]+](?:%[A-Za-z0-9]+)?)(?::([0-9]{1,5}))?");
    private static final int LONGEST_PATH = 4_096;
    private static final String DEFAULT_NAME = "fencepost.db";
    private static final String MASK = "***";

    /** The store of a file that names none. */
    public static StoreUrl inStateDir(Path stateDir) {
        return sqlite(stateDir.resolve(DEFAULT_NAME));
    }

    /**
     * Reads the text of {@code store:} or {@code --store}.
     *
     * @param base directory that a relative SQLite path starts from
     * @throws BadValueException if it names no store of a known kind; the message never repeats the text after the kind
     */
    public static StoreUrl parse(String written, Path base) {
        String text = written.strip();
        Matcher scheme = SCHEME.matcher(text);
        if (!scheme.matches()) {
            String shown = text.contains("@") ? "the text" : Finding.quote(text);
            throw new BadValueException(shown + " names no kind of store", KINDS);
        }
        String rest = text.substring(scheme.end(1) + 1);
        return switch (scheme.group(1).toLowerCase(Locale.ROOT)) {
            case "sqlite" -> sqlite(rest, base);
            case "postgresql", "postgres" -> postgresql(rest);
            default ->
                throw new BadValueException("there is no store of the kind " + Finding.quote(scheme.group(1)), KINDS);
        };
    }

    @Override
    public String toString() {
        return display;
    }

    private static StoreUrl sqlite(String written, Path base) {
        if (written.isBlank()) {
            throw new BadValueException("the path of the SQLite file is missing", "write sqlite:fencepost.db");
        }
        if (written.startsWith(":memory:") || written.startsWith("file:")) {
            throw new BadValueException(
                    "the store must be a plain file that outlives the process",
                    "write sqlite:/var/lib/fencepost/fencepost.db");
        }
        if (written.startsWith("~") || written.contains("$")) {
            throw new BadValueException(
                    "~ and $NAME are not expanded, and " + Finding.quote(written) + " holds one",
                    "write the path in full");
        }
        if (written.length() > LONGEST_PATH) {
            throw new BadValueException(
                    Finding.quote(written) + " is longer than " + LONGEST_PATH
                            + " characters, and no system has such a path",
                    "write a shorter one");
        }
        if (written.indexOf('?') >= 0 || written.indexOf('\0') >= 0) {
            throw new BadValueException("the path of a SQLite store takes no parameters", "write the path alone");
        }
        try {
            Path file = base.resolve(written.startsWith("//") ? written.replaceFirst("^/+", "/") : written);
            checkPlace(file.toAbsolutePath().normalize());
            return sqlite(file);
        } catch (InvalidPathException e) {
            throw new BadValueException(Finding.quote(written) + " is no path", KINDS);
        }
    }

    /** The file need not be there, nor its folders: they are made. But nothing else may stand in their place. */
    private static void checkPlace(Path file) {
        if (Files.isDirectory(file)) {
            throw new BadValueException(
                    Finding.quote(file.toString()) + " is a directory",
                    "name a file in it: sqlite:" + file.resolve(DEFAULT_NAME));
        }
        Path folder = file.getParent();
        while (folder != null && !Files.exists(folder)) {
            folder = folder.getParent();
        }
        if (folder != null && !Files.isDirectory(folder)) {
            throw new BadValueException(
                    Finding.quote(folder.toString()) + " is not a directory", "name a file in a directory");
        }
    }

    private static StoreUrl sqlite(Path path) {
        Path file = path.toAbsolutePath().normalize();
        return new StoreUrl(
                Kind.SQLITE, "jdbc:sqlite:" + file, null, null, file, "sqlite:" + Finding.quotable(file.toString()));
    }

    /** {@code //[user[:password]@]host[:port][,host[:port]…]/database[?name=value&…]}. */
    private static StoreUrl postgresql(String written) {
        if (!written.startsWith("//")) {
            throw new BadValueException("the URL of the PostgreSQL store has no //", KINDS);
        }
        int question = written.indexOf('?');
        String place = written.substring(2, question < 0 ? written.length() : question);
        String query = question < 0 ? "" : written.substring(question + 1);

        // The last @ before the database ends the user's part: a password may hold one that is not encoded.
        int at = place.lastIndexOf('@');
        String hostsAndDatabase = place.substring(at + 1);
        int slash = hostsAndDatabase.indexOf('/');
        String hosts = slash < 0 ? hostsAndDatabase : hostsAndDatabase.substring(0, slash);
        String database = slash < 0 ? "" : hostsAndDatabase.substring(slash + 1);
        checkHosts(hosts);
        if (database.isBlank() || database.contains("/")) {
            throw new BadValueException("the URL of the PostgreSQL store names no database", KINDS);
        }

        String user = null;
        String password = null;
        if (at >= 0) {
            String login = place.substring(0, at);
            int colon = login.indexOf(':');
            user = decoded(colon < 0 ? login : login.substring(0, colon));
            password = colon < 0 ? null : decoded(login.substring(colon + 1));
        }
        List<String> forDriver = new ArrayList<>();
        List<String> shown = new ArrayList<>();
        boolean targetGiven = false;
        for (String parameter : query.split("&", -1)) {
            if (parameter.isEmpty()) {
                continue;
            }
            int equals = parameter.indexOf('=');
            if (equals < 1) {
                throw new BadValueException(
                        "a parameter of the PostgreSQL URL has no value", "write ?name=value&name=value");
            }
            String name = parameter.substring(0, equals);
            switch (name) {
                case "user" -> user = decoded(parameter.substring(equals + 1));
                case "password" -> password = decoded(parameter.substring(equals + 1));
                case "target_session_attrs" ->
                    throw new BadValueException(
                            "the parameter target_session_attrs is of libpq, the driver here does not know it",
                            "write targetServerType=primary");
                default -> {
                    targetGiven |= name.equals("targetServerType");
                    forDriver.add(parameter);
                    shown.add(Finding.quotable(SECRET.matcher(name).find() ? name + "=" + MASK : parameter));
                }
            }
        }
        if (hosts.contains(",") && !targetGiven) {
            // A standby would answer reads and refuse every claim.
            forDriver.add("targetServerType=primary");
            shown.add("targetServerType=primary");
        }
        String login = user == null || user.isEmpty()
                ? ""
                : Finding.quotable(user) + (password == null ? "" : ":" + MASK) + "@";
        String address = hosts + "/" + database;
        return new StoreUrl(
                Kind.POSTGRESQL,
                "jdbc:postgresql://" + address + joined(forDriver),
                user == null || user.isEmpty() ? null : user,
                password == null || password.isEmpty() ? null : password,
                null,
                "postgresql://" + login + Finding.quotable(address) + joined(shown));
    }

    private static void checkHosts(String hosts) {
        for (String host : hosts.split(",", -1)) {
            Matcher m = HOST.matcher(host);
            if (!m.matches()) {
                throw new BadValueException(
                        "the URL of the PostgreSQL store has a host that is empty or no name", KINDS);
            }
            if (m.group(1) != null && (Integer.parseInt(m.group(1)) < 1 || Integer.parseInt(m.group(1)) > 65535)) {
                throw new BadValueException("the port " + m.group(1) + " does not exist", "ports are 1 to 65535");
            }
        }
    }

    private static String joined(List<String> parameters) {
        return parameters.isEmpty() ? "" : "?" + String.join("&", parameters);
    }

    private static String decoded(String text) {
        try {
            // A plus is an ordinary character here, unlike in a form.
            return URLDecoder.decode(text.replace("+", "%2B"), StandardCharsets.UTF_8);
        } catch (IllegalArgumentException e) {
            throw new BadValueException(
                    "a % in user or password is not followed by two hex digits", "write % itself as %25");
        }
    }
}
