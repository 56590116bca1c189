package dev.fencepost.edge.web.page;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.TreeSet;

/**
 * Where an instant lies between the left and the right edge. Straight, but for long times in which nothing went on, as between two
 * tries: they are cut short, so that what did go on can be seen.
 */
final class Axis {

    /** An idle time longer than this part of all others is cut. */
    private static final double LONG = 0.4;

    /** To this part of all others. */
    private static final double CUT = 0.12;

    private static final double LEFT = 2;
    private static final double RIGHT = 98;

    private final List<Instant> points;
    private final double[] places;
    private final List<Cut> cuts = new ArrayList<>();

    /** A time in which something goes on. */
    record Busy(Instant from, Instant to) {}

    /** @param middle its place in percent */
    record Cut(double middle, Duration length) {}

    /** @param instants at least one */
    Axis(List<Instant> instants, List<Busy> busy) {
        TreeSet<Instant> all = new TreeSet<>(instants);
        busy.forEach(each -> {
            all.add(each.from());
            all.add(each.to());
        });
        points = List.copyOf(all);
        int gaps = points.size() - 1;
        double[] lengths = new double[gaps];
        boolean[] idle = new boolean[gaps];
        double rest = 0;
        for (int i = 0; i < gaps; i++) {
            Instant from = points.get(i);
            Instant to = points.get(i + 1);
            lengths[i] = Duration.between(from, to).toMillis();
            idle[i] = busy.stream()
                    .noneMatch(each -> !each.from().isAfter(from) && !each.to().isBefore(to));
            rest += idle[i] ? 0 : lengths[i];
        }
        double whole = Math.max(rest, 1_000);
        double sum = 0;
        boolean[] cut = new boolean[gaps];
        for (int i = 0; i < gaps; i++) {
            if (idle[i] && lengths[i] > LONG * whole) {
                cut[i] = true;
                lengths[i] = CUT * whole;
            }
            sum += lengths[i];
        }
        places = new double[points.size()];
        places[0] = LEFT;
        double at = 0;
        for (int i = 0; i < gaps; i++) {
            at += lengths[i];
            places[i + 1] = sum == 0 ? LEFT : LEFT + (RIGHT - LEFT) * at / sum;
            if (cut[i]) {
                cuts.add(new Cut((places[i] + places[i + 1]) / 2, Duration.between(points.get(i), points.get(i + 1))));
            }
        }
    }

    /** In percent of the width. What lies outside of the axis is put at its edge. */
    double place(Instant at) {
        for (int i = 1; i < points.size(); i++) {
            if (at.isBefore(points.get(i))) {
                double length =
                        Duration.between(points.get(i - 1), points.get(i)).toMillis();
                double part = length == 0
                        ? 0
                        : Duration.between(points.get(i - 1), at).toMillis() / length;
                return places[i - 1] + (places[i] - places[i - 1]) * Math.clamp(part, 0, 1);
            }
        }
        return places[places.length - 1];
    }

    List<Cut> cuts() {
        return List.copyOf(cuts);
    }

    Instant first() {
        return points.getFirst();
    }

    Instant last() {
        return points.getLast();
    }

    /** {@code 12.5%}, as an attribute of SVG. */
    static String percent(double place) {
        return String.format(Locale.ROOT, "%.2f%%", place);
    }
}
