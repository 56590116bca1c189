package dev.fencepost.bench;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Contestants take turns, slice by slice, each round in an order by chance. What a machine gives changes from second to second, so a
 * ratio is of two slices of one round, and the median of the ratios is what counts. The first rounds do not.
 */
final class Slices {

    /**
     * @param slice works for the length of a slice, and says how much it did a second
     * @param goal what is wanted of the ratio of the first one's rate to this one's, or null
     */
    record Contestant(
            String name,
            Runnable before,
            Callable<Double> slice,
            @Nullable Goal goal) {
        Contestant(String name, Callable<Double> slice) {
            this(name, () -> {}, slice);
        }

        Contestant(String name, Runnable before, Callable<Double> slice) {
            this(name, before, slice, null);
        }

        Contestant with(@Nullable Goal wanted) {
            return new Contestant(name, before, slice, wanted);
        }
    }

    private static final long SEED = 8;

    private final int warmRounds;
    private final int rounds;
    private final Duration length;
    private final Path disk;

    /** One round goes before those that count. */
    Slices(int rounds, Duration length, Path disk) {
        this(1, rounds, length, disk);
    }

    /**
     * @param warmRounds how many go before those that count: the JVM gets faster for some ten seconds of each one's work
     * @param disk a folder on the disk whose fsync is measured before each slice
     */
    Slices(int warmRounds, int rounds, Duration length, Path disk) {
        this.warmRounds = warmRounds;
        this.rounds = rounds;
        this.length = length;
        this.disk = disk;
    }

