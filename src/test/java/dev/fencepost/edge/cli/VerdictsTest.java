package dev.fencepost.edge.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.edge.cli.Verdict.State;
import dev.fencepost.edge.jdbc.Diagnosis;
import dev.fencepost.edge.jdbc.Diagnosis.PausedJob;
import dev.fencepost.edge.jdbc.Diagnosis.SinkAhead;
import dev.fencepost.edge.process.GuardInForce;
import dev.fencepost.effect.EffectState;
import dev.fencepost.effect.Outbox.Tally;
import dev.fencepost.lease.Owner;
import dev.fencepost.run.Nodes;
import dev.fencepost.run.Nodes.NodeView;
import dev.fencepost.run.Pause;
import dev.fencepost.work.WorkQueue.QueueView;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What {@code doctor} makes of facts, each judged by itself. */
class VerdictsTest {

    private static final Instant NOW = Instant.parse("2026-03-28T12:00:00Z");

    private static List<State> states(List<Verdict> verdicts) {
        return verdicts.stream().map(Verdict::state).toList();
    }

    @Test
    void aWarningOrWorseIsWrongAndANoteIsNot() {
        Verdict ok = Verdict.ok("a", "b");
        assertTrue(Verdict.allWell(List.of(ok, Verdict.note("a", "b", ""))));
        assertFalse(Verdict.allWell(List.of(ok, Verdict.warning("a", "b", ""))));
        assertFalse(Verdict.allWell(List.of(ok, Verdict.bad("a", "b", ""))));
    }

    @Nested
    class Clocks {

        private static final String MOUNT = "%s 22 0:50 /proc/uptime %s rw,nosuid - fuse.lxcfs lxcfs rw\n";

        @Test
        void theBootClockHasToBeThereAndReal() {
            assertEquals(State.OK, ClockVerdicts.bootClock(true, "").state());
            assertEquals(
                    State.OK,
                    ClockVerdicts.bootClock(true, MOUNT.formatted(1, "/proc/meminfo"))
                            .state());
            assertEquals(
                    State.BAD,
                    ClockVerdicts.bootClock(true, "9 1 0:1 / / rw - ext4 a rw\n" + MOUNT.formatted(1, "/proc/uptime"))
                            .state());
            Verdict hidden = ClockVerdicts.bootClock(false, "");
            assertEquals(State.BAD, hidden.state());
            assertTrue(hidden.mend().contains("ProcSubset"), hidden.mend());
        }

        @ParameterizedTest
        @CsvSource({
            "0, 1, OK",
            "2000, 0, OK",
            "2001, 0, WARNING",
            "-2001, 0, WARNING",
            // What the question itself took may explain it.
            "2500, 600, OK",
            "86400000, 5, WARNING"
        })
        void moreThanTwoSecondsOffAreTold(long ahead, long doubt, State state) {
            Verdict verdict = ClockVerdicts.wallClock(Duration.ofMillis(ahead), Duration.ofMillis(doubt));
            assertEquals(state, verdict.state(), verdict.text());
        }

        @Test
        void aheadAndBehindAreToldApart() {
            assertTrue(ClockVerdicts.wallClock(Duration.ofSeconds(3), Duration.ZERO)
                    .text()
                    .contains("3s ahead of"));
            assertTrue(ClockVerdicts.wallClock(Duration.ofSeconds(-3), Duration.ZERO)
                    .text()
                    .contains("3s behind"));
        }

        @ParameterizedTest
        @CsvSource({"yes, OK", "no, WARNING", "'yes\n', OK", "'', NOTE"})
        void timedatectlIsBelieved(String answer, State state) {
            assertEquals(state, ClockVerdicts.timeSync(answer, "").state());
        }

        @Test
        void withoutAnAnswerItIsOnlyNoted() {
            Verdict verdict = ClockVerdicts.timeSync(null, "there is no timedatectl");
            assertEquals(State.NOTE, verdict.state());
            assertTrue(verdict.text().contains("there is no timedatectl"), verdict.text());
        }

