package dev.fencepost.edge.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.edge.host.SystemEntropy;
import dev.fencepost.lease.Incarnation;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.RunId;
import dev.fencepost.run.ChildProcess;
import java.nio.file.Path;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class OsChildrenTest {

    private Bench bench;
    private Incarnation self;

    @BeforeEach
    void setUp(@TempDir Path directory) {
        bench = new Bench(directory, "none");
        self = OsChildren.thisIncarnation(Bench.NODE, bench.time, new SystemEntropy());
    }

    @Test
    void incarnationTellsThisProcess() {
        assertEquals(ProcessHandle.current().pid(), self.pid());
        assertEquals(bench.time.bootId(), self.bootId());
        assertTrue(self.pidNamespace() > 0);
        assertTrue(self.startTicks() > 0);
        assertEquals(self, Incarnation.of(self.owner()));
    }

    @Test
    void twoStartsWithinOneTickOfTheClockAreTwoOwners() {
        Incarnation other = OsChildren.thisIncarnation(Bench.NODE, bench.time, new SystemEntropy());
        assertEquals(self.startTicks(), other.startTicks());
        assertNotEquals(self.owner(), other.owner());
    }

    @Test
    void ownerIsDeadOnlyWhenItSurelyIs() throws Exception {
        assertFalse(dead(self), "this very process");
        assertTrue(dead(with("0-other-boot", self.pidNamespace(), self.pid(), self.startTicks())), "another boot");
        assertTrue(dead(with(self.bootId(), self.pidNamespace(), self.pid(), self.startTicks() + 1)), "pid reused");
        assertTrue(dead(with(self.bootId(), self.pidNamespace(), 4_194_305, 1)), "no such pid");
        assertFalse(dead(with(self.bootId(), self.pidNamespace() + 1, 4_194_305, 1)), "another pid namespace");
        assertFalse(dead(with(self.bootId(), 0, 4_194_305, 1)), "unknown pid namespace");
        assertFalse(dead(with("no-boot-clock", self.pidNamespace(), 4_194_305, 1)), "unknown boot");
        assertFalse(
                dead(new Incarnation(
                        "99999999-2222-3333-4444-555555555555",
                        "0-other-boot",
                        self.pidNamespace(),
                        4_194_305,
                        1,
                        "00000000")),
                "another node");
        assertFalse(bench.children.provablyDead(new Owner("a worker of the queue")));
        ProcessTable.Entry other = ProcessTable.of(1);
        assertNotNull(other);
        assertFalse(dead(with(self.bootId(), self.pidNamespace(), 1, other.startTicks())), "alive");
    }

    @Test
    void zombieIsDead() throws Exception {
        ChildProcess child = bench.shell("sleep 0 & exec sleep 20");
        assertTrue(Bench.eventually(() -> zombieOf(child.pid()) != null));
        ProcessTable.Entry zombie = zombieOf(child.pid());
        assertNotNull(zombie);
        assertTrue(dead(with(self.bootId(), self.pidNamespace(), zombie.pid(), zombie.startTicks())));
        assertEquals(1, bench.children.sweep(bench.runId));
        Bench.end(child);
    }

    private static ProcessTable.@org.jspecify.annotations.Nullable Entry zombieOf(long parent) {
        return Bench.processes().stream()
                .filter(entry -> entry.parent() == parent && !entry.isAlive())
                .findFirst()
                .orElse(null);
    }

    @Test
    void sweepKillsTheRunAndNothingElse(@TempDir Path directory) throws Exception {
        String number = "300." + Math.floorMod(bench.runId.hashCode(), 100_000_000);
        Bench other = new Bench(directory, bench);
        ChildProcess stays = other.start("sleep", "300");
        ChildProcess goes = bench.shell("(setsid sleep " + number + "1 &); env -i sleep " + number + "2");
        assertTrue(Bench.eventually(
                () -> Bench.withArgument("sleep\0" + number + "2").size() == 1));
        assertTrue(Bench.eventually(
                () -> Bench.withArgument("sleep\0" + number + "1").size() == 1));
        assertEquals(0, bench.children.sweep(new RunId(UUID.randomUUID())));
        assertEquals(3, bench.children.sweep(bench.runId));
        assertEquals(137, Bench.end(goes).exit().code());
        assertEquals(List.of(stays.pid()), other.alive());
        assertEquals(1, bench.children.sweep(other.runId));
        Bench.end(stays);
    }

    @Test
    void secretsAreMaskedInLogAndTail() throws Exception {
        Bench.Ended ended = Bench.end(bench.children.start(Bench.withSecrets(
                bench.with("API_TOKEN", "t0p-s3cret").spec(Bench.child("ch16_prints_env.sh")), "t0p-s3cret", "abc")));
        assertTrue(ended.output().tail().contains("calling https://user:***@example.invalid/x"));
        assertTrue(ended.output().tail().contains("API_TOKEN=***"));
        assertFalse(ended.output().tail().contains("t0p"));
        assertFalse(bench.logText().contains("t0p"));
    }

    private Incarnation with(String bootId, long namespace, long pid, long startTicks) {
        return new Incarnation(self.nodeId(), bootId, namespace, pid, startTicks, "00000000");
    }

    private boolean dead(Incarnation incarnation) {
        return bench.children.provablyDead(incarnation.owner());
    }
}
