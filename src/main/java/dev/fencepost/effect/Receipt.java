package dev.fencepost.effect;

/**
 * Proof that an effect took place, in one line for people: a commit id, a status and selected headers, the hash of a file. Never a secret.
 */
public record Receipt(String text) {

    private static final int MAX_LENGTH = 2_000;

    public Receipt {
        text = text.length() <= MAX_LENGTH ? text : text.substring(0, MAX_LENGTH);
    }
}
