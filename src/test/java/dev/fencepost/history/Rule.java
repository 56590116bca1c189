package dev.fencepost.history;

/** Looks for one kind of violation. */
interface Rule {

    void check(History history, Report report);

    /** Takes what was found. */
    interface Report {
        void violated(String rule, String text, Line... evidence);
    }
}
