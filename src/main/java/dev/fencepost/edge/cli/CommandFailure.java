package dev.fencepost.edge.cli;

/** Ends a command with one message for a person on stderr and an exit code. It carries no stack trace. */
public final class CommandFailure extends RuntimeException {

    private final int exitCode;

    /**
     * @param exitCode one of {@link ExitCode}
     * @param message what is wrong, and on further lines what to do; shown as it is
     */
    public CommandFailure(int exitCode, String message) {
        super(message, null, false, false);
        this.exitCode = exitCode;
    }

    public int exitCode() {
        return exitCode;
    }
}
