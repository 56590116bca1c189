package dev.fencepost.edge.cli;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.util.Set;

/** What everybody on this host may do with a file, the directories above it taken into account. Groups are trusted. */
final class FileRights {

    private static final int STICKY = 01000;
    private static final Path SELF = Path.of("/proc/self");

    private FileRights() {}

    /** Whether everybody can read it. @throws IOException if it, or what is above it, cannot be looked at */
    static boolean isOpen(Path file) throws IOException {
        Path real = file.toRealPath();
        return has(real, PosixFilePermission.OTHERS_READ) && isReachable(real);
    }

    /** Whether everybody can change it, or put another one in its place. */
    static boolean isChangeable(Path file) throws IOException {
        Path real = file.toRealPath();
        if (has(real, PosixFilePermission.OTHERS_WRITE) && isReachable(real)) {
            return true;
        }
        for (Path above = real.getParent(); above != null; above = above.getParent()) {
            if (has(above, PosixFilePermission.OTHERS_WRITE) && !isSticky(above) && isReachable(above)) {
                return true;
            }
        }
        return false;
    }

    /** Whether it belongs to the user of this process. */
    static boolean isOurs(Path file) throws IOException {
        return Files.getAttribute(file, "unix:uid").equals(Files.getAttribute(SELF, "unix:uid"));
    }

    static Set<PosixFilePermission> mode(Path file) throws IOException {
        return Files.getPosixFilePermissions(file);
    }

    private static boolean isReachable(Path real) throws IOException {
        for (Path above = real.getParent(); above != null; above = above.getParent()) {
            if (!has(above, PosixFilePermission.OTHERS_EXECUTE)) {
                return false;
            }
        }
        return true;
    }

    private static boolean has(Path file, PosixFilePermission permission) throws IOException {
        return mode(file).contains(permission);
    }

    private static boolean isSticky(Path directory) throws IOException {
        return ((Integer) Files.getAttribute(directory, "unix:mode") & STICKY) != 0;
    }
}
