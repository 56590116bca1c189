package dev.fencepost.browser;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpServer;
import dev.fencepost.faults.Proxy;
import dev.fencepost.faults.Scene;
import dev.fencepost.faults.ServeProcess;
import dev.fencepost.store.Postgres;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** The page on a bad day: its store, its service or its live connection is away, or somebody else's page sends its forms. */
@Tag("browser")
@ExtendWith(NeedsChromium.class)
class TroubleIT {

    /** A service of which nothing is heard at first may be a busy one: a process starts, and a browser asks again every few seconds. */
    private static final Duration RECOVERY = Duration.ofSeconds(60);

    private static final String TICK = """
            jobs:
              tick:
                every: 1s
                command: ["true"]
            """;

    /** Timers of the page run ten times as fast, so that nobody waits for a refresh. */
    private static final String HASTE = """
            for (const name of ['setInterval', 'setTimeout']) {
              const real = window[name];
              window[name] = (act, millis, ...more) => real(act, millis / 10, ...more);
            }
            """;

    @TempDir
    Path folder;

    /** The row of the job, which a job of every second changes all the time. */
    private static String row(Browser browser) {
        return browser.row("tick").getText();
    }

    private static void awaitChange(Browser browser) {
        String before = row(browser);
        browser.await(RECOVERY, "a change of the row", () -> !row(browser).equals(before));
    }

    @Test
    void aStoreThatIsAwayIsToldAndComesBackByItself() {
        Postgres.Database database = Postgres.newDatabase();
        try (Proxy proxy = new Proxy(database.port());
                Scene scene = Scene.postgres(folder, database, proxy.port())) {
            scene.jobs(TICK);
            ServeProcess service = scene.serve("a").awaitReady();
            try (Browser browser = Browser.on(service.port())) {
                browser.go("/");
                browser.mark();
                awaitChange(browser);
                proxy.mode(Proxy.Mode.CUT);
                browser.await(
                        RECOVERY,
                        "a word about the store",
                        () -> browser.text().contains("The store has not answered since"));
                assertTrue(row(browser).contains("tick"), "what was known stays");
                Axe.check(browser, "overview without a store");
                browser.screenshot("store-away-light");
                browser.phone().checkWidth();
                browser.desk();

                proxy.mode(Proxy.Mode.PASS);
                browser.await(
                        RECOVERY,
                        "the store is back",
                        () -> !browser.text().contains("The store has not answered since"));
                awaitChange(browser);
                assertTrue(browser.isMarked(), "all of this without loading the page again");
                browser.checkQuiet();
            }
        }
    }

    @Test
    void aServiceThatIsStartedAgainIsFollowedAgain() {
        try (Scene scene = Scene.sqlite(folder)) {
            scene.jobs(TICK);
            ServeProcess service = scene.serve("a").awaitReady();
            try (Browser browser = Browser.on(service.port())) {
                browser.go("/");
                browser.mark();
                awaitChange(browser);
                service.signal("TERM");
                assertEquals(0, service.awaitExit(Duration.ofSeconds(20)), service::said);
                browser.awaitText("No connection; trying again.");
                ServeProcess next = scene.serve("a", service.port()).awaitReady();
                browser.await(RECOVERY, "the connection", () -> !browser.text().contains("No connection"));
                awaitChange(browser);
                assertTrue(browser.isMarked(), "all of this without loading the page again");
                assertTrue(next.isAlive());
            }
        }
    }

    @Test
    void whereEventsDoNotComeThroughThePageIsRefreshed() {
        try (Scene scene = Scene.sqlite(folder)) {
            scene.jobs(TICK);
            ServeProcess service = scene.serve("a").awaitReady();
            try (Browser browser = Browser.on(service.port())) {
                browser.beforeEachPage(HASTE + "delete window.EventSource;");
                browser.go("/");
                browser.mark();
                awaitChange(browser);
                awaitChange(browser);
                assertTrue(browser.isMarked(), "only what is in the page was fetched");
                assertFalse(
                        browser.asked().stream().anyMatch(each -> each.contains("/live")), browser.asked()::toString);
                browser.checkQuiet();
            }
            try (Browser browser = Browser.on(service.port())) {
                browser.beforeEachPage(HASTE);
                browser.refuse("*/live*");
                browser.go("/");
                browser.mark();
                awaitChange(browser);
                awaitChange(browser);
                assertTrue(browser.isMarked());
            }
        }
    }

    @Test
    void fiveHundredJobsAreOnePageAndAFilterFindsTen() {
        try (Scene scene = Scene.sqlite(folder)) {
            scene.jobs("jobs:\n"
                    + IntStream.range(0, 500)
                            .mapToObj(i -> "  job-%03d: { every: 1h, command: [\"true\"] }\n".formatted(i))
                            .collect(Collectors.joining()));
            ServeProcess service = scene.serve("a").awaitReady();
            try (Browser browser = Browser.on(service.port())) {
                browser.go("/");
                assertEquals(500, shown(browser));
                long millis = ((Number) browser.script(
                                "return Math.round(performance.getEntriesByType('navigation')[0].domComplete)"))
                        .longValue();
                assertTrue(millis < 5_000, () -> "even on a busy machine, not " + millis + " ms");
                browser.checkWidth();
                browser.phone().checkWidth();
                browser.desk().labelled("Job or schedule").sendKeys("job-49");
                browser.await("ten jobs", () -> shown(browser) == 10);
                browser.screenshot("many-light");
                browser.checkQuiet();
            }
        }
    }

    private static long shown(Browser browser) {
        return ((Number) browser.script("return [...document.querySelectorAll('th[scope=row] a[href^=\"/jobs/job-\"]')]"
                        + ".filter(each => each.checkVisibility()).length"))
                .longValue();
    }

    /** Another port of this machine is another origin, but the same site: the browser sends the cookie along. */
    @Test
    void aFormOfAnotherPageChangesNothing() throws IOException {
        try (Scene scene = Scene.sqlite(folder)) {
            scene.jobs(TICK + Town.tokens(scene));
            ServeProcess service = scene.serve("a").awaitReady();
            HttpServer other = foreign(service.port());
            try (Browser browser = Browser.on(service.port())) {
                browser.logIn(Town.OPERATOR, "/");
                for (String form : new String[] {"/logout", "/jobs/tick/pause"}) {
                    browser.driver()
                            .get("http://127.0.0.1:" + other.getAddress().getPort() + "/?" + form);
                    browser.press("Win a prize");
                    browser.awaitText("sent by a page of another site. Nothing was changed");
                    assertEquals(form, browser.address());
                }
                browser.go("/");
                assertEquals("/", browser.address(), "still logged in");
                assertEquals("0", scene.rows().value("select count(*) from job_event where kind = 'PAUSED'"));
            } finally {
                other.stop(0);
            }
        }
    }

    /** A page whose form goes to this address of ours, which stands behind its question mark. */
    private static HttpServer foreign(int port) throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", exchange -> {
            byte[] page = ("<!DOCTYPE html><title>Prizes</title><form method=post action='http://127.0.0.1:" + port
                            + exchange.getRequestURI().getQuery() + "'><button>Win a prize</button></form>")
                    .getBytes(StandardCharsets.UTF_8);
            exchange.getResponseHeaders().add("Content-Type", "text/html");
            exchange.sendResponseHeaders(200, page.length);
            exchange.getResponseBody().write(page);
            exchange.close();
        });
        server.start();
        return server;
    }
}
