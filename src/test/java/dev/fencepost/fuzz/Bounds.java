package dev.fencepost.fuzz;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.time.Duration;

/** What one input may cost: time of the processor, which a busy machine does not make longer, and memory that is asked for. */
public final class Bounds {

    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private final Duration longest;
    private final long mostBytes;

    /**
     * @param longest processor time for an input
     * @param mostBytes that may be asked for, in all
     */
    public Bounds(Duration longest, long mostBytes) {
        this.longest = longest;
        this.mostBytes = mostBytes;
    }

    /** Gives the input to the target, and fails if it takes more than it may. */
    public void take(Target target, byte[] input, Path folder) throws Exception {
        long cpuBefore = THREADS.getCurrentThreadCpuTime();
        long allocatedBefore = THREADS.getCurrentThreadAllocatedBytes();
        target.take(input, folder);
        long cpu = THREADS.getCurrentThreadCpuTime() - cpuBefore;
        long allocated = THREADS.getCurrentThreadAllocatedBytes() - allocatedBefore;
        if (cpu > longest.toNanos()) {
            throw new AssertionError("took " + cpu / 1_000_000 + " ms of the processor for " + input.length + " bytes");
        }
        if (allocated > mostBytes) {
            throw new AssertionError("asked for " + (allocated >> 20) + " MiB for " + input.length + " bytes");
        }
    }
}
