package dev.fencepost.edge.process;

import dev.fencepost.run.Children.Spec;
import dev.fencepost.run.Children.StartFailure;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The environment of a child: the runner's own, without what is meant for the runner alone, with what the job gives, and with a minimum
 * that is always there. It does not depend on who started the runner more than that.
 *
 * <ul>
 *   <li>Left out: {@code NOTIFY_SOCKET}, {@code WATCHDOG_*}, {@code LISTEN_*}, {@code FDSTORE}, {@code MEMORY_PRESSURE_*},
 *       {@code INVOCATION_ID}, {@code JOURNAL_STREAM}, {@code SYSTEMD_EXEC_PID}, {@code MANAGERPID}, {@code CREDENTIALS_DIRECTORY} and what
 *       names a file in it, such as {@code PGPASSFILE} (systemd's words to the runner); {@code QUARKUS_*} and
 *       {@code FENCEPOST_*} but {@code FENCEPOST_CONFIG} (the runner's own settings, which may hold a password of the database); names
 *       that are not made of letters, digits and {@code _} (some shells drop them, so they would come and go).
 *   <li>Added when missing: {@code HOME}, {@code USER}, {@code LOGNAME} from the account in {@code /etc/passwd}; {@code PATH}
 *       {@value #DEFAULT_PATH}; {@code LANG} {@value #DEFAULT_LANG} unless {@code LC_ALL} is there.
 *   <li>Always: {@code FENCEPOST_RUN_ID}.
 * </ul>
 *
 * Where the run must not push by itself, what would let it is left out as well: the SSH agent, the programs that answer for a person,
 * everything of git's own ({@code GIT_*}). git then finds no credential helper and asks nobody. This keeps an honest agent from pushing;
 * one that means to may read the files of the runner's user, unless it runs as another one.
 *
 * <p>As another user it has that one's {@code HOME}, {@code USER} and {@code LOGNAME}, and no {@code XDG_*} of the runner's.
 *
 * <p>The job's values win over the inherited ones, also over those that are left out.
 */
final class ChildEnvironment {

    static final String DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin";
    static final String DEFAULT_LANG = "C.UTF-8";

    private static final Pattern NAME = Pattern.compile("[A-Za-z_][A-Za-z0-9_]*");
    private static final String CREDENTIALS_DIRECTORY = "CREDENTIALS_DIRECTORY";
    private static final Set<String> LEFT_OUT = Set.of(
            "NOTIFY_SOCKET",
            CREDENTIALS_DIRECTORY,
            "FDSTORE",
            "INVOCATION_ID",
            "JOURNAL_STREAM",
            "SYSTEMD_EXEC_PID",
            "MANAGERPID",
            "MANAGERPIDFDID");
    private static final List<String> LEFT_OUT_PREFIXES =
            List.of("WATCHDOG_", "LISTEN_", "MEMORY_PRESSURE_", "QUARKUS_", "FENCEPOST_");
    private static final Set<String> OF_A_USER = Set.of("MAIL", "SHELL", "DBUS_SESSION_BUS_ADDRESS");
    private static final List<String> CREDENTIALS =
            List.of("SSH_AUTH_SOCK", "SSH_AGENT_PID", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE", "GPG_AGENT_INFO");
    private static final Map<String, String> NO_CREDENTIALS = Map.of(
            "GIT_TERMINAL_PROMPT", "0",
            "GIT_CONFIG_COUNT", "2",
            "GIT_CONFIG_KEY_0", "credential.helper",
            "GIT_CONFIG_VALUE_0", "",
            "GIT_CONFIG_KEY_1", "core.askPass",
            "GIT_CONFIG_VALUE_1", "");
    private static final Path ACCOUNTS = Path.of("/etc/passwd");

    private ChildEnvironment() {}

    /**
     * The complete environment of this child.
     *
     * @param as the user that it runs as, or null for the runner's own
     * @throws StartFailure if the job gives a variable that cannot be passed on
     */
    static Map<String, String> of(Spec spec, @Nullable Account as, Map<String, String> inherited) throws StartFailure {
        Map<String, String> variables = new TreeMap<>();
        String credentials = inherited.getOrDefault(CREDENTIALS_DIRECTORY, "");
        inherited.forEach((name, value) -> {
            boolean credential = spec.withoutCredentials() && (CREDENTIALS.contains(name) || name.startsWith("GIT_"));
            boolean ofRunnersUser = as != null && (name.startsWith("XDG_") || OF_A_USER.contains(name));
            boolean ofRunner = !credentials.isEmpty() && value.startsWith(credentials + "/");
            if (isPassedOn(name) && !credential && !ofRunnersUser && !ofRunner) {
                variables.put(name, value);
            }
        });
        if (spec.withoutCredentials() && !spec.environment().containsKey("GIT_CONFIG_COUNT")) {
            variables.putAll(NO_CREDENTIALS);
        } else if (spec.withoutCredentials()) {
            variables.put("GIT_TERMINAL_PROMPT", "0");
        }
        if (as != null) {
            variables.put("HOME", as.home());
            variables.put("USER", as.name());
            variables.put("LOGNAME", as.name());
        }
        for (Map.Entry<String, String> given : spec.environment().entrySet()) {
            if (!NAME.matcher(given.getKey()).matches() || given.getValue().indexOf('\0') >= 0) {
                throw new StartFailure(
                        "environment variable " + given.getKey()
                                + " cannot be passed on: a name is made of letters, digits and _, a value has no NUL",
                        null);
            }
            variables.put(given.getKey(), given.getValue());
        }
        addMinimum(variables);
        variables.put(ProcessTable.TAG, spec.runId().toString());
        return variables;
    }

    private static boolean isPassedOn(String name) {
        if (name.equals("FENCEPOST_CONFIG")) {
            return true;
        }
        return NAME.matcher(name).matches()
                && !LEFT_OUT.contains(name)
                && LEFT_OUT_PREFIXES.stream().noneMatch(name::startsWith);
    }

    private static void addMinimum(Map<String, String> variables) {
        variables.putIfAbsent("PATH", DEFAULT_PATH);
        if (!variables.containsKey("LC_ALL")) {
            variables.putIfAbsent("LANG", DEFAULT_LANG);
        }
        if (!variables.containsKey("HOME") || !variables.containsKey("USER") || !variables.containsKey("LOGNAME")) {
            String[] account = account();
            variables.putIfAbsent("HOME", account[5]);
            variables.putIfAbsent("USER", account[0]);
            variables.putIfAbsent("LOGNAME", account[0]);
        }
    }

    /** The fields of our line in the accounts file; for a user without a line the number as a name, and {@code /} as home. */
    private static String[] account() {
        String uid = "";
        try {
            uid = String.valueOf(Files.getAttribute(Path.of("/proc/self"), "unix:uid"));
            for (String line : Files.readAllLines(ACCOUNTS, StandardCharsets.ISO_8859_1)) {
                String[] fields = line.split(":", -1);
                if (fields.length >= 7 && fields[2].equals(uid) && !fields[5].isEmpty()) {
                    return fields;
                }
            }
        } catch (IOException | UnsupportedOperationException noAccounts) {
            // as if there were no line
        }
        return new String[] {uid, "", uid, "", "", "/", ""};
    }
}
