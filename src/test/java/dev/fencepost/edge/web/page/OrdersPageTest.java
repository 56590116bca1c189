package dev.fencepost.edge.web.page;

import static dev.fencepost.edge.web.page.OpenPage.LINES;
import static dev.fencepost.edge.web.page.OpenPage.OPERATOR;
import static dev.fencepost.edge.web.page.OpenPage.VIEWER;
import static dev.fencepost.edge.web.page.OpenPage.form;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.edge.web.page.Wire.Answer;
import dev.fencepost.effect.EffectState;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.RunId;
import dev.fencepost.run.Nodes;
import dev.fencepost.run.Orders.JobEvent;
import dev.fencepost.run.Pause;
import dev.fencepost.work.Grant;
import dev.fencepost.work.NewItem;
import dev.fencepost.work.WorkItem;
import io.quarkus.test.common.http.TestHTTPResource;
import io.quarkus.test.junit.QuarkusTest;
import jakarta.inject.Inject;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What is ordered and decided at the page, over real HTTP, and what the work queues show. */
@QuarkusTest
@SuppressWarnings("NullAway.Init")
class OrdersPageTest {

    private static final Owner WORKER = new Owner("pc-<b>1</b>");

    @Inject
    Page page;

    @TestHTTPResource
    URI base;

    @TempDir
    Path folder;

    private OpenPage open;
    private Wire wire;
    private String cookie;

    @BeforeEach
    void open() {
        open = new OpenPage(page, base, folder, LINES);
        wire = open.wire;
        cookie = open.logIn(OPERATOR);
        open.register("job", "other");
    }

    @AfterEach
    void close() {
        open.close();
    }

    private Answer order(String job, String order, String... fields) {
        String address = "/jobs/" + job + "/" + order;
        return wire.post(address, form("form", open.formToken(cookie, address)) + "&" + form(fields), cookie);
    }

    private static void assertSaid(String word, Answer answer) {
        assertEquals(303, answer.status(), answer::toString);
        assertEquals("/jobs/job?said=" + word, answer.header("location"), answer::toString);
    }

    private JobEvent lastEvent() {
        return open.store.jobEvents("job", 1).getFirst();
    }

    private String buttons(String job) {
        return Buttons.of(
                        open.visit(cookie),
                        job,
                        open.store.jobs().stream()
                                .filter(each -> each.id().equals(job))
                                .findFirst()
                                .orElse(null))
                .getValue();
    }

    private static void assertOffered(String buttons, String... orders) {
        for (String each : List.of("trigger", "pause", "resume", "cancel")) {
            assertEquals(List.of(orders).contains(each), buttons.contains("/" + each + "\""), buttons);
        }
    }

    @Test
    void aTriggerOrdersARun() {
        assertSaid("triggered", order("job", "trigger", "reason", " a look ", "effects", "none"));
        assertEquals(JobEvent.Kind.TRIGGERED, lastEvent().kind());
        assertEquals("a look", lastEvent().reason());
        assertEquals("alice@page", lastEvent().by());
        assertTrue(open.isTold("page: triggered, by alice@page"));
        assertFalse(open.isTold("a look"));
        assertSaid("triggered", order("job", "trigger", "reason", ""));
        assertNull(lastEvent().reason());
    }

    @Test
    void aReasonThatNoStoreKeepsIsRefused() {
        Answer answer = order("job", "pause", "for", "DAY", "reason", "a\0b");
        assertEquals(400, answer.status(), answer::toString);
        assertTrue(answer.body().contains("no NUL"), answer::toString);
        assertNull(open.store.pauseOf("job"));
    }

