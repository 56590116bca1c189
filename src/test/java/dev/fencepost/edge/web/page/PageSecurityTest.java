package dev.fencepost.edge.web.page;

import static dev.fencepost.edge.web.page.OpenPage.LINES;
import static dev.fencepost.edge.web.page.OpenPage.OPERATOR;
import static dev.fencepost.edge.web.page.OpenPage.SHORT;
import static dev.fencepost.edge.web.page.OpenPage.VIEWER;
import static dev.fencepost.edge.web.page.OpenPage.WORKER;
import static dev.fencepost.edge.web.page.OpenPage.cookie;
import static dev.fencepost.edge.web.page.OpenPage.form;
import static dev.fencepost.edge.web.page.OpenPage.sessionOf;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.edge.web.page.Wire.Answer;
import io.quarkus.test.common.http.TestHTTPResource;
import io.quarkus.test.junit.QuarkusTest;
import jakarta.inject.Inject;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The page over real HTTP, as somebody sees it who wants in. */
@QuarkusTest
@SuppressWarnings("NullAway.Init")
class PageSecurityTest {

    private static final String PAUSE = "/jobs/job/pause";

    @Inject
    Page page;

    @TestHTTPResource
    URI base;

    @TempDir
    Path folder;

    private OpenPage open;
    private Wire wire;

    private void open(@Nullable String lines) {
        open = new OpenPage(page, base, folder, lines);
        wire = open.wire;
        open.register("job");
    }

    @AfterEach
    void close() {
        open.close();
    }

    private boolean isPaused() {
        return open.store.pauseOf("job") != null;
    }

    private String pauseForm(String cookie) {
        return form("form", open.formToken(cookie, PAUSE), "for", "DAY");
    }

    private static void assertStrict(Answer answer) {
        assertTrue(answer.header("content-security-policy").startsWith("default-src 'none';"), answer::toString);
        assertFalse(answer.header("content-security-policy").contains("unsafe"), answer::toString);
        assertEquals(1, answer.all("content-security-policy").size(), answer::toString);
        assertEquals("nosniff", answer.header("x-content-type-options"), answer::toString);
        assertEquals("DENY", answer.header("x-frame-options"), answer::toString);
        assertEquals("same-origin", answer.header("referrer-policy"), answer::toString);
        for (String leak : new String[] {"Exception", "java.", "dev.fencepost", "io.quarkus", "<script>"}) {
            assertFalse(answer.body().contains(leak), answer::toString);
        }
    }

    // ---- without tokens

    @ParameterizedTest
    @ValueSource(strings = {"localhost", "LOCALHOST", "127.0.0.1", "[::1]"})
    void withoutTokensThisMachineMayLook(String name) {
        open(null);
        Answer answer = wire.get("/waiting", "Host: " + name + ":" + base.getPort());
        assertEquals(200, answer.status(), answer::toString);
        assertFalse(answer.body().contains("<button"), answer::toString);
        assertEquals("", answer.header("set-cookie"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "Host: evil.example",
                "Host: localhost.evil.example",
                "Host: 10.0.0.1:8787",
                "Host: ",
                "Host: a@localhost"
            })
    void withoutTokensAnotherNameIsRefused(String host) {
        open(null);
        Answer answer = wire.get("/", host);
        assertTrue(answer.status() == 403 || answer.status() == 400, answer::toString);
        assertFalse(answer.body().contains("<table"), answer::toString);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "X-Forwarded-For: 203.0.113.9",
                "Forwarded: for=203.0.113.9",
                "X-Forwarded-Host: fencepost.example",
                "X-Real-IP: 203.0.113.9",
                "Via: 1.1 proxy"
            })
    void withoutTokensWhatAProxyPassesOnIsRefused(String header) {
        open(null);
        Answer answer = wire.get("/", header);
        assertEquals(403, answer.status(), answer::toString);
        assertTrue(answer.body().contains("token-file"), answer::toString);
        assertEquals(403, wire.get("/live", header).status());
    }

    @Test
    void withoutTokensNothingCanBeOrdered() {
        open(null);
        assertEquals(403, wire.post(PAUSE, "for=DAY").status());
        assertEquals(403, wire.post(PAUSE, "for=DAY&form=").status());
        assertEquals(
                403,
                wire.post("/waiting/resolve", "key=a&order=confirmed&reason=x").status());
        assertEquals(404, wire.post("/login", "token=" + OPERATOR).status());
        assertEquals("/", wire.get("/login").header("location"));
        assertFalse(isPaused());
    }

    // ---- login