        @ParameterizedTest
        @CsvSource({"2026a, OK", "2025b, OK", "2024b, OK", "2024a, WARNING", "2023d, WARNING", "custom, NOTE"})
        void zoneRulesOlderThanAYearAndAHalfAreTold(String version, State state) {
            Instant now = version.equals("2024b") ? Instant.parse("2025-09-30T00:00:00Z") : NOW;
            assertEquals(state, ClockVerdicts.zoneData(version, now).state(), version);
        }
    }

    @Nested
    class OfAStore {

        private static final Diagnosis.Postgres GOOD =
                new Diagnosis.Postgres(170006, "17.6", true, true, "on", false, null);

        private static Verdict schema(@Nullable String there) {
            return StoreVerdicts.schema(new Diagnosis(
                    there,
                    "004",
                    null,
                    new Diagnosis.Sqlite("wal", 2, 4096),
                    List.<PausedJob>of(),
                    List.<SinkAhead>of()));
        }

        @Test
        void theSchemaIsOursOlderNewerOrMissing() {
            assertEquals(State.OK, schema("004").state());
            assertEquals(State.WARNING, schema("003").state());
            assertEquals(State.NOTE, schema("005").state());
            assertEquals(State.WARNING, schema(null).state());
        }

        @Test
        void aGoodServerIsGood() {
            assertEquals(List.of(State.OK, State.OK), states(StoreVerdicts.engine(GOOD)));
        }

        @Test
        void whatLosesACommitIsBad() {
            assertEquals(
                    State.BAD,
                    StoreVerdicts.engine(new Diagnosis.Postgres(170006, "17.6", false, true, "on", false, null))
                            .getFirst()
                            .state());
            assertEquals(
                    State.BAD,
                    StoreVerdicts.engine(new Diagnosis.Postgres(170006, "17.6", true, false, "on", false, null))
                            .getFirst()
                            .state());
            assertEquals(
                    State.BAD,
                    StoreVerdicts.engine(new Diagnosis.Postgres(140011, "14.11", true, true, "on", false, null))
                            .getFirst()
                            .state());
        }

        @Test
        void aStandbyIsBadAndHasNoTimelineToTell() {
            List<Verdict> verdicts =
                    StoreVerdicts.engine(new Diagnosis.Postgres(170006, "17.6", true, true, "on", true, null));
            assertEquals(List.of(State.BAD), states(verdicts));
        }

        @Test
        void aServersOwnSynchronousCommitIsOnlyNotedSinceWeSetIt() {
            List<Verdict> verdicts =
                    StoreVerdicts.engine(new Diagnosis.Postgres(170006, "17.6", true, true, "off", false, null));
            assertEquals(List.of(State.OK, State.NOTE, State.OK), states(verdicts));
            assertTrue(verdicts.get(1).text().contains("sets it to on"), verdicts.toString());
        }

        @Test
        void aTimelineThatIsNotToldIsAWarningThatSaysWhatItCosts() {
            Verdict verdict = StoreVerdicts.engine(new Diagnosis.Postgres(
                            170006, "17.6", true, true, "on", false, "permission denied for function pg_walfile_name"))
                    .getLast();
            assertEquals(State.WARNING, verdict.state());
            assertTrue(verdict.text().contains("granted twice"), verdict.text());
        }

        @ParameterizedTest
        @CsvSource({"wal, 2, OK", "WAL, 3, OK", "delete, 2, BAD", "wal, 1, BAD", "wal, 0, BAD"})
        void sqliteHasToBeInWalModeAndFull(String mode, int synchronous, State state) {
            assertEquals(List.of(state), states(StoreVerdicts.engine(new Diagnosis.Sqlite(mode, synchronous, 4096))));
        }

        @ParameterizedTest
        @CsvSource({
            "ext4, OK",
            "xfs, OK",
            "btrfs, OK",
            "nfs4, BAD",
            "cifs, BAD",
            "fuse.sshfs, BAD",
            "9p, BAD",
            "tmpfs, WARNING",
            "overlay, NOTE"
        })
        void aNetworkFileSystemIsBad(String type, State state) {
            assertEquals(state, StoreVerdicts.fileSystem("it", type).state());
        }

