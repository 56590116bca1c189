package dev.fencepost.edge.web.page;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.edge.host.SystemEntropy;
import dev.fencepost.edge.web.Problem;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.RunId;
import dev.fencepost.lease.StoreException;
import dev.fencepost.run.Job;
import dev.fencepost.run.Pause;
import dev.fencepost.run.Rig;
import dev.fencepost.schedule.Slot;
import io.quarkus.test.junit.QuarkusTest;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** On a real store, under a clock that the test moves. The program's own template engine makes the rows. */
@QuarkusTest
@SuppressWarnings("NullAway.Init")
class BoardTest {

    @TempDir
    Path folder;

    private Rig rig;
    private boolean ready = true;
    private List<Configured> jobs = List.of();

    @BeforeEach
    void open() {
        rig = new Rig(folder);
    }

    @AfterEach
    void close() {
        rig.close();
    }

    private Board board() {
        return new Board(new Page.Parts(
                rig.store,
                () -> jobs,
                () -> ready,
                null,
                List.of(),
                attempt -> null,
                "node",
                rig.time,
                new SystemEntropy(),
                rig.events::add));
    }

    private static Configured configured(Job job) {
        return new Configured(
                job, "fencepost.yaml:1", List.of(new Configured.Value("every", "10s", "fencepost.yaml:2")));
    }

    private void have(String... ids) {
        jobs = List.of(ids).stream().map(id -> configured(Rig.job(id))).toList();
        rig.real.register(jobs.stream().map(Configured::job).toList());
    }

    private void aSecondPasses() {
        rig.time.pass(Duration.ofSeconds(1));
    }

    private void storeIsAway() {
        rig.faults.insteadOf("now", new StoreException(StoreException.Kind.UNAVAILABLE, "gone", null));
    }

    private static String row(Board board, String job) {
        return board.regions().get("job-" + job).html();
    }

    private static String trouble(Board board) {
        return board.regions().get(Board.STATE).html();
    }

    @Test
    void oneReadingASecondIsSharedAndNobodyReadsUnlessSomebodyLooks() {
        have("a");
        Board board = board();
        assertEquals(0, rig.faults.calls("jobs"));

        for (int i = 0; i < 20; i++) {
            board.regions();
        }
        assertEquals(1, rig.faults.calls("jobs"));

        rig.time.pass(Duration.ofMinutes(10));
        assertEquals(1, rig.faults.calls("jobs"));
        board.regions();
        assertEquals(2, rig.faults.calls("jobs"));
    }

    @Test
    void whereNothingHasHappenedNothingIsSentAndNoStripIsReadAgain() {
        have("a", "b");
        Board board = board();
        Regions before = board.regions();
        int strips = rig.faults.calls("newest");

        for (int i = 0; i < 5; i++) { // the next slots of both are 9.5 s away
            aSecondPasses();
            assertSame(before, board.regions());
        }
        assertTrue(rig.faults.calls("newest") - strips <= 2, "at most each job's turn in the round");
    }

    @Test
    void aRunAndItsLeaseAreShownAndOnlyTheirRowChanges() {
        have("a", "b");
        Board board = board();
        Regions before = board.regions();

        Owner hostile = new Owner("<script>alert(1)</script>\u202e");
        rig.real.start(jobs.getFirst().job(), Slot.at(Rig.START), hostile, new RunId(UUID.randomUUID()), false);
        aSecondPasses();

        List<Region> changed = board.regions().changedSince(before.version());
        assertEquals(
                List.of(Board.COUNTS, "job-a"), changed.stream().map(Region::id).toList());
        String row = row(board, "a");
        assertTrue(row.contains("running"), row);
        assertTrue(row.contains("token 1"), row);
        assertTrue(row.contains("<progress class=\"lease\" max=\"60000\""), row);
        assertTrue(row.contains("&lt;script&gt;") && !row.contains("<script"), row);
        assertTrue(row.contains("1 open"), row);
    }

