package dev.fencepost.edge.cli;

/** What the program tells a script by its end. Stable. From 64 on as in sysexits.h. */
public final class ExitCode {

    /** Done; a skipped slot too. */
    public static final int FINE = 0;
    /** The work failed, or the program has an error; of {@code doctor} and {@code store check}: something is wrong; of {@code health}: DOWN. */
    public static final int FAILED = 1;
    /** The command line is wrong. */
    public static final int USAGE = 2;
    /** A normal "no", with its reason: held, stale token, expired, already done, unknown. */
    public static final int REFUSED = 3;
    /** The store is not available; of {@code health}: nobody answers. */
    public static final int STORE_UNAVAILABLE = 69;
    /** The lease was lost while the work ran. */
    public static final int LEASE_LOST = 70;
    /** Skipped, where {@code exec --fail-on-skip} asks for it. */
    public static final int SKIPPED = 75;
    /** The jobs file, or an expression, is refused. */
    public static final int BAD_CONFIGURATION = 78;

    /** The command of {@code exec} was stopped after its time limit; as the program {@code timeout} says it. */
    public static final int TIMED_OUT = 124;
    /** The command of {@code exec} is there and cannot be started; as shells say it. */
    public static final int NOT_EXECUTABLE = 126;
    /** There is no such command; as shells say it. */
    public static final int NOT_FOUND = 127;

    /** A service or a worker had to be stopped, instead of ending by itself; as a process that SIGTERM ends. */
    public static final int FORCED = 143;

    /** For the help of the program: code and meaning in pairs. */
    static final String[][] HELP = {
        {"0", "fine, a skipped slot too"},
        {"1", "the work failed; of doctor and store check: something is wrong; of health: DOWN"},
        {"2", "wrong usage"},
        {"3", "refused: held, stale token, expired, already done, unknown"},
        {"69", "the store is not available; of health: nobody answers"},
        {"70", "the lease was lost"},
        {"75", "skipped, with exec --fail-on-skip"},
        {"78", "the jobs file or an expression is refused"}
    };

    private ExitCode() {}
}