    @Test
    void aPauseEndsByItselfOrByAResume() {
        assertSaid("paused", order("job", "pause", "for", "HOUR", "reason", "moving"));
        Pause pause = open.store.pauseOf("job");
        assertNotNull(pause);
        assertEquals(Pause.Cause.PERSON, pause.cause());
        assertEquals(Instant.parse("2026-05-04T04:02:01Z"), pause.until());
        assertSaid("paused", order("job", "pause", "for", "RESUMED"));
        assertSaid("paused-already", order("job", "pause", "for", "RESUMED"));
        assertSaid("resumed", order("job", "resume"));
        assertSaid("not-paused", order("job", "resume"));
        assertEquals(400, order("job", "pause", "for", "90m").status());
        assertEquals(400, order("job", "pause").status());
        assertNull(open.store.pauseOf("job"));
    }

    @Test
    void aCancelStopsWhatRuns() {
        assertSaid("nothing-to-cancel", order("job", "cancel"));
        open.started("job");
        assertSaid("cancelled", order("job", "cancel", "reason", "nonsense"));
        assertSaid("nothing-to-cancel", order("job", "cancel"));
        assertEquals(1, open.store.stops(new Owner("anna")).size());
    }

    @ParameterizedTest
    @CsvSource({"trigger", "pause", "resume", "cancel"})
    void anUnknownJobIsTold(String order) {
        Answer answer = order("nobody", order, "for", "DAY");
        assertEquals(404, answer.status(), answer::toString);
        assertTrue(answer.body().contains("no job of this name"), answer::toString);
        open.store.register(List.of(OpenPage.job("job")));
        if (!order.equals("cancel")) {
            Answer retired = order("other", order, "for", "DAY");
            assertEquals(404, retired.status(), retired::toString);
            assertTrue(retired.body().contains("left the jobs file"), retired::toString);
        }
    }

    @Test
    void aLostAnswerIsNeitherYesNorNo() {
        open.loseNextAnswer();
        assertSaid("unsure", order("job", "pause", "for", "DAY"));
        assertNotNull(open.store.pauseOf("job"));
        assertTrue(wire.get("/waiting?said=unsure", cookie).body().contains("it may have been"));
    }

    @Test
    void onlyWhatMakesSenseIsOffered() {
        assertOffered(buttons("job"), "trigger", "pause");
        order("job", "pause", "for", "DAY");
        assertOffered(buttons("job"), "trigger", "resume");
        order("job", "resume");
        order("job", "trigger");
        assertOffered(buttons("job"), "trigger", "pause", "cancel");
        open.started("other");
        assertOffered(buttons("other"), "trigger", "pause", "cancel");
        open.store.register(List.of(OpenPage.job("job")));
        assertOffered(buttons("other"), "cancel");
        assertEquals("", buttons("nobody"));
    }

    @Test
    void theNoticeComesFromAFixedList() {
        assertTrue(wire.get("/waiting?said=resumed", cookie).body().contains("The job is resumed."));
        String other = wire.get("/waiting?said=hello", cookie).body();
        assertFalse(other.contains("hello"), other);
        assertFalse(other.contains("class=\"notice\""), other);
    }

    // ---- what waits

    private Answer resolve(String key, String order, String... fields) {
        return wire.post(
                "/waiting/resolve",
                form("form", open.formToken(cookie, "/waiting/resolve#" + key), "key", key, "order", order) + "&"
                        + form(fields),
                cookie);
    }

    private EffectState state(String key) {
        return Objects.requireNonNull(open.store.effect(key)).state();
    }

    @Test
    void nothingWaits() {
        assertTrue(wire.get("/waiting", cookie).body().contains("Nothing waits for you"));
    }

