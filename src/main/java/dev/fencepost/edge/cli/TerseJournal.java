package dev.fencepost.edge.cli;

import dev.fencepost.host.Event;
import dev.fencepost.host.Journal;
import dev.fencepost.host.Printable;
import java.io.PrintWriter;

/** For short commands: of all that happens, what a person has to know of is one line each. */
record TerseJournal(PrintWriter err) implements Journal {

    @Override
    public void record(Event event) {
        switch (event) {
            case Event.Problem problem ->
                line(problem.where() + ": " + problem.text()
                        + (problem.cause() == null ? "" : ": " + problem.cause().getMessage()));
            case Event.RenewFailed failed -> line("a renewal had no answer, it is tried again: " + failed.cause());
            case Event.LeaseLost lost -> line("the lease of " + lost.job() + " is lost: " + lost.reason());
            case Event.Abandoned dead ->
                line("an earlier attempt at " + dead.slot() + " of " + dead.job() + ", token " + dead.fence()
                        + ", has no living holder and is closed as abandoned");
            case Event.Notified notice -> {
                if (notice.trouble() != null) {
                    line("the " + notice.channel() + " of " + notice.what() + " could not be sent: "
                            + notice.trouble());
                }
            }
            case Event.Note note -> line(note.text());
            default -> {}
        }
    }

    private void line(String text) {
        err.println("fencepost: " + Printable.text(text));
        err.flush();
    }
}