    @Test
    void withTokensNobodyLooksWithoutALogin() {
        open(LINES);
        for (String path : new String[] {"/", "/waiting", "/queues", "/queues/default"}) {
            Answer answer = wire.get(path);
            assertEquals(303, answer.status(), answer::toString);
            assertTrue(answer.header("location").startsWith("/login"), answer::toString);
            assertStrict(answer);
        }
        assertEquals(
                "/login?next=%2Fqueues%2Fdefault", wire.get("/queues/default").header("location"));
        assertEquals(303, wire.get("/", cookie("made-up")).status());
        assertEquals(303, wire.get("/", cookie("")).status());
        assertEquals(303, wire.get("/", cookie("a".repeat(3_000))).status());
        Answer form = wire.get("/login");
        assertEquals(200, form.status());
        assertStrict(form);
        assertEquals(200, wire.get(Assets.CSS.address()).status());
        // Under another name, too: who it is, is asked by the token.
        assertEquals(
                200,
                wire.get("/", open.logIn(VIEWER), "Host: fencepost.example").status());
    }

    @Test
    void aFormWithoutASessionLeadsToItsPage() {
        open(LINES);
        assertEquals("/login?next=%2Fjobs%2Fjob", wire.post(PAUSE, "for=DAY").header("location"));
        assertEquals("/login", wire.post("/logout", "").header("location"));
        assertFalse(isPaused());
    }

    @Test
    void eventsNeedASessionToo() {
        open(LINES);
        for (String path : new String[] {"/live", "/live/waiting", "/live?seen=1"}) {
            Answer answer = wire.get(path, "Accept: text/event-stream");
            assertEquals(401, answer.status(), answer::toString);
            assertEquals("", answer.header("location"));
            assertStrict(answer);
        }
        String stream = wire.until("event:", "/live/waiting?seen=-1", open.logIn(VIEWER), "Accept: text/event-stream");
        assertTrue(stream.contains("event:region") || stream.contains("event: region"), stream);
        assertTrue(stream.contains("text/event-stream") && stream.contains("no-store"), stream);
        assertTrue(stream.toLowerCase(java.util.Locale.ROOT).contains("content-security-policy"), stream);
    }

    @Test
    void aStreamEndsWithItsSession() throws InterruptedException {
        open(LINES);
        String cookie = open.logIn(VIEWER);
        Thread ends = Thread.ofVirtual().start(() -> {
            try {
                open.time.awaitSleepers(1);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
            open.writeTokens(LINES.replace(VIEWER, "x".repeat(40)));
            open.time.pass(Duration.ofSeconds(2));
        });
        wire.until("never said", "/live/waiting", cookie, "Accept: text/event-stream"); // comes back at its end
        ends.join();
    }

    @Test
    void aReaderSeesNoButtonsAndOrdersNothing() {
        open(LINES);
        open.effect("job", "a-key", dev.fencepost.effect.EffectState.UNKNOWN);
        String cookie = open.logIn(VIEWER);
        Answer seen = wire.get("/waiting", cookie);
        assertEquals(200, seen.status());
        assertTrue(seen.body().contains("a-key"), seen::toString);
        assertFalse(seen.body().contains("/resolve"), seen::toString);
        assertEquals(
                "",
                Buttons.of(open.visit(cookie), "job", open.store.jobs().getFirst())
                        .getValue());
        Answer answer = wire.post(PAUSE, pauseForm(cookie), cookie);
        assertEquals(403, answer.status());
        assertTrue(answer.body().contains("operate"), answer::toString);
        assertStrict(answer);
        assertFalse(isPaused());
    }

    @Test
    void aTokenWithoutReadDoesNotLogIn() {
        open(LINES);
        Answer answer = wire.post("/login", "token=" + WORKER);
        assertEquals(403, answer.status());
        assertTrue(answer.body().contains("lacks the scope read"), answer::toString);
        assertEquals("", answer.session());
        assertFalse(answer.body().contains(WORKER));
    }

    @Test
    void theCookieIsOutOfReachOfScriptsAndOtherSites() {
        open(LINES);
        Answer answer = wire.post("/login", "token=" + VIEWER + "&next=/queues");
        assertEquals("/queues", answer.header("location"));
        String cookie = answer.header("set-cookie");
        assertTrue(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), cookie);
        assertTrue(cookie.replace(" ", "").contains("Path=/"), cookie);
        assertFalse(cookie.contains("Secure") || cookie.contains("Domain") || cookie.contains("Max-Age"), cookie);
        assertFalse(cookie.contains(VIEWER));
        assertTrue(answer.session().length() >= 40, cookie);
        Answer https = wire.post("/login", "token=" + VIEWER, "X-Forwarded-Proto: https");
        assertTrue(https.header("set-cookie").contains("Secure"), https::toString);
        assertNotEquals(answer.session(), https.session());
    }

