package dev.fencepost.model;

/** One step of a script. What its numbers choose is said by whoever takes it; a 0 chooses what is plain. */
record Step(Verb verb, int a, int b, int c) {

    /** What a step does. */
    enum Verb {
        PASS,
        CLAIM,
        CLAIM_AGAIN,
        RENEW,
        RELEASE,
        BREAK,
        REGISTER,
        PLAN,
        START,
        START_AGAIN,
        COMPLETE,
        END_AS_LOST,
        ABANDON,
        TRIGGER,
        CANCEL,
        PAUSE,
        RESUME,
        END_PAUSE,
        CLAIM_PAIR,
        ADOPT,
        BEGIN,
        SENT,
        CHECKED,
        EXPIRE,
        RESOLVE,
        ENQUEUE,
        CLAIM_ITEM,
        CLAIM_ITEM_AGAIN,
        CLAIM_ANY,
        RENEW_ITEM,
        COMPLETE_ITEM,
        COMPLETE_ITEMS,
        FAIL_ITEM,
        RELEASE_ITEM,
        CHECK_ITEM,
        ADD_ARTIFACT,
        SET_CAPACITY,
        PRUNE
    }

    Step {
        if (a < 0 || b < 0 || c < 0) {
            throw new IllegalArgumentException("numbers of a step are not negative");
        }
    }

    Step with(int newA, int newB, int newC) {
        return new Step(verb, newA, newB, newC);
    }

    static Step parse(String text) {
        String[] parts = text.trim().split(" +");
        return new Step(
                Verb.valueOf(parts[0]),
                Integer.parseInt(parts[1]),
                Integer.parseInt(parts[2]),
                Integer.parseInt(parts[3]));
    }

    @Override
    public String toString() {
        return verb + " " + a + " " + b + " " + c;
    }
}
