package dev.fencepost.edge.cli;

import dev.fencepost.edge.process.OutputLogReader;
import dev.fencepost.edge.process.OutputLogReader.Entry;
import dev.fencepost.edge.process.OutputLogReader.Source;
import dev.fencepost.host.Printable;
import dev.fencepost.host.Time;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.function.BooleanSupplier;

/**
 * Passes the output of a run on, as it comes: standard output to ours and standard error to ours, or both to standard error where
 * standard output is kept for JSON. On a terminal control characters are shown instead of sent.
 */
final class LiveOutput {

    private static final Duration BETWEEN_LOOKS = Duration.ofMillis(25);

    private final Surroundings surroundings;
    private final boolean allToErr;
    private final Path log;
    private boolean lineIsOpen;
    private boolean openLineIsOnErr;

    LiveOutput(Surroundings surroundings, boolean allToErr, Path log) {
        this.surroundings = surroundings;
        this.allToErr = allToErr;
        this.log = log;
    }

    /** Returns when the run has ended and all of its log is shown. */
    void follow(Time time, BooleanSupplier runHasEnded) {
        try (OutputLogReader reader = OutputLogReader.open(log)) {
            while (true) {
                boolean isComplete = runHasEnded.getAsBoolean();
                boolean shown = false;
                for (Entry entry = reader.next(); entry != null; entry = reader.next()) {
                    show(entry);
                    shown = true;
                }
                if (shown) {
                    surroundings.out().flush();
                    surroundings.err().flush();
                }
                if (isComplete) {
                    break;
                }
                time.sleep(BETWEEN_LOOKS);
            }
            if (lineIsOpen && (openLineIsOnErr || surroundings.errIsScreen())) {
                surroundings.err().println(); // what we say next begins a line of its own
                surroundings.err().flush();
            }
        } catch (IOException e) {
            remark("the output cannot be shown: " + e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void show(Entry entry) {
        if (entry.source() == Source.REMARK) {
            remark(entry.text());
            return;
        }
        boolean toErr = allToErr || entry.source() == Source.STDERR;
        PrintWriter to = toErr ? surroundings.err() : surroundings.out();
        boolean isScreen = toErr ? surroundings.errIsScreen() : surroundings.outIsScreen();
        to.print(isScreen ? Printable.text(entry.text()) : entry.text());
        if (entry.endsLine()) {
            to.print('\n');
        }
        lineIsOpen = !entry.endsLine();
        openLineIsOnErr = toErr;
    }

    private void remark(String text) {
        PrintWriter err = surroundings.err();
        err.println((lineIsOpen ? "\n" : "") + "fencepost: " + Printable.text(text));
        err.flush();
        lineIsOpen = false;
    }
}