    @Test
    void aSessionIsNeverTheVisitorsChoiceAndALoginEndsTheOneBefore() {
        open(LINES);
        Answer chosen = wire.post("/login", "token=" + VIEWER, cookie("chosen-by-the-attacker"));
        assertNotEquals("chosen-by-the-attacker", chosen.session());
        assertEquals(303, wire.get("/", cookie("chosen-by-the-attacker")).status());
        String first = cookie(chosen.session());
        assertEquals(200, wire.get("/", first).status());
        Answer second = wire.post("/login", "token=" + OPERATOR, first);
        assertEquals(303, wire.get("/", first).status());
        assertEquals(200, wire.get("/", cookie(second.session())).status());
    }

    @Test
    void logoutEndsTheSessionOnTheServer() {
        open(LINES);
        String cookie = open.logIn(VIEWER);
        assertEquals(403, wire.post("/logout", "", cookie).status());
        assertEquals(200, wire.get("/", cookie).status());
        Answer out = wire.post("/logout", form("form", open.formToken(cookie, "/logout")), cookie);
        assertEquals(303, out.status(), out::toString);
        assertEquals("", out.session());
        assertTrue(out.header("set-cookie").contains("Max-Age=0"), out::toString);
        assertEquals(303, wire.get("/", cookie).status());
    }

    @Test
    void aSessionEndsWithItsToken() {
        open(LINES);
        String viewer = open.logIn(VIEWER);
        String operator = open.logIn(OPERATOR);
        String expiring = open.logIn(SHORT);
        open.writeTokens(LINES.replace("bob   read         " + VIEWER, "").replace("alice read,operate", "alice read"));
        open.time.pass(Duration.ofSeconds(2));
        assertEquals(303, wire.get("/", viewer).status());
        assertEquals(200, wire.get("/", operator).status());
        assertEquals(403, wire.post(PAUSE, pauseForm(operator), operator).status());
        assertEquals(200, wire.get("/", expiring).status());
        open.time.setWallClock(java.time.Instant.parse("2026-05-05T00:00:00Z"));
        assertEquals(303, wire.get("/", expiring).status());
    }

    @Test
    void aSessionEndsWhenItIsNotUsedOrOld() {
        open(LINES);
        String idle = open.logIn(VIEWER);
        String used = open.logIn(VIEWER);
        for (int hours = 0; hours < 24 * 7; hours += 6) {
            assertEquals(200, wire.get("/queues", used).status(), "after " + hours + " h");
            open.time.pass(Duration.ofHours(6));
        }
        open.time.pass(Duration.ofMillis(1));
        assertEquals(303, wire.get("/queues", used).status());
        assertEquals(303, wire.get("/queues", idle).status());
    }

