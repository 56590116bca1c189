package dev.fencepost.run;

import dev.fencepost.lease.Lease;
import dev.fencepost.schedule.Slot;

/**
 * What notifiers are told of a job: a port. Its calls return at once, never throw, and never wait for a store or a receiver; what cannot be
 * told is recorded in the journal and given up. Safe for use by many threads.
 */
public interface Notices {

    /** Tells nobody. */
    Notices NONE = new Notices() {
        @Override
        public void started(Job job, Slot slot, int attempt, Lease lease) {}

        @Override
        public void ended(Job job, Slot slot, int attempt, Lease lease, Completion completion) {}

        @Override
        public void paused(Job job, Pause pause) {}
    };

    /** The command is about to be started. */
    void started(Job job, Slot slot, int attempt, Lease lease);

    /** The end of an attempt is stored; one that the store refused is told as {@link Outcome#LEASE_LOST}. */
    void ended(Job job, Slot slot, int attempt, Lease lease, Completion completion);

    /** This node has paused the job, as a brake. */
    void paused(Job job, Pause pause);
}
