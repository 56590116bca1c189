package dev.fencepost.edge.web.page;

import dev.fencepost.host.Written;
import dev.fencepost.run.Attempt;
import dev.fencepost.run.Outcome;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * How long the last attempts took: the newest at the right, an equal step apart, since what matters is the change from one to the next. The
 * scale is linear; where one attempt or limit is far above the usual it is logarithmic. Lengths are units of the drawing.
 *
 * @param marks oldest first
 * @param lines of the axis, lowest first
 * @param limits ttl and timeout
 * @param kinds what there is to see, with its number
 */
public record DurationPlot(
        List<Mark> marks, List<Line> lines, List<Line> limits, List<Kind> kinds, String from, String to, boolean log) {

    static final int WIDTH = 720;
    static final int HEIGHT = 240;
    static final int LEFT = 58;
    static final int RIGHT = 92;
    static final int TOP = 12;
    static final int BOTTOM = 26;

    /** Above so many times the usual a linear scale would press everything else to the ground. */
    private static final int FAR = 12;

    private static final int LOG_DECADES = 4;
    private static final double HEADROOM = 1.08;
    private static final int LEAST_APART = 13;

    /** Where lines of a scale may lie, in milliseconds. */
    private static final long[] ROUND = {
        1,
        2,
        5,
        10,
        20,
        50,
        100,
        200,
        500,
        1_000,
        2_000,
        5_000,
        10_000,
        15_000,
        30_000,
        60_000,
        120_000,
        300_000,
        600_000,
        900_000,
        1_800_000,
        3_600_000,
        7_200_000,
        21_600_000,
        43_200_000,
        86_400_000,
        172_800_000,
        604_800_000,
        1_209_600_000,
        2_592_000_000L
    };

    /** The same for a logarithmic scale: far enough apart for their names. */
    private static final long[] ROUND_LOG = {
        1, 10, 100, 1_000, 10_000, 60_000, 600_000, 3_600_000, 36_000_000, 86_400_000, 864_000_000
    };

    public DurationPlot {
        marks = List.copyOf(marks);
        lines = List.copyOf(lines);
        limits = List.copyOf(limits);
        kinds = List.copyOf(kinds);
    }

    /**
     * An attempt.
     *
     * @param shape path of the mark
     */
    public record Mark(double x, double y, String shape, String style, String title, String link) {}

    /** @param textY where its name stands, so that no two names lie on each other */
    public record Line(String name, double y, double textY, String text) {}

    /** @param shape path around the origin of a drawing of 16 by 16 */
    public record Kind(String word, String shape, String style, long count) {}

    public int width() {
        return WIDTH;
    }

    public int height() {
        return HEIGHT;
    }

    public int left() {
        return LEFT;
    }

    public int right() {
        return WIDTH - RIGHT;
    }

    public int limitX() {
        return WIDTH - RIGHT + 6;
    }

    public int axisX() {
        return LEFT - 8;
    }

    public int bottomText() {
        return HEIGHT - 8;
    }

    public boolean isEmpty() {
        return marks.isEmpty();
    }

    /**
     * @param newestFirst attempts
     * @param ttl null where no file says it
     */
    static DurationPlot of(
            List<Attempt> newestFirst, @Nullable Duration ttl, @Nullable Duration timeout, Instant now, ZoneId zone) {
        List<Attempt> attempts = newestFirst.reversed();
        long[] taken =
                attempts.stream().mapToLong(attempt -> millis(attempt, now)).toArray();
        long ttlMillis = ttl == null ? 0 : ttl.toMillis();
        long timeoutMillis = timeout == null ? 0 : timeout.toMillis();
        long longest = Math.max(1, Arrays.stream(taken).max().orElse(0));
        long most = Math.max(longest, Math.max(ttlMillis, timeoutMillis));
        long usual = Math.max(1, median(taken));
        boolean log = most / usual > FAR;
        Scale scale = log ? logarithmic(taken, most) : linear(most);
        List<Mark> marks = new ArrayList<>();
        Map<Integer, Kind> kinds = new TreeMap<>();
        for (int i = 0; i < taken.length; i++) {
            Attempt attempt = attempts.get(i);
            Label told = Label.of(attempt.outcome());
            double x = x(i, taken.length);
            double y = scale.y(taken[i]);
            marks.add(new Mark(
                    x,
                    y,
                    shape(attempt.outcome(), x, y),
                    told.style(),
                    title(attempt, told, zone),
                    Links.tick(attempt.job(), attempt.slotKey())));
            kinds.merge(
                    attempt.outcome() == null ? -1 : attempt.outcome().ordinal(),
                    new Kind(told.word(), shape(attempt.outcome(), 8, 8), told.style(), 1),
                    (old, one) -> new Kind(old.word(), old.shape(), old.style(), old.count() + 1));
        }
        return new DurationPlot(
                marks,
                scale.lines(),
                limits(scale, ttlMillis, timeoutMillis),
                List.copyOf(kinds.values()),
                attempts.isEmpty() ? "" : Times.local(attempts.getFirst().startedAt(), zone),
                attempts.size() < 2 ? "" : Times.local(attempts.getLast().startedAt(), zone),
                log);
    }

    /** A clock that was set back makes it 0. */
    private static long millis(Attempt attempt, Instant now) {
        Instant end = attempt.endedAt() == null ? now : attempt.endedAt();
        return Math.max(0, Duration.between(attempt.startedAt(), end).toMillis());
    }

    private static long median(long[] values) {
        long[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted.length == 0 ? 0 : sorted[sorted.length / 2];
    }

    private static double x(int i, int of) {
        int room = WIDTH - LEFT - RIGHT - 16;
        return rounded(LEFT + 8 + (of == 1 ? room / 2.0 : room * (double) i / (of - 1)));
    }

    private static double rounded(double value) {
        return Math.round(value * 10) / 10.0;
    }

    /** From the ground up. @param low at the ground: 0 on a linear scale */
    private record Scale(boolean log, double low, double high, List<Long> at) {

        double y(long millis) {
            double share = log
                    ? (Math.log(Math.max(low, millis)) - Math.log(low)) / (Math.log(high) - Math.log(low))
                    : millis / high;
            return rounded(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM));
        }

        List<Line> lines() {
            return at.stream()
                    .map(millis -> new Line("", y(millis), y(millis) + 4, Written.duration(Duration.ofMillis(millis))))
                    .toList();
        }
    }

    private static Scale linear(long most) {
        long step = ROUND[ROUND.length - 1];
        for (long round : ROUND) {
            if (most / round < 5) {
                step = round;
                break;
            }
        }
        List<Long> at = new ArrayList<>();
        for (long millis = 0; millis <= most; millis += step) {
            at.add(millis);
        }
        return new Scale(false, 0, most * HEADROOM, at);
    }

    private static Scale logarithmic(long[] taken, long most) {
        long least = Math.max(
                1, Arrays.stream(taken).filter(millis -> millis > 0).min().orElse(1));
        double low = Math.max(least * 0.8, most / Math.pow(10, LOG_DECADES + 2.0));
        double high = most * 1.3;
        List<Long> at = Arrays.stream(ROUND_LOG)
                .filter(millis -> millis >= low && millis <= high)
                .boxed()
                .toList();
        return new Scale(true, low, high, at);
    }

    private static List<Line> limits(Scale scale, long ttl, long timeout) {
        List<Line> limits = new ArrayList<>();
        if (ttl > 0) {
            limits.add(limit(scale, "ttl", ttl, 4));
        }
        if (timeout > 0) {
            Line line = limit(scale, "timeout", timeout, 4);
            if (!limits.isEmpty() && Math.abs(limits.getFirst().y() - line.y()) < LEAST_APART) {
                // The longer one stands higher.
                double up = timeout >= ttl ? -LEAST_APART : LEAST_APART;
                line = new Line(line.name(), line.y(), limits.getFirst().textY() + up, line.text());
                if (line.textY() < TOP) {
                    line = new Line(line.name(), line.y(), limits.getFirst().textY() + LEAST_APART, line.text());
                }
            }
            limits.add(line);
        }
        return limits;
    }

    private static Line limit(Scale scale, String name, long millis, int below) {
        double y = scale.y(millis);
        return new Line(name, y, y + below, Written.duration(Duration.ofMillis(millis)));
    }

    private static String title(Attempt attempt, Label told, ZoneId zone) {
        String took = attempt.endedAt() == null
                ? "runs"
                : attempt.endedAt().isBefore(attempt.startedAt())
                        ? told.word() + " (the clock was set back meanwhile)"
                        : told.word() + " after "
                                + Times.span(Duration.between(attempt.startedAt(), attempt.endedAt()));
        return Times.local(attempt.startedAt(), zone) + ": try " + attempt.number() + " " + took;
    }

    /** A shape for each outcome, so that no colour is needed. */
    private static String shape(@Nullable Outcome outcome, double x, double y) {
        return "M" + x + " " + y
                + switch (outcome) {
                    case null -> "m-3-4.5l7 4.5l-7 4.5z";
                    case SUCCEEDED -> "m-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0z";
                    case FAILED -> "m-4-4l8 8m0-8l-8 8";
                    case TIMED_OUT -> "m0-5l5 9h-10z";
                    case LEASE_LOST -> "m0-5.5l5 5.5l-5 5.5l-5-5.5z";
                    case ABANDONED -> "m-4-4h8v8h-8z";
                    case CANCELLED, SKIPPED_OVERLAP, DROPPED -> "m-4.5 0h9";
                };
    }

    public String summary() {
        return marks.isEmpty()
                ? "No attempt so far."
                : kinds.stream()
                                .map(kind -> kind.count() + " " + kind.word())
                                .reduce((a, b) -> a + ", " + b)
                                .orElse("") + " of the last "
                        + (marks.size() == 1 ? "attempt" : marks.size() + " attempts")
                        + (log ? "; logarithmic scale" : "") + ".";
    }
}
