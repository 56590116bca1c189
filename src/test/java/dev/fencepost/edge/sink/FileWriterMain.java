package dev.fencepost.edge.sink;

import dev.fencepost.edge.host.SystemTime;
import dev.fencepost.effect.Delivery;
import dev.fencepost.effect.SinkDefinition;
import java.nio.file.Path;
import java.time.Duration;
import java.util.UUID;

/** A writer in a JVM of its own. */
final class FileWriterMain {

    private FileWriterMain() {}

    /** Arguments: the root, the first token, how many tokens, and the step after which it dies as by kill -9, or none. */
    public static void main(String[] args) throws Exception {
        FileSink sink = new FileSink(
                new SinkDefinition.Files("site", Duration.ofHours(1), Path.of(args[0])), new SystemTime(), step -> {
                    if (step.name().equals(args[3])) {
                        System.out.println("dies");
                        System.out.flush();
                        Runtime.getRuntime().halt(9);
                    }
                });
        long first = Long.parseLong(args[1]);
        for (long fence = first; fence < first + Long.parseLong(args[2]); fence++) {
            String text = "by token " + fence + "\n" + "x".repeat(50_000) + "\nby token " + fence;
            Delivery delivery = sink.deliver(Effects.file(
                    "article@" + fence + "/file",
                    fence,
                    new dev.fencepost.lease.RunId(new UUID(1, fence)),
                    "posts/now.txt",
                    text));
            System.out.println(fence + " " + delivery.getClass().getSimpleName());
        }
    }
}
