package dev.fencepost.edge.systemd;

import dev.fencepost.host.Programs;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The socket of the service manager. Java cannot send to it, so {@code systemd-notify} does. It comes back when the manager has the message,
 * or after five seconds of its own: a sender that is gone before may not be known as one of the service ({@code --no-block} is for that reason
 * not used). The manager listens to it where the unit has {@code NotifyAccess=all}. It never tells a main pid, which stays that of the runner.
 */
final class NotifySocket {

    static final String VARIABLE = "NOTIFY_SOCKET";

    /** Longer than the program itself waits. */
    private static final Duration LIMIT = Duration.ofSeconds(7);

    /** What the program needs of the runner's environment; with MANAGERPID it knows the manager of a user. */
    private static final List<String> PASSED_ON = List.of(VARIABLE, "MANAGERPID", "PATH");

    private final Programs programs;
    private final Map<String, String> environment = new TreeMap<>(Map.of("LC_ALL", "C.UTF-8"));

    NotifySocket(Map<String, String> runners, Programs programs) {
        this.programs = programs;
        for (String name : PASSED_ON) {
            String value = runners.get(name);
            if (value != null) {
                environment.put(name, value);
            }
        }
    }

    /**
     * Sends the assignments as one message.
     *
     * @return why it did not arrive, or null if it did
     */
    @Nullable
    String send(List<String> assignments) throws InterruptedException {
        List<String> command = new ArrayList<>(List.of("systemd-notify"));
        command.addAll(assignments);
        try {
            Programs.Ended ended = programs.run(command, environment, null, new byte[0], LIMIT);
            if (ended.isFine()) {
                return null;
            }
            return "systemd-notify: " + ended + (ended.err().isEmpty() ? "" : ", " + ended.err());
        } catch (IOException e) {
            return String.valueOf(e.getMessage());
        } catch (RuntimeException | Error e) { // no thread or no memory to be had: tried again later
            return e.toString();
        }
    }
}