    @Test
    void anUnknownEffectIsDecidedByAPerson() {
        open.effect("job", "shop/<i>1</i>", EffectState.UNKNOWN);
        String body = wire.get("/waiting", cookie).body();
        assertTrue(body.contains("shop/&lt;i&gt;1&lt;/i&gt;") && !body.contains("<i>1"), body);
        assertTrue(body.contains("It took place") && body.contains("It did not take place"), body);
        assertTrue(body.contains("Give it up") && !body.contains("Send it again"), body);
        assertTrue(body.contains("timed out"), body);
        assertEquals(400, resolve("shop/<i>1</i>", "confirmed").status());
        assertEquals(400, resolve("shop/<i>1</i>", "confirmed", "reason", "  ").status());
        assertEquals(
                400,
                resolve("shop/<i>1</i>", "confirmed", "reason", "x".repeat(501)).status());
        assertEquals(400, resolve("shop/<i>1</i>", "nonsense", "reason", "x").status());
        assertEquals(
                400,
                resolve("shop/<i>1</i>", "confirmed", "reason", "x", "override", "yes")
                        .status());
        assertEquals(409, resolve("shop/<i>1</i>", "retry", "reason", "x").status());
        assertEquals(EffectState.UNKNOWN, state("shop/<i>1</i>"));
        Answer answer = resolve("shop/<i>1</i>", "confirmed", "reason", "order 4711 is there");
        assertEquals("/waiting?said=confirmed", answer.header("location"), answer::toString);
        assertEquals(EffectState.CONFIRMED, state("shop/<i>1</i>"));
        assertTrue(("" + open.store.events(5).getFirst().reason()).contains("order 4711 is there (alice@page)"));
        Answer twice = resolve("shop/<i>1</i>", "confirmed", "reason", "again");
        assertEquals(409, twice.status());
        assertTrue(twice.body().contains("it took place"), twice::toString);
        assertFalse(wire.get("/waiting", cookie).body().contains("shop/"));
    }

    @Test
    void whatIsDeadIsSentAgainOrGivenUp() {
        open.effect("job", "a", EffectState.DEAD);
        open.effect("other", "b", EffectState.DEAD);
        String body = wire.get("/waiting", cookie).body();
        assertTrue(body.contains("Send it again") && body.contains("It took place"), body);
        assertFalse(body.contains("It did not take place"), body);
        assertEquals(
                "/waiting?said=retried",
                resolve("a", "retry", "reason", "mended").header("location"));
        assertEquals(EffectState.PENDING, state("a"));
        assertEquals(
                "/waiting?said=given-up",
                resolve("b", "give_up", "reason", "no").header("location"));
        assertFalse(Objects.requireNonNull(open.store.effect("b")).waits());
    }

    @Test
    void aTokenOfOneEffectIsOfNoUseForAnother() {
        open.effect("job", "a", EffectState.UNKNOWN);
        open.effect("other", "b", EffectState.UNKNOWN);
        String token = open.formToken(cookie, "/waiting/resolve#b");
        assertEquals(
                403,
                wire.post(
                                "/waiting/resolve",
                                form("form", token, "key", "a", "order", "confirmed", "reason", "x"),
                                cookie)
                        .status());
        assertEquals(EffectState.UNKNOWN, state("a"));
    }

    @Test
    void whatWasRefusedIsShownAsNoTask() {
        open.effect("job", "late", EffectState.REFUSED);
        String body = wire.get("/waiting", cookie).body();
        assertTrue(body.contains("Nothing waits for you") && body.contains("Refused lately"), body);
        assertTrue(body.contains("late") && body.contains("name=\"override\""), body);
    }

    @Test
    void pausedJobsAndRefusedFilesAreShown() {
        open.store.pause("job", null, Pause.Cause.FAILURES, "3 <b>failures</b>", Pause.BY_A_BRAKE);
        open.store.seen(
                new Owner("node/x"), new Nodes.State("vps", "1", "/etc/jobs.yaml", "hash", "line 3: <u>what</u>"));
        String body = wire.get("/waiting", cookie).body();
        assertTrue(body.contains("too many failures") && body.contains("3 &lt;b&gt;failures"), body);
        assertTrue(body.contains("/jobs/job/resume"), body);
        assertTrue(body.contains("line 3: &lt;u&gt;what"), body);
        assertEquals(
                "/waiting?said=resumed",
                order("job", "resume", "from", "waiting").header("location"));
        assertFalse(wire.get("/waiting", cookie).body().contains("/jobs/job/resume"));
        String viewed = wire.get("/waiting", open.logIn(VIEWER)).body();
        assertFalse(viewed.contains("/resume"), viewed);
    }