    @Test
    void aPauseIsShownWithItsReasonEscapedAndWaitsForAPerson() {
        have("a", "b");
        rig.real.pause("a", null, Pause.Cause.PERSON, "<img src=x onerror=alert(1)>", "mallory\"><b>");
        Board board = board();

        String row = row(board, "a");
        assertTrue(row.contains("data-is=\"paused\""), row);
        assertTrue(row.contains("&lt;img src=x"), row);
        assertFalse(row.contains("<img") || row.contains("<b>"), row);
        assertEquals(1, board.waiting());
        assertTrue(board.regions().get(Board.COUNTS).html().contains("<b>1</b> paused"));
    }

    @Test
    void whileTheStoreIsAwayTheLastRowsStayAndItComesBackByItself() {
        have("a");
        Board board = board();
        String row = row(board, "a");
        assertEquals("", trouble(board).strip());

        storeIsAway();
        aSecondPasses();
        assertTrue(trouble(board).contains("has not answered since"), trouble(board));
        assertTrue(trouble(board).contains("2026-03-01 12:00:01"), trouble(board));
        assertEquals(row, row(board, "a"));

        aSecondPasses(); // nobody asks again at once
        assertTrue(trouble(board).contains("2026-03-01 12:00:01"), trouble(board));
        rig.time.pass(Duration.ofSeconds(3));
        assertEquals("", trouble(board).strip());
        assertEquals(row, row(board, "a"));
    }

    @Test
    void aStoreThatWasNeverThereLeavesWhatTheFileSays() {
        have("a");
        ready = false;
        Board board = board();

        assertTrue(trouble(board).contains("is starting"), trouble(board));
        assertTrue(row(board, "a").contains("not known"), row(board, "a"));
        assertTrue(row(board, "a").contains("every 10s"), row(board, "a"));
        assertEquals(0, rig.faults.calls("jobs"));

        ready = true;
        rig.time.pass(Duration.ofSeconds(3));
        assertEquals("", trouble(board).strip());
        assertTrue(row(board, "a").contains("idle"), row(board, "a"));
    }

    @Test
    void fiveHundredJobsAreReadInOneGoAndRenderedOnlyWhereTheyChange() {
        have(IntStream.range(0, 500).mapToObj(i -> "job-" + i).toArray(String[]::new));
        Board board = board();
        Regions before = board.regions();
        assertEquals(504, before.all().size());
        assertEquals(1, rig.faults.calls("newest"));

        rig.real.pause("job-77", null, Pause.Cause.PERSON, null, "me");
        aSecondPasses();
        assertEquals(
                List.of(Board.COUNTS, "job-job-77"),
                board.regions().changedSince(before.version()).stream()
                        .map(Region::id)
                        .toList());
    }

    @Test
    void withoutJobsAndNodesThePageSaysSo() {
        Board board = board();

        assertTrue(board.look().jobs().isEmpty());
        assertTrue(board.regions().get(Board.NODES).html().contains("No node"));
    }

    @Test
    void aJobThatTheFileHasNotIsShownAfterThose() {
        have("a", "z");
        jobs = List.of(jobs.getLast());
        rig.real.register(List.of(jobs.getFirst().job()));
        Board board = board();

        assertEquals(
                List.of("z", "a"),
                board.look().jobs().stream().map(each -> each.line().id()).toList());
        assertTrue(row(board, "a").contains("retired"), row(board, "a"));
    }

    @Test
    void theFilterGoesByTextAndByState() {
        have("alpha", "beta");
        rig.real.pause("beta", null, Pause.Cause.PERSON, null, "me");
        List<Board.Listed> rows = board().look().jobs();

        assertEquals(List.of("alpha"), shown(rows, "ALPH", null));
        assertEquals(List.of("beta"), shown(rows, null, "paused"));
        assertEquals(List.of(), shown(rows, "alpha", "paused"));
        assertEquals(List.of("alpha", "beta"), shown(rows, "every 10s", ""));
        Problem none = assertThrows(Problem.class, () -> Filter.of(null, "<b>"));
        assertEquals(400, none.status());
    }

    private static List<String> shown(List<Board.Listed> rows, @Nullable String text, @Nullable String state) {
        Filter filter = Filter.of(text, state);
        return rows.stream()
                .map(Board.Listed::line)
                .filter(filter::shows)
                .map(JobLine::id)
                .toList();
    }
}
