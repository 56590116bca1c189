package dev.fencepost.edge.config;

/**
 * One value that is refused. The message says what is wrong with it, the hint what to write instead; both are meant for a person and
 * never contain a password.
 */
public final class BadValueException extends IllegalArgumentException {

    private final String hint;

    public BadValueException(String message, String hint) {
        super(message);
        this.hint = hint;
    }

    public String hint() {
        return hint;
    }
}
