package dev.fencepost.bench;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.IntFunction;
import java.util.stream.IntStream;

/**
 * Contestants take turns, slice by slice, in an order that turns too. What a machine gives changes from second to second, so a ratio is of
 * two slices of one round, and the median of the ratios is what counts. The first round does not.
 */
final class Slices implements AutoCloseable {

    /** @param slice works for the length of a slice, and says how much it did a second */
    record Contestant(String name, Runnable before, Callable<Double> slice) {
        Contestant(String name, Callable<Double> slice) {
            this(name, () -> {}, slice);
        }
    }

    private final int rounds;
    private final Duration length;
    private final Path disk;
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();

    /** @param disk a folder on the disk whose fsync is measured before each slice */
    Slices(int rounds, Duration length, Path disk) {
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

    /** A line of the table for each: its rate, and the ratio of the first one's rate to its own. */
    List<String> compare(String what, List<Contestant> contestants) throws Exception {
        List<List<Double>> rates = contestants.stream()
                .<List<Double>>map(each -> new ArrayList<>())
                .toList();
        List<Double> syncs = new ArrayList<>();
        for (int round = 0; round <= rounds; round++) {
            for (int turn = 0; turn < contestants.size(); turn++) {
                int who = (turn + round) % contestants.size();
                contestants.get(who).before().run();
                double sync = syncMicros(disk);
                double rate = contestants.get(who).slice().call();
                if (round > 0) {
                    rates.get(who).add(rate);
                    syncs.add(sync);
                }
            }
        }
        List<String> lines = new ArrayList<>();
        for (int who = 0; who < contestants.size(); who++) {
            List<Double> mine = rates.get(who);
            List<Double> first = rates.getFirst();
            List<Double> ratios = IntStream.range(0, mine.size())
                    .mapToObj(i -> first.get(i) / mine.get(i))
                    .toList();
            lines.add(String.format(
                    Locale.ROOT,
                    "| %s | %s | %.0f | %.0f–%.0f | %s |",
                    what,
                    contestants.get(who).name(),
                    quantile(mine, 0.5),
                    quantile(mine, 0.25),
                    quantile(mine, 0.75),
                    who == 0 ? "" : ratio(ratios)));
        }
        System.out.println(String.join("\n", lines));
        System.out.printf(
                Locale.ROOT,
                "one write of 8 KiB with fsync: %.0f µs, quartiles %.0f–%.0f%n",
                quantile(syncs, 0.5),
                quantile(syncs, 0.25),
                quantile(syncs, 0.75));
        return lines;
    }

    /** The median and the quartiles. */
    static String ratio(List<Double> ratios) {
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

    @Override
    public void close() {
        threads.shutdownNow();
    }
}