    @Test
    void guessingIsSlowedDownAndAGoodTokenIsLetInAllTheSame() {
        open(LINES);
        for (int i = 0; i < 10; i++) {
            Answer wrong = wire.post("/login", "token=" + "w".repeat(40) + i);
            assertEquals(401, wrong.status());
            assertFalse(wrong.body().contains("wwww"), wrong::toString);
        }
        Answer slowed = wire.post("/login", "token=" + "w".repeat(40));
        assertEquals(429, slowed.status());
        assertTrue(Integer.parseInt(slowed.header("retry-after")) > 0);
        assertStrict(slowed);
        assertEquals(303, wire.post("/login", "token=" + VIEWER).status());
        assertTrue(open.isTold("failed logins"));
        assertTrue(open.isTold("login of bob"));
        assertFalse(open.isTold(VIEWER) || open.isTold("wwww"));
        open.time.pass(Duration.ofMinutes(2));
        assertEquals(401, wire.post("/login", "token=").status());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "//evil.example",
                "/\\evil.example",
                "\\\\evil.example",
                "http://evil.example",
                "https:evil.example",
                "javascript:alert(1)",
                "/ok\r\nSet-Cookie: a=b",
                "/\t/evil.example",
                " //evil.example",
                "///evil.example",
                "/ö",
                "evil",
                ""
            })
    void aLoginLeadsToNoOtherSite(String next) {
        open(LINES);
        Answer answer = wire.post("/login", form("token", VIEWER, "next", next));
        assertEquals(303, answer.status());
        assertEquals("/", answer.header("location"), answer::toString);
        assertEquals(1, answer.all("set-cookie").size());
        assertFalse(wire.get("/login?" + form("next", next)).body().contains("evil"), next);
    }

    // ---- forms of others

    @Test
    void aFormNeedsItsOwnToken() {
        open(LINES);
        String cookie = open.logIn(OPERATOR);
        String other = open.logIn(OPERATOR);
        for (String token : new String[] {
            "",
            "made-up",
            open.formToken(other, PAUSE),
            open.formToken(cookie, "/jobs/job/resume"),
            open.formToken(cookie, "/jobs/other/pause"),
            open.formToken(cookie, "/logout"),
            sessionOf(cookie)
        }) {
            Answer answer = wire.post(PAUSE, form("form", token, "for", "DAY"), cookie);
            assertEquals(403, answer.status(), token);
            assertTrue(answer.body().contains("Nothing was changed"), answer::toString);
        }
        assertEquals(403, wire.post(PAUSE, "for=DAY", cookie).status());
        assertEquals(403, wire.post(PAUSE + "?" + pauseForm(cookie), "", cookie).status());
        String stale = pauseForm(cookie);
        wire.post("/logout", form("form", open.formToken(cookie, "/logout")), cookie);
        assertEquals(403, wire.post(PAUSE, stale, open.logIn(OPERATOR)).status());
        assertFalse(isPaused());
    }

    @ParameterizedTest
    @CsvSource({
        "Origin: https://evil.example, ''",
        "Origin: null, ''",
        "Origin: http://localhost, ''",
        "Origin: http://localhost:1, ''",
        "Origin: ::::, ''",
        "Sec-Fetch-Site: cross-site, ''",
        "Sec-Fetch-Site: same-site, ''",
        "Sec-Fetch-Site: nonsense, ''",
        "Sec-Fetch-Site: cross-site, same-origin"
    })
    void aFormOfAnotherSiteIsRefusedThoughItsTokenIsRight(String header, String origin) {
        open(LINES);
        String cookie = open.logIn(OPERATOR);
        String more = origin.isEmpty() ? "X-Nothing: 1" : "Origin: http://" + wire.host();
        Answer answer = wire.post(PAUSE, pauseForm(cookie), cookie, header, more);
        assertEquals(403, answer.status(), answer::toString);
        assertFalse(isPaused());
        assertEquals(403, wire.post("/login", "token=" + VIEWER, header, more).status());
    }

    @ParameterizedTest
    @ValueSource(strings = {"Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: none", "Origin: HOST", "X-Nothing: 1"})
    void aFormOfOursIsTaken(String header) {
        open(LINES);
        String cookie = open.logIn(OPERATOR);
        Answer answer = wire.post(PAUSE, pauseForm(cookie), cookie, header.replace("HOST", "http://" + wire.host()));
        assertEquals(303, answer.status(), answer::toString);
        assertEquals("/jobs/job?said=paused", answer.header("location"));
        assertTrue(isPaused());
        assertEquals(
                "alice@page",
                java.util.Objects.requireNonNull(open.store.pauseOf("job")).by());
    }

    @Test
    void nothingIsChangedByALook() {
        open(LINES);
        String cookie = open.logIn(OPERATOR);
        for (String method : new String[] {"GET", "HEAD", "OPTIONS", "PUT", "DELETE", "PATCH"}) {
            Answer answer = wire.send(method, PAUSE + "?" + pauseForm(cookie), null, cookie);
            assertTrue(answer.status() == 405 || answer.status() == 404 || answer.status() == 200, answer::toString);
        }
        wire.get("/logout?" + form("form", open.formToken(cookie, "/logout")), cookie);
        assertEquals(200, wire.get("/", cookie).status());
        assertFalse(isPaused());
    }

    @Test
    void aFormOfAnotherKindOrSizeIsRefused() {
        open(LINES);
        String cookie = open.logIn(OPERATOR);
        for (String type : new String[] {"text/plain", "application/json", "multipart/form-data; boundary=x"}) {
            Answer answer = wire.post(PAUSE, pauseForm(cookie), cookie, "Content-Type: " + type);
            assertEquals(415, answer.status(), answer::toString);
            assertStrict(answer);
        }
        Answer large = wire.post(PAUSE, pauseForm(cookie) + "&x=" + "y".repeat(70_000), cookie);
        assertEquals(413, large.status(), large::toString);
        assertStrict(large);
        assertEquals(413, wire.post("/login", "token=" + "y".repeat(70_000)).status());
        assertEquals(413, wire.post("/login", "", "Content-Length: 999999999").status());
        assertEquals(
                411,
                wire.post("/login", "5\r\ntoken\r\n0\r\n\r\n", "Transfer-Encoding: chunked")
                        .status());
        Answer reason = wire.post(PAUSE, pauseForm(cookie) + "&reason=" + "r".repeat(501), cookie);
        assertEquals(400, reason.status(), reason::toString);
        Answer many = wire.post("/login", "a=b&".repeat(10_000));
        assertTrue(many.status() == 401 || many.status() == 400 || many.status() == 413, many::toString);
        assertFalse(isPaused());
    }

    // ---- addresses and headers

    @ParameterizedTest
    @ValueSource(
            strings = {
                "/jobs/..%2f..%2fapi",
                "/queues/..%2f..%2fetc%2fpasswd",
                "/queues/%00",
                "/queues/%zz",
                "/queues/%",
                "/queues/%ff",
                "/%2e%2e/waiting",
                "/queues/a%0d%0aSet-Cookie:x",
                "/nothing",
                "/assets/x/..%2f..%2fapplication.properties",
                "/assets/../application.properties",
                "/login?next=%zz",
                "/waiting?said=%zz",
                "/waiting?said=%3Cscript%3Ealert(1)%3C/script%3E",
                "/api",
                "/apix",
                "//waiting",
                "/q"
            })
    void anAddressOfNobodysIsToldInOurWords(String path) {
        open(LINES);
        Answer answer = wire.get(path, open.logIn(VIEWER));
        assertTrue(answer.status() < 500, answer::toString);
        if (answer.status() != 400 || !answer.body().isEmpty()) { // the server refuses a broken escape without a word
            assertStrict(answer);
        }
        assertFalse(answer.header("location").startsWith("//"), answer::toString);
        assertFalse(answer.body().contains("alert(1)"), answer::toString);
        assertEquals("", answer.header("set-cookie"));
    }

    @Test
    void everyAnswerIsStrict() {
        open(LINES);
        String cookie = open.logIn(OPERATOR);
        for (String path : new String[] {
            "/", "/waiting", "/queues", "/login", "/nothing", "/q/../waiting", "/api/../waiting", Assets.JS.address()
        }) {
            assertStrict(wire.get(path, cookie));
            assertStrict(wire.send("HEAD", path, null, cookie));
        }
        assertStrict(wire.post("/waiting", "", cookie));
        assertStrict(wire.get("/" + "x".repeat(5_000)));
        assertEquals("no-store", wire.get("/", cookie).header("cache-control"));
        assertTrue(wire.get(Assets.CSS.address()).header("cache-control").contains("immutable"));
        open.setAway(true);
        Answer away = wire.get("/queues", cookie);
        assertEquals(503, away.status(), away::toString);
        assertStrict(away);
        assertTrue(Integer.parseInt(away.header("refresh")) > 0, away::toString);
        open.setAway(false);
        assertEquals(200, wire.get("/queues", cookie).status());
    }

    @Test
    void aHeadOfAStreamEnds() {
        open(LINES);
        Answer answer = wire.send("HEAD", "/live/waiting", null, open.logIn(VIEWER));
        assertEquals("", answer.body());
    }

    @Test
    void everyLogThatIsOpenedIsClosed() {
        open(LINES);
        AtomicInteger opened = new AtomicInteger();
        AtomicInteger closed = new AtomicInteger();
        open.outputs = attempt -> {
            opened.incrementAndGet();
            return new Outputs.Output() {
                @Override
                public Outputs.@Nullable Piece next() {
                    return null;
                }

                @Override
                public void close() {
                    closed.incrementAndGet();
                }
            };
        };
        open.started("job");
        String tick =
                open.store.page("job", null, List.of(), 1).entries().getFirst().slotKey();
        String cookie = open.logIn(VIEWER);
        for (String method : new String[] {"GET", "HEAD"}) {
            for (String path : new String[] {Links.output("job", tick, 1), Links.tick("job", tick)}) {
                assertEquals(200, wire.send(method, path, null, cookie).status(), path);
            }
        }
        assertTrue(opened.get() >= 3, opened::toString);
        assertEquals(opened.get(), closed.get());
    }

    @Test
    void theSessionIsOfNoUseAtTheApi() {
        open(LINES);
        String cookie = open.logIn(OPERATOR);
        Answer api = wire.get("/api/v1/work/queues", cookie);
        assertTrue(api.status() == 401 || api.status() == 403 || api.status() == 503, api::toString);
        assertEquals("application/problem+json", api.header("content-type"));
        assertEquals("", api.header("set-cookie"));
        assertEquals("", api.header("content-security-policy"));
        Answer health = wire.get("/q/health/live");
        assertTrue(health.header("content-type").contains("json"), health::toString);
        assertNull(page.opened().job("nobody"));
    }
}
