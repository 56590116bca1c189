package dev.fencepost.faults;

import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.function.Supplier;

/** Waiting by looking again and again, with a deadline; never by a fixed sleep alone. */
public final class Wait {

    private static final long STEP_MILLIS = 50;

    private Wait() {}

    /** Waits until the condition holds; fails with these words after the limit. A condition that throws does not hold yet. */
    public static void until(Duration limit, String what, Callable<Boolean> condition) {
        until(limit, () -> what, condition);
    }

    public static void until(Duration limit, Supplier<String> what, Callable<Boolean> condition) {
        long end = System.nanoTime() + limit.toNanos();
        Exception last = null;
        while (true) {
            try {
                if (condition.call()) {
                    return;
                }
                last = null;
            } catch (Exception e) {
                last = e;
            }
            if (System.nanoTime() > end) {
                throw new AssertionError("not within " + limit + ": " + what.get(), last);
            }
            sleep(Duration.ofMillis(STEP_MILLIS));
        }
    }

    /** The first value that is not null. */
    public static <T> T forValue(Duration limit, String what, Callable<T> look) {
        Object[] found = new Object[1];
        until(limit, what, () -> {
            found[0] = look.call();
            return found[0] != null;
        });
        @SuppressWarnings("unchecked")
        T value = (T) found[0];
        return value;
    }

    public static void sleep(Duration duration) {
        try {
            Thread.sleep(duration); // between two looks at other processes, which cannot call us
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        }
    }
}