        @ParameterizedTest
        @CsvSource({"3, OK", "250, OK", "251, WARNING"})
        void aSlowWriteIsTold(long millis, State state) {
            assertEquals(
                    state, StoreVerdicts.writeTime(Duration.ofMillis(millis)).state());
        }

        @Test
        void damageIsBadAndTheFirstOfItIsShown() {
            assertEquals(State.OK, StoreVerdicts.damage(List.of()).state());
            Verdict verdict = StoreVerdicts.damage(List.of("row 7 missing from index x", "more"));
            assertEquals(State.BAD, verdict.state());
            assertTrue(verdict.text().contains("row 7 missing from index x (and 1 more)"), verdict.text());
        }
    }

    @Nested
    class OfTheHost {

        @ParameterizedTest
        @CsvSource({
            // free MiB, total MiB
            "99, 1000, BAD",
            "100, 1000, WARNING",
            "1023, 2000, WARNING",
            "1024, 2000, OK",
            "4000, 100000, WARNING",
            "5000, 100000, OK",
            "1024, 0, OK"
        })
        void littleRoomIsTold(long free, long total, State state) {
            Verdict verdict = HostVerdicts.disk("disk", free << 20, total << 20);
            assertEquals(state, verdict.state(), verdict.text());
        }

        @ParameterizedTest
        @CsvSource({
            "512, 512 bytes",
            "1536, 1.5 KiB",
            "20971520, 20 MiB",
            "5368709120, 5.0 GiB",
            "4398046511104, 4.0 TiB"
        })
        void bytesAreReadable(long bytes, String text) {
            assertEquals(text, HostVerdicts.bytes(bytes));
        }

        @ParameterizedTest
        @CsvSource({
            "rwx------, true, false, OK",
            "rwx------, false, false, WARNING",
            "rwxr-x---, true, false, WARNING",
            "rwx---r-x, true, true, WARNING",
            "rwx--x--x, true, false, NOTE",
            // run-as opens the way through it.
            "rwx--x--x, true, true, OK"
        })
        void theStateDirectoryIsItsOwnersAlone(String mode, boolean ours, boolean forOthers, State state) {
            assertEquals(
                    state,
                    HostVerdicts.stateDirectory(
                                    Path.of("/state"), PosixFilePermissions.fromString(mode), ours, forOthers)
                            .state());
        }

        @Test
        void openFilesAreTold() {
            Path path = Path.of("/x");
            assertNull(HostVerdicts.secretFile("env-file", path, false));
            assertEquals(
                    State.WARNING,
                    Objects.requireNonNull(HostVerdicts.secretFile("env-file", path, true))
                            .state());
            assertNull(HostVerdicts.storeFile(path, false, false));
            assertEquals(
                    State.WARNING,
                    Objects.requireNonNull(HostVerdicts.storeFile(path, true, false))
                            .state());
            assertEquals(
                    State.BAD,
                    Objects.requireNonNull(HostVerdicts.storeFile(path, true, true))
                            .state());
            assertNull(HostVerdicts.jobsFile(path, false));
            assertEquals(
                    State.BAD,
                    Objects.requireNonNull(HostVerdicts.jobsFile(path, true)).state());
        }

        @ParameterizedTest
        @CsvSource({"ALL, OK", "CHILD, NOTE", "NOTHING, WARNING", "CANNOT_START, BAD"})
        void theGuardCostsWhatItDoesNotReach(GuardInForce.Reach reach, State state) {
            assertEquals(
                    state, HostVerdicts.guard(new GuardInForce(reach, "words")).state());
        }

        @Test
        void aPortThatARunningFencepostHasIsFine() {
            HealthProbe.Check loops = new HealthProbe.Check("loops", "UP", Map.of());
            HealthProbe.Check stuck = new HealthProbe.Check("loops", "DOWN", Map.of("reason", "not woken"));
            assertEquals(
                    State.OK,
                    HostVerdicts.portInUse(8787, new HealthProbe.Report("UP", List.of(loops)))
                            .state());
            Verdict down = HostVerdicts.portInUse(8787, new HealthProbe.Report("DOWN", List.of(stuck)));
            assertEquals(State.BAD, down.state());
            assertTrue(down.text().contains("not woken"), down.text());
            assertEquals(
                    State.BAD,
                    HostVerdicts.portInUse(8787, new HealthProbe.Report("UP", List.of()))
                            .state());
            assertEquals(
                    State.BAD,
                    HostVerdicts.portInUse(8787, new HealthProbe.Silence("no answer"))
                            .state());
        }

