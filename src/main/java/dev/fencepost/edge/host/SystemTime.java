package dev.fencepost.edge.host;

import dev.fencepost.host.Time;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * The clocks of a Linux host: {@code /proc/uptime} is the boot clock (10 ms, goes on during suspend), the kernel's random boot id names
 * the start.
 *
 * <p>Where one of the two files is missing, the boot clock is a wall clock that never falls, and the boot id is
 * {@value #NO_BOOT_CLOCK}: leases then hold only as well as that wall clock does. {@link #hasBootClock} tells, for {@code doctor}.
 *
 * <p>A container with a made-up {@code /proc/uptime} (lxcfs) counts from the start of the container under the boot id of the host. Its
 * clock falls when the container is started again; such a container should be given the host's file.
 */
public final class SystemTime implements Time {

    /** The boot id where there is no boot clock. Nothing is ever concluded from it. */
    public static final String NO_BOOT_CLOCK = "no-boot-clock";

    private static final Duration LONGEST_PIECE = Duration.ofMinutes(1);
    private static final long RESOLUTION_MILLIS = 10;

    private final String bootId;
    private final @Nullable RandomAccessFile uptime;
    private final AtomicLong highest = new AtomicLong();

    public SystemTime() {
        this(Path.of("/proc"));
    }

    /**
     * Reads another directory in place of {@code /proc}. The uptime stays open for good: a runner that is out of file descriptors must
     * still know when its leases end.
     */
    SystemTime(Path proc) {
        RandomAccessFile opened = null;
        String id = NO_BOOT_CLOCK;
        try {
            opened = new RandomAccessFile(proc.resolve("uptime").toFile(), "r");
            millisIn(opened);
            String text = Files.readString(proc.resolve("sys/kernel/random/boot_id"), StandardCharsets.US_ASCII)
                    .strip();
            id = text.matches("[0-9a-zA-Z-]{1,40}") ? text : NO_BOOT_CLOCK;
        } catch (IOException | NumberFormatException missing) {
            // then the wall clock stands in
        }
        this.uptime = opened;
        this.bootId = id;
    }

    @Override
    public Instant wallClock() {
        return Instant.now();
    }

    /**
     * {@inheritDoc}
     *
     * @throws IllegalStateException if a boot clock that was there can no longer be read: a guess would be worse than a failure
     */
    @Override
    public long bootMillis() {
        long now;
        if (uptime != null && hasBootClock()) {
            try {
                now = millisIn(uptime);
            } catch (IOException | NumberFormatException unreadable) {
                throw new IllegalStateException("the boot clock cannot be read", unreadable);
            }
        } else {
            now = System.currentTimeMillis();
        }
        return highest.accumulateAndGet(now, Math::max);
    }

    @Override
    public String bootId() {
        return bootId;
    }

    /** Whether {@link #bootMillis} is a real boot clock and not the wall clock in its place. */
    public boolean hasBootClock() {
        return !bootId.equals(NO_BOOT_CLOCK);
    }

    /**
     * {@inheritDoc}
     *
     * <p>The JVM's own clock stands still while the machine is suspended, so the wait is made of pieces of at most one minute, and the
     * boot clock is looked at between them: after a suspend the wait ends at most one minute late.
     */
    @Override
    public void sleep(Duration duration) throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        if (!duration.isPositive()) {
            return;
        }
        long bootStart = bootMillis();
        long nanoStart = System.nanoTime();
        Duration left = duration;
        while (left.isPositive()) {
            Thread.sleep(left.compareTo(LONGEST_PIECE) < 0 ? left : LONGEST_PIECE);
            Duration byJvm = Duration.ofNanos(System.nanoTime() - nanoStart);
            Duration byBoot = Duration.ofMillis(bootMillis() - bootStart - RESOLUTION_MILLIS);
            left = duration.minus(byJvm.compareTo(byBoot) < 0 ? byBoot : byJvm);
        }
    }

    /** The kernel's monotonic clock, which other programs of this host read too; it stands still during suspend. */
    public static long monotonicMicros() {
        return TimeUnit.NANOSECONDS.toMicros(System.nanoTime());
    }

    /** The first number of the file: seconds with two digits after the point. */
    private static long millisIn(RandomAccessFile uptime) throws IOException {
        byte[] bytes = new byte[64];
        int length;
        synchronized (uptime) {
            uptime.seek(0);
            length = Math.max(0, uptime.read(bytes));
        }
        String text = new String(bytes, 0, length, StandardCharsets.US_ASCII);
        int point = text.indexOf('.');
        int end = text.indexOf(' ');
        if (point < 1 || end != point + 3) {
            throw new NumberFormatException("not the form of an uptime: " + text.strip());
        }
        return Long.parseLong(text, 0, point, 10) * 1000 + Long.parseLong(text, point + 1, end, 10) * 10;
    }
}