    /**
     * A slice of so many clients, each in a thread of its own.
     *
     * @param client what the client of this number, from 0, does again and again, and how much that was
     */
    double perSecond(int clients, IntFunction<Callable<Integer>> client) throws Exception {
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            long began = System.nanoTime();
            long end = began + length.toNanos();
            List<Future<Long>> all = new ArrayList<>();
            for (int i = 0; i < clients; i++) {
                Callable<Integer> mine = client.apply(i);
                all.add(threads.submit(() -> {
                    long count = 0;
                    while (System.nanoTime() < end) {
                        count += mine.call();
                    }
                    return count;
                }));
            }
            long count = 0;
            for (Future<Long> each : all) {
                count += each.get();
            }
            return count * 1e9 / (System.nanoTime() - began);
        }
    }

    /** A line of the table for each: its rate, and the ratio of the first one's rate to its own. */
    List<String> compare(String what, List<Contestant> contestants) throws Exception {
        List<List<Double>> rates = takeTurns(contestants.size(), who -> {
            contestants.get(who).before().run();
            return contestants.get(who).slice();
        });
        List<String> lines = new ArrayList<>();
        for (int who = 0; who < contestants.size(); who++) {
            List<Double> mine = rates.get(who);
            lines.add(String.format(
                    Locale.ROOT,
                    "| %s | %s | %.0f | %.0f–%.0f | %s |",
                    what,
                    contestants.get(who).name(),
                    quantile(mine, 0.5),
                    quantile(mine, 0.25),
                    quantile(mine, 0.75),
                    who == 0 ? "" : quartiles(ratios(rates.getFirst(), mine))));
        }
        System.out.println(String.join("\n", lines));
        for (int who = 1; who < contestants.size(); who++) {
            judge(what, contestants.get(who).goal(), ratios(rates.getFirst(), rates.get(who)));
        }
        return lines;
    }

    /**
     * Like a {@link Contestant}, but by time.
     *
     * @param once does its work, and says how many nanoseconds of that count
     * @param goal what is wanted of the ratio of its p50 to the first one's, or null
     */
    record Timed(String name, Callable<Long> once, @Nullable Goal goal) {
        Timed(String name, Callable<Long> once) {
            this(name, once, null);
        }
    }

    /** A line of the table for each, which works in one thread: its times, and the ratio of its p50 in a slice to the first one's. */
    List<String> compareTimes(String what, List<Timed> contestants) throws Exception {
        List<List<List<Double>>> millis = takeTurns(
                contestants.size(), who -> () -> times(contestants.get(who).once()));
        List<List<Double>> medians = millis.stream()
                .map(slices ->
                        slices.stream().map(slice -> quantile(slice, 0.5)).toList())
                .toList();
        List<String> lines = new ArrayList<>();
        for (int who = 0; who < contestants.size(); who++) {
            List<Double> all = millis.get(who).stream().flatMap(List::stream).toList();
            lines.add(String.format(
                    Locale.ROOT,
                    "| %s | %s | %.3f | %.3f | %s |",
                    what,
                    contestants.get(who).name(),
                    quantile(all, 0.5),
                    quantile(all, 0.99),
                    who == 0 ? "" : quartiles(ratios(medians.get(who), medians.getFirst()))));
        }
        System.out.println(String.join("\n", lines));
        for (int who = 1; who < contestants.size(); who++) {
            Timed each = contestants.get(who);
            judge(what + ", " + each.name(), each.goal(), ratios(medians.get(who), medians.getFirst()));
        }
        return lines;
    }

    private static void judge(String where, @Nullable Goal goal, List<Double> ratios) {
        if (goal != null) {
            goal.print(where, quantile(ratios, 0.5));
        }
    }

    private List<Double> times(Callable<Long> once) throws Exception {
        List<Double> millis = new ArrayList<>();
        long end = System.nanoTime() + length.toNanos();
        while (System.nanoTime() < end) {
            millis.add(once.call() / 1e6);
        }
        return millis;
    }

    private interface Turn<T> {
        /** Prepares the slice of this contestant. */
        Callable<T> prepare(int who) throws Exception;
    }

    /** What the slices of each gave, by round. Nobody always follows the same one, whose work may not be at its end with its slice. */
    private <T> List<List<T>> takeTurns(int contestants, Turn<T> turns) throws Exception {
        List<List<T>> given = Stream.generate(() -> (List<T>) new ArrayList<T>())
                .limit(contestants)
                .toList();
        List<Double> syncs = new ArrayList<>();
        List<Integer> order =
                new ArrayList<>(IntStream.range(0, contestants).boxed().toList());
        Random chance = new Random(SEED);
        for (int round = -warmRounds; round < rounds; round++) {
            Collections.shuffle(order, chance);
            for (int who : order) {
                Callable<T> slice = turns.prepare(who);
                double sync = syncMicros(disk);
                T result = slice.call();
                if (round >= 0) {
                    given.get(who).add(result);
                    syncs.add(sync);
                }
            }
        }
        System.out.printf(
                Locale.ROOT,
                "one write of 8 KiB with fsync: %.0f µs, quartiles %.0f–%.0f%n",
                quantile(syncs, 0.5),
                quantile(syncs, 0.25),
                quantile(syncs, 0.75));
        return given;
    }

    /** Of the one to the other, round by round. */
    private static List<Double> ratios(List<Double> one, List<Double> other) {
        return IntStream.range(0, one.size())
                .mapToObj(i -> one.get(i) / other.get(i))
                .toList();
    }

    /** The median and the quartiles. */
    static String quartiles(List<Double> ratios) {
        return String.format(
                Locale.ROOT, "%.2f (%.2f–%.2f)", quantile(ratios, 0.5), quantile(ratios, 0.25), quantile(ratios, 0.75));
    }

    static double quantile(List<Double> values, double part) {
        List<Double> sorted = values.stream().sorted().toList();
        double at = part * (sorted.size() - 1);
        int low = (int) at;
        int high = Math.min(low + 1, sorted.size() - 1);
        return sorted.get(low) + (at - low) * (sorted.get(high) - sorted.get(low));
    }

    /** One write of 8 KiB with fsync. */
    static double syncMicros(Path disk) throws IOException {
        try (FileChannel file =
                FileChannel.open(disk.resolve("sync"), StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            file.write(ByteBuffer.allocate(8_192), 0);
            long began = System.nanoTime();
            file.write(ByteBuffer.allocate(8_192), 0);
            file.force(false);
            return (System.nanoTime() - began) / 1e3;
        }
    }
}