        @Test
        void gitAndSendmailAreNeededWhereTheFileUsesThem() {
            assertEquals(
                    "git version 2.47.3",
                    HostVerdicts.git("git version 2.47.3\n", "").text());
            assertEquals(State.BAD, HostVerdicts.git(null, "it is not there").state());
            assertEquals(
                    State.OK,
                    HostVerdicts.sendmail(Path.of("/usr/sbin/sendmail")).state());
            assertEquals(State.BAD, HostVerdicts.sendmail(null).state());
        }

        @Test
        void aProgramThatOnlyThisShellFindsIsNoted() {
            assertNull(JobVerdicts.program("a", "date", "/usr/bin/date", true));
            assertNull(JobVerdicts.program("a", "gone", null, false));
            Verdict verdict =
                    Objects.requireNonNull(JobVerdicts.program("a", "agent", "/home/u/.local/bin/agent", false));
            assertEquals(State.NOTE, verdict.state());
            assertTrue(verdict.text().contains("/home/u/.local/bin/agent"), verdict.text());
        }
    }

    @Nested
    class OfAUnit {

        private static final UnitVerdicts.Needs PLAIN = new UnitVerdicts.Needs(false, null, true);

        private static List<Verdict> judged(UnitVerdicts.Needs needs, String... properties) {
            List<String> lines = new ArrayList<>(List.of("LoadState=loaded", "KillMode=control-group", "User="));
            lines.addAll(List.of(properties));
            return UnitVerdicts.judge("fencepost.service", UnitVerdicts.properties(String.join("\n", lines)), needs);
        }

        @Test
        void theUnitIsFoundByTheControlGroup() {
            assertEquals("fencepost.service", UnitVerdicts.unitOf("0::/system.slice/fencepost.service\n"));
            assertEquals(
                    "fencepost@a.service",
                    UnitVerdicts.unitOf("0::/system.slice/system-fencepost.slice/fencepost@a.service/sub\n"));
            assertNull(UnitVerdicts.unitOf("0::/user.slice/user-1000.slice/user@1000.service/app.slice/x.service\n"));
            assertNull(UnitVerdicts.unitOf("0::/\n"));
        }

        @Test
        void aUnitThatIsNotThereIsNoFault() {
            List<Verdict> verdicts = UnitVerdicts.judge("fencepost.service", Map.of("LoadState", "not-found"), PLAIN);
            assertEquals(List.of(State.NOTE), states(verdicts));
        }

        @Test
        void aUsualUnitIsGood() {
            assertEquals(List.of(State.OK), states(judged(PLAIN, "ProtectProc=default", "ProcSubset=all")));
            assertEquals(List.of(State.OK), states(judged(PLAIN, "KillMode=mixed", "NoNewPrivileges=yes")));
        }

        @ParameterizedTest
        @CsvSource({
            "KillMode=process, WARNING",
            "KillMode=none, WARNING",
            "ProcSubset=pid, BAD",
            "ProtectProc=invisible, WARNING",
            "'Type=notify\nNotifyAccess=main', BAD",
            "OOMPolicy=stop, WARNING",
            "MemoryDenyWriteExecute=yes, BAD"
        })
        void whatIsInTheWayIsTold(String property, State state) {
            assertEquals(List.of(state), states(judged(PLAIN, property)));
        }

        @Test
        void aNativeProgramRunsWithoutWritableCode() {
            assertEquals(
                    List.of(State.OK),
                    states(judged(new UnitVerdicts.Needs(false, null, false), "MemoryDenyWriteExecute=yes")));
        }

