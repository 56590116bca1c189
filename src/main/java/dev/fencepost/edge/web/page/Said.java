package dev.fencepost.edge.web.page;

import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * What came of a form, told on the page that the browser is sent to. Its word stands in that page's address, so its text comes from here
 * alone: an address that somebody made up can at most tell something of this list.
 */
enum Said {
    TRIGGERED("A run is ordered. A node starts it within two seconds, or as soon as the job's lease is free."),
    NOT_TRIGGERED("It has run, or runs now. Nothing was changed."),
    PAUSED("The job is paused: its schedule starts nothing. A run that is under way goes on."),
    PAUSED_ALREADY("It was paused so already. Nothing was changed."),
    RESUMED("The job is resumed. Slots inside of the pause are not made up for."),
    NOT_PAUSED("It was not paused, and no brake had stopped it. Nothing was changed."),
    CANCELLED("What runs is asked to stop, which takes a node two seconds; what waited is cancelled."),
    NOTHING_TO_CANCEL("Nothing of it runs or waits, or it was asked to stop before. Nothing was changed."),
    CONFIRMED("Written down: it took place. Nothing more is sent."),
    ABSENT("Written down: it did not take place. It is sent again when its turn comes."),
    GIVEN_UP("Given up: it is not sent any more."),
    RETRIED("It is sent again when its turn comes."),
    UNSURE(
            "The store did not say whether this was done; it may have been. Look below before you press the button again.");

    static final String PARAMETER = "said";

    private final String text;

    Said(String text) {
        this.text = text;
    }

    String text() {
        return text;
    }

    /** What was ordered, in the log. */
    String order() {
        return word();
    }

    /** Whether this is no good news. */
    boolean isTrouble() {
        return this == UNSURE
                || this == NOT_TRIGGERED
                || this == PAUSED_ALREADY
                || this == NOT_PAUSED
                || this == NOTHING_TO_CANCEL;
    }

    /** This page of ours, with this on top. */
    String on(String page) {
        return page + "?" + PARAMETER + "=" + word();
    }

    private String word() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    /** Null for a word of nobody's. */
    static @Nullable Said of(@Nullable String word) {
        for (Said each : values()) {
            if (each.word().equals(word)) {
                return each;
            }
        }
        return null;
    }
}
