package dev.fencepost.schedule;

/** A schedule that is refused. The message says what is wrong and what to write instead; it is meant for a person. */
public final class ScheduleException extends IllegalArgumentException {
    public ScheduleException(String message) {
        super(message);
    }
}
