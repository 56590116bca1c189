package dev.fencepost.faults;

import java.util.List;
import org.junit.jupiter.api.Assumptions;

/**
 * A network namespace with one wire to the host, which can be pulled out: then nothing is refused and nothing is reset, there is just no
 * answer any more. Needs {@code ip} and the right to make namespaces; tests that ask for it are skipped without.
 */
final class Namespace implements AutoCloseable {

    private final String name;
    private final String device;
    private final String net;

    private Namespace(String name, String device, String net) {
        this.name = name;
        this.device = device;
        this.net = net;
    }

    static Namespace open() {
        long number = ProcessHandle.current().pid() % 15_000;
        Namespace made = new Namespace(
                "fencepost-" + number, "fp" + number, "10.%s.%s.".formatted(190 + number / 250, number % 250));
        allowed("ip", "netns", "add", made.name);
        try {
            allowed("ip", "link", "add", made.device, "type", "veth", "peer", "name", "eth0", "netns", made.name);
            run("ip", "addr", "add", made.hostAddress() + "/30", "dev", made.device);
            run("ip", "link", "set", made.device, "up");
            run("ip", "-n", made.name, "addr", "add", made.net + "2/30", "dev", "eth0");
            run("ip", "-n", made.name, "link", "set", "eth0", "up");
            run("ip", "-n", made.name, "link", "set", "lo", "up");
        } catch (RuntimeException notAllowed) {
            made.close();
            throw notAllowed;
        }
        return made;
    }

    private static void run(String... words) {
        String refusal = Programs.refusalOf(words);
        if (!refusal.isEmpty()) {
            throw new IllegalStateException(String.join(" ", words) + ": " + refusal);
        }
    }

    private static void allowed(String... words) {
        String refusal = Programs.refusalOf(words);
        Assumptions.assumeTrue(
                refusal.isEmpty(),
                () -> "network test left out: " + String.join(" ", words) + " is not possible here: " + refusal);
    }

    /** The host's end of the wire, as both see it. */
    String hostAddress() {
        return net + "1";
    }

    /** What runs a program inside. */
    List<String> prefix() {
        return List.of("ip", "netns", "exec", name);
    }

    void pullTheWire() {
        run("ip", "link", "set", device, "down");
    }

    void plugItIn() {
        run("ip", "link", "set", device, "up");
    }

    @Override
    public void close() {
        Programs.refusalOf("ip", "netns", "del", name); // the wire goes with it
    }
}
