package dev.fencepost.edge.host;

import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The name of this machine, for people. */
public final class HostName {

    private static final Path KERNEL = Path.of("/proc/sys/kernel/hostname");

    private HostName() {}

    /** As the kernel has it, without asking a name server; {@code unknown} where nobody tells. */
    public static String read() {
        try {
            return Files.readString(KERNEL).strip();
        } catch (IOException noSuchFile) {
            try {
                return InetAddress.getLocalHost().getHostName();
            } catch (UnknownHostException nobodyTells) {
                return "unknown";
            }
        }
    }
}