        @Test
        void runAsNeedsRootAndItsCapabilities() {
            UnitVerdicts.Needs runAs = new UnitVerdicts.Needs(true, null, true);
            assertEquals(List.of(State.OK), states(judged(runAs, "NoNewPrivileges=yes")));
            assertEquals(List.of(State.BAD), states(judged(runAs, "User=fencepost")));
            assertEquals(List.of(State.BAD), states(judged(runAs, "CapabilityBoundingSet=cap_kill cap_chown")));
            assertEquals(
                    List.of(State.OK), states(judged(runAs, "CapabilityBoundingSet=cap_chown cap_setgid cap_setuid")));
        }

        @Test
        void sudoDoesNotGoWithNoNewPrivileges() {
            UnitVerdicts.Needs sudo = new UnitVerdicts.Needs(false, "backup", true);
            assertEquals(List.of(State.WARNING), states(judged(sudo, "NoNewPrivileges=yes")));
            assertEquals(List.of(State.OK), states(judged(sudo, "NoNewPrivileges=no")));
        }

        @Test
        void delegationAndClosedNamespacesAreOnlyNoted() {
            assertEquals(List.of(State.OK, State.NOTE), states(judged(PLAIN, "Delegate=yes")));
            assertEquals(List.of(State.OK, State.NOTE), states(judged(PLAIN, "RestrictNamespaces=yes")));
            assertEquals(List.of(State.OK, State.NOTE), states(judged(PLAIN, "RestrictNamespaces=net pid user")));
        }

        @Test
        void theUnitOfTheProjectIsGood() {
            assertEquals(
                    List.of(State.OK),
                    states(judged(
                            PLAIN,
                            "Type=notify",
                            "NotifyAccess=all",
                            "OOMPolicy=continue",
                            "KillMode=mixed",
                            "RestrictNamespaces=mnt pid user")));
        }
    }

    @Nested
    class OfNodesAndWhatWaits {

        private static NodeView node(
                String id, String host, String hash, @Nullable String error, long seenAgo, boolean stopped) {
            Instant seen = NOW.minusSeconds(seenAgo);
            return new NodeView(
                    new Owner(id.repeat(8) + "-0000-0000-0000-000000000000/boot/1/2/3/0123abcd"),
                    new Nodes.State(host, "1", "/f", hash, error),
                    seen.minusSeconds(100),
                    seen,
                    stopped ? seen : null);
        }

        @Test
        void livingNodesWithTheSameJobsAreFine() {
            List<Verdict> verdicts = FleetVerdicts.nodes(
                    List.of(node("a", "vps1", "x", null, 5, false), node("b", "vps2", "x", null, 5, false)), NOW);
            assertEquals(List.of(State.OK), states(verdicts));
            assertTrue(verdicts.getFirst().text().contains("vps1, vps2"), verdicts.toString());
            assertEquals(List.of(State.OK), states(FleetVerdicts.nodes(List.of(), NOW)));
        }

        @Test
        void differentJobsAreAWarningAmongTheLivingAlone() {
            List<Verdict> verdicts = FleetVerdicts.nodes(
                    List.of(node("a", "vps1", "x", null, 5, false), node("b", "vps2", "y", null, 5, false)), NOW);
            assertEquals(List.of(State.WARNING), states(verdicts));
            assertTrue(verdicts.getFirst().text().contains("x on vps1; y on vps2"), verdicts.toString());
            assertEquals(
                    List.of(State.OK),
                    states(FleetVerdicts.nodes(
                            List.of(node("a", "vps1", "x", null, 5, false), node("b", "vps2", "y", null, 5, true)),
                            NOW)));
        }

        @Test
        void aRefusedFileIsAWarning() {
            List<Verdict> verdicts =
                    FleetVerdicts.nodes(List.of(node("a", "vps1", "x", "line 3: no such key", 5, false)), NOW);
            assertEquals(List.of(State.WARNING), states(verdicts));
            assertTrue(verdicts.getFirst().text().contains("line 3: no such key"), verdicts.toString());
        }

