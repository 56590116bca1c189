package dev.fencepost.edge.process;

import dev.fencepost.run.ChildProcess;
import dev.fencepost.run.Children.StartFailure;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** A runner in a JVM of its own, which a test may kill or keep short of memory, files or processes. */
final class RunnerMain {

    private RunnerMain() {}

    /** Arguments: what to do, the directory for logs, the guard, and further words. */
    public static void main(String[] args) throws Exception {
        Bench bench = new Bench(Path.of(args[1]), args[2]);
        switch (args[0]) {
            case "hold" -> hold(bench, args[3]);
            case "run" -> run(bench, List.of(args).subList(3, args.length));
            case "parallel" -> parallel(bench, Integer.parseInt(args[3]));
            default -> throw new IllegalArgumentException(args[0]);
        }
    }

    /** Starts a child, and a grandchild that has got away from it, and waits to be killed. */
    private static void hold(Bench bench, String number) throws Exception {
        bench.shell("(setsid sleep " + number + "1 >/dev/null 2>&1 &); echo started; exec sleep " + number + "2");
        // The programs themselves: the number stands in the text of shells and guards too.
        if (Bench.eventually(() -> Stream.of("1", "2")
                .noneMatch(last ->
                        Bench.withArgument("sleep\0" + number + last + "\0").isEmpty()))) {
            System.out.println("run " + bench.runId);
        }
        Thread.sleep(Duration.ofMinutes(2)); // until the test kills this process
    }

    private static void run(Bench bench, List<String> command) throws Exception {
        Bench.Ended ended = bench.run(command.toArray(String[]::new));
        System.out.println(Map.of(
                "code", ended.exit().code(),
                "total", ended.output().totalBytes(),
                "truncated", ended.output().truncated()));
    }

    private static void parallel(Bench bench, int count) throws Exception {
        String seconds = "60." + ProcessHandle.current().pid();
        // A class that is not loaded yet costs a file; a packaged runner has its jars open already.
        Bench first = new Bench(bench.directory, bench);
        ChildProcess early = first.start("sleep", seconds);
        early.stop(Duration.ofSeconds(5));
        Bench.end(early);
        bench.threads
                .virtualThread("fails", () -> {
                    throw new IllegalStateException("on purpose");
                })
                .join(Bench.LONG);
        List<ChildProcess> children = new ArrayList<>();
        List<String> refusals = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Bench each = new Bench(bench.directory, bench);
            try {
                children.add(each.start("sleep", seconds));
            } catch (StartFailure e) {
                refusals.add(String.valueOf(e.getMessage()));
            }
        }
        children.forEach(child -> child.stop(Duration.ofSeconds(5)));
        for (ChildProcess child : children) {
            Bench.end(child);
        }
        System.out.println("started " + children.size() + " refused " + refusals.size() + " first "
                + refusals.stream().findFirst().orElse("-"));
        System.out.println("afterwards " + bench.run("true").exit().code() + " left "
                + Bench.withArgument("sleep\0" + seconds).size());
    }
}
