package dev.fencepost.edge.process;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class SignalShellTest {

    private static final long NOBODY = 1L << 30; // more than the kernel gives

    private final SignalShell signals = new SignalShell();

    @Test
    void moreThanALineTakesAreSignalledToo() throws Exception {
        Process first = sleeping();
        Process last = sleeping();
        List<Long> pids = new ArrayList<>(List.of(first.pid()));
        for (int i = 0; i < 10_000; i++) {
            pids.add(NOBODY + i);
        }
        pids.add(last.pid());

        assertTrue(signals.send("KILL", () -> pids));

        assertTrue(first.waitFor(30, TimeUnit.SECONDS));
        assertTrue(last.waitFor(30, TimeUnit.SECONDS));
    }

    @Test
    void aShellWhoseAnswerWasNotWaitedForIsNotAskedAgain() throws Exception {
        List<ProcessHandle> before = ProcessHandle.current().children().toList();
        signals.prepare();
        ProcessHandle shell = ProcessHandle.current()
                .children()
                .filter(child -> !before.contains(child))
                .findFirst()
                .orElseThrow();

        Thread.currentThread().interrupt();
        assertThrows(
                InterruptedException.class,
                () -> signals.send("STOP", () -> List.of(shell.pid()))); // so that it cannot answer

        shell.onExit().get(30, TimeUnit.SECONDS);
        Process child = sleeping();
        assertTrue(signals.send("KILL", () -> List.of(child.pid())));
        assertTrue(child.waitFor(30, TimeUnit.SECONDS));
    }

    private static Process sleeping() throws Exception {
        return new ProcessBuilder("sleep", "60").start();
    }
}
