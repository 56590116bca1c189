package dev.fencepost.lease;

/**
 * Who holds a lease: for runners the text of an {@link Incarnation}, for a worker of the queue any text.
 *
 * @param text 1 to {@value #MAX_LENGTH} characters
 */
public record Owner(String text) {

    public static final int MAX_LENGTH = 200;

    public Owner {
        if (text.isBlank() || text.length() > MAX_LENGTH) {
            throw new IllegalArgumentException(
                    "an owner is a text of 1 to " + MAX_LENGTH + " characters, this one has " + text.length());
        }
    }

    @Override
    public String toString() {
        return text;
    }
}
