package dev.fencepost.lease;

/**
 * Who holds a lease: for runners the text of an {@link Incarnation}, for a worker of the queue any text.
 *
 * @param text 1 to {@value #MAX_LENGTH} characters
 */
public record Owner(String text) {

    public static final int MAX_LENGTH = 200;

    private static final int LONGEST_BRIEF = 40;

    public Owner {
        if (text.isBlank() || text.length() > MAX_LENGTH) {
            throw new IllegalArgumentException(
                    "an owner is a text of 1 to " + MAX_LENGTH + " characters, this one has " + text.length());
        }
    }

    /**
     * As people are shown it: for a runner the beginning of its node's id and its pid ({@code 2f1c09ab/4711}); for others their name, cut
     * to a readable length.
     *
     * @param text of an owner, perhaps of a kind that is none here
     */
    public static String brief(String text) {
        Incarnation incarnation = text.isBlank() || text.length() > MAX_LENGTH ? null : Incarnation.of(new Owner(text));
        if (incarnation != null) {
            return incarnation.nodeId().substring(0, 8) + "/" + incarnation.pid();
        }
        return text.length() <= LONGEST_BRIEF ? text : text.substring(0, LONGEST_BRIEF - 1) + "…";
    }

    /** {@link #brief(String)} of this one. */
    public String brief() {
        return brief(text);
    }

    @Override
    public String toString() {
        return text;
    }
}
