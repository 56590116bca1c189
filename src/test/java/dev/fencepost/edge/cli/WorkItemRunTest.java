package dev.fencepost.edge.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.edge.host.SystemEntropy;
import dev.fencepost.edge.host.SystemTime;
import dev.fencepost.edge.process.OsChildren;
import dev.fencepost.edge.process.RunFolders;
import dev.fencepost.edge.remote.ApiServer;
import dev.fencepost.edge.remote.BearerToken;
import dev.fencepost.edge.remote.RemoteWorkQueue;
import dev.fencepost.host.EndedTask;
import dev.fencepost.host.Entropy;
import dev.fencepost.host.Spawner;
import dev.fencepost.host.TestThreads;
import dev.fencepost.host.Time;
import dev.fencepost.lease.DeadlineWatch;
import dev.fencepost.lease.Incarnation;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.RunId;
import dev.fencepost.run.StopRequest;
import dev.fencepost.work.NewItem;
import dev.fencepost.work.WorkAnswer;
import dev.fencepost.work.WorkItem;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** One item with a real child, and nobody else who looks at its lease: neither keeper nor watch are running. */
class WorkItemRunTest {

    private static final Duration TTL = Duration.ofSeconds(3);

    private final Time time = new SystemTime();
    private final Entropy entropy = new SystemEntropy();
    private final TestThreads threads = new TestThreads();
    private WorkSite site;

    @BeforeEach
    void setUp(@TempDir Path dir) throws IOException {
        site = new WorkSite(dir);
    }

    @AfterEach
    void close() {
        site.close();
    }

    @Test
    void aChildIsStartedUnderALeaseThatLives() throws InterruptedException {
        assertEquals(WorkItemRun.Kind.DONE, run(Duration.ZERO).kind());
        assertTrue(Files.exists(site.file("started")));
    }

    /** The answer of the claim came late, or this process was frozen: the watch may be the later one to notice. */
    @Test
    void noChildIsStartedUnderALeaseThatIsOver() throws InterruptedException {
        assertEquals(WorkItemRun.Kind.LOST, run(TTL).kind());
        assertFalse(Files.exists(site.file("started")));
    }

    /** @param age since the claim was sent */
    private WorkItemRun.End run(Duration age) throws InterruptedException {
        site.queue.enqueue(new NewItem("page-1", "pages", null, 0, null, 3));
        Incarnation self = OsChildren.thisIncarnation(UUID.randomUUID().toString(), time, entropy);
        WorkItem claimed = ((WorkAnswer.Done)
                        site.queue.claimItem("page-1", self.owner(), new RunId(UUID.randomUUID()), TTL))
                .item();
        try (RemoteWorkQueue remote =
                new RemoteWorkQueue(site.server.address(), new BearerToken(ApiServer.TOKEN), time, threads, entropy)) {
            WorkItemRun.Ground ground = new WorkItemRun.Ground(
                    remote,
                    new OsChildren(self, time, threads, event -> {}),
                    new RunFolders(site.file("work")),
                    new KeptFiles(site.file("work"), Duration.ofDays(1), KeptFiles.MOST, time, text -> {}),
                    new DeadlineWatch(time),
                    time,
                    new Idle(),
                    entropy,
                    text -> {});
            return new WorkItemRun(
                            plan(self.owner()), ground, claimed, time.bootMillis() - age.toMillis(), new StopRequest())
                    .run();
        }
    }

    private WorkItemRun.Plan plan(Owner owner) {
        return new WorkItemRun.Plan(
                List.of("/usr/bin/touch", site.file("started").toString()),
                site.file("."),
                owner,
                TTL,
                null,
                Duration.ofMillis(100),
                Duration.ZERO,
                false,
                false,
                Set.of());
    }

    /** Starts nothing. */
    private static final class Idle implements Spawner {

        @Override
        public Task virtualThread(String name, Runnable body) {
            return new EndedTask();
        }

        @Override
        public Task platformThread(String name, Runnable body) {
            return virtualThread(name, body);
        }
    }
}