    @Test
    void whileTheStoreIsAwayWhatWasKnownStays() {
        open.effect("job", "a-key", EffectState.UNKNOWN);
        assertTrue(wire.get("/waiting", cookie).body().contains("a-key"));
        open.setAway(true);
        open.time.pass(Duration.ofSeconds(5));
        Answer away = wire.get("/waiting", cookie);
        assertEquals(200, away.status(), away::toString);
        assertTrue(away.body().contains("has not answered since") && away.body().contains("a-key"), away::toString);
        open.setAway(false);
        open.time.pass(Duration.ofSeconds(5));
        assertFalse(wire.get("/waiting", cookie).body().contains("has not answered"));
    }

    @Test
    void aViewerOfAnOlderPageIsToldToLoadItAgain() {
        String before = wire.get("/waiting", cookie).body();
        String seen = before.replaceAll("(?s).*data-seen=\"(\\d+)\".*", "$1");
        open.effect("job", "a-key", EffectState.UNKNOWN);
        open.time.pass(Duration.ofSeconds(5));
        assertTrue(wire.get("/waiting", cookie).body().contains("a-key"));
        String stream = wire.until("reload", "/live/waiting?seen=" + seen, cookie, "Accept: text/event-stream");
        assertTrue(stream.contains("reload"), stream);
    }

    // ---- work queues

    private Grant claimed(String id) {
        RunId run = new RunId(UUID.randomUUID());
        WorkItem item = ((dev.fencepost.work.WorkAnswer.Done)
                        open.store.claimItem(id, WORKER, run, Duration.ofMinutes(1)))
                .item();
        return new Grant(id, WORKER, new dev.fencepost.lease.FencingToken(item.fence()), run);
    }

    private void enqueue(String id, @Nullable Instant notBefore) {
        open.store.enqueue(new NewItem(id, "pages", null, 0, notBefore, 2));
    }

    @Test
    void aQueueShowsItsHoldersAndItsDead() {
        assertTrue(wire.get("/queues", cookie).body().contains("There is no work queue yet"));
        enqueue("ready-1", null);
        enqueue("later-1", open.store.now().plusSeconds(600));
        enqueue("held-1", null);
        enqueue("dead-1", null);
        open.store.fail(claimed("dead-1"), "<script>alert(1)</script>", null);
        claimed("held-1");
        open.store.setCapacity("pages", 1);
        open.time.pass(Duration.ofSeconds(30));
        String all = wire.get("/queues", cookie).body();
        assertTrue(all.contains("/queues/pages") && all.contains("full") && all.contains("30 s"), all);
        Answer answer = wire.get("/queues/pages", cookie);
        assertEquals(200, answer.status(), answer::toString);
        String body = answer.body();
        assertTrue(body.contains("of them delayed") && body.contains("held-1") && body.contains("later-1"), body);
        assertTrue(body.contains("pc-&lt;b&gt;1") && body.contains("in 30 s"), body);
        assertTrue(body.contains("&lt;script&gt;alert(1)") && !body.contains("<script>alert"), body);
        assertTrue(body.contains("fencepost work state ID"), body);
    }

    @ParameterizedTest
    @ValueSource(strings = {"/queues/nobody", "/queues/NO", "/queues/..%2fwaiting", "/queues/a%20b"})
    void aQueueOfNobodysIsNotFound(String path) {
        Answer answer = wire.get(path, cookie);
        assertEquals(404, answer.status(), answer::toString);
    }

    @Test
    void aRunUnderALeaseOfItsOwnIsNamed() {
        Lease lease = open.started("job");
        assertTrue(buttons("job").contains(String.valueOf(lease.slotKey())), buttons("job"));
    }
}