        @Test
        void aDeadNodeIsNotedUnlessItWasStartedAgainOrStopped() {
            NodeView dead = node("a", "vps1", "x", null, 400, false);
            assertEquals(List.of(State.OK, State.NOTE), states(FleetVerdicts.nodes(List.of(dead), NOW)));
            NodeView again = node("a", "vps1", "x", null, 5, false);
            assertEquals(List.of(State.OK), states(FleetVerdicts.nodes(List.of(again, dead), NOW)));
            NodeView stopped = node("a", "vps1", "x", null, 300, true);
            assertEquals(List.of(State.OK), states(FleetVerdicts.nodes(List.of(stopped, dead), NOW)));
        }

        private static PausedJob paused(Pause.Cause cause, @Nullable Instant until) {
            return new PausedJob("a", new Pause(NOW.minusSeconds(60), until, cause, "why", "me@host"));
        }

        @Test
        void aBrakesPauseIsAWarningAPersonsANote() {
            assertEquals(List.of(State.OK), states(FleetVerdicts.pauses(List.of(), NOW)));
            assertEquals(
                    List.of(State.NOTE, State.WARNING, State.WARNING),
                    states(FleetVerdicts.pauses(
                            List.of(
                                    paused(Pause.Cause.PERSON, null),
                                    paused(Pause.Cause.FAILURES, null),
                                    paused(Pause.Cause.AUTH, NOW.plusSeconds(1))),
                            NOW)));
            assertEquals(
                    List.of(State.OK), states(FleetVerdicts.pauses(List.of(paused(Pause.Cause.FAILURES, NOW)), NOW)));
        }

        @Test
        void anEffectThatWaitsIsAWarning() {
            assertEquals(
                    State.OK,
                    FleetVerdicts.effects(List.of(new Tally("s", EffectState.PENDING, 3, 0, NOW)))
                            .state());
            Verdict verdict = FleetVerdicts.effects(List.of(
                    new Tally("s", EffectState.UNKNOWN, 2, 1, NOW), new Tally("s", EffectState.DEAD, 1, 1, NOW)));
            assertEquals(State.WARNING, verdict.state());
            assertTrue(verdict.text().startsWith("2 effects wait"), verdict.text());
        }

        @Test
        void aSinkThatIsAheadIsBad() {
            assertEquals(List.of(State.OK), states(FleetVerdicts.sinks(List.of())));
            Verdict verdict = FleetVerdicts.sinks(List.of(new SinkAhead("blog", "article", 9, 4)))
                    .getFirst();
            assertEquals(State.BAD, verdict.state());
            assertTrue(verdict.text().contains("sink blog knows token 9 of article"), verdict.text());
        }

        @Test
        void deadItemsAreNoted() {
            assertEquals(State.OK, FleetVerdicts.work(List.of()).state());
            assertEquals(
                    State.OK,
                    FleetVerdicts.work(List.of(new QueueView("q", 1, 2, 3, 0, null, NOW)))
                            .state());
            assertEquals(
                    State.NOTE,
                    FleetVerdicts.work(List.of(new QueueView("q", 1, 2, 3, 4, null, NOW)))
                            .state());
        }
    }

    @Nested
    class Scripts {

        @ParameterizedTest
        @ValueSource(strings = {"", "no", "[]", "{\"status\":\"MAYBE\"}", "{\"checks\":[]}", "{\"status\":\"UP\""})
        void whatIsNoHealthCheckIsNone(String text) {
            assertNull(HealthProbe.parsed(text.getBytes(java.nio.charset.StandardCharsets.UTF_8)));
        }

        @Test
        void aHealthCheckIsRead() {
            HealthProbe.Report report =
                    Objects.requireNonNull(HealthProbe.parsed("""
                    {"status":"DOWN","extra":{"a":[1,{"b":2}]},"checks":[
                     {"name":"store","status":"DOWN","data":{"reason":"away","n":3,"deep":{"x":1}}},
                     {"name":"loops","status":"UP"}]}""".getBytes(java.nio.charset.StandardCharsets.UTF_8)));
            assertEquals("DOWN", report.status());
            assertEquals(
                    Map.of("reason", "away", "n", "3"),
                    report.checks().getFirst().data());
            assertTrue(report.names("loops"));
            assertEquals("store: reason: away, n: 3", report.reasons());
        }
    }
}
