package dev.fencepost.browser;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.faults.Receiver;
import dev.fencepost.faults.Scene;
import dev.fencepost.faults.ServeProcess;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.openqa.selenium.By;
import org.openqa.selenium.Keys;
import org.openqa.selenium.WebElement;
import org.openqa.selenium.interactions.Actions;

/** Each page with one job of each kind: for eyes, for phones, for keyboards, without scripts, with a wrong clock, with hostile texts. */
@Tag("browser")
@ExtendWith(NeedsChromium.class)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class PagesIT {

    private static final String DAY_MILLIS = "86400000";

    /** What a keyboard reaches on a page, and how it looks there. */
    private record Stop(String what, boolean visible) {}

    private Receiver deaf;
    private Scene scene;
    private ServeProcess service;
    private Browser browser;

    @BeforeAll
    void settle(@TempDir Path folder) {
        deaf = new Receiver();
        scene = Scene.sqlite(folder);
        scene.jobs(Town.jobs(scene, deaf));
        service = scene.serve("a").awaitReady();
        Town.settle(scene, service);
        browser = Browser.on(service.port()).logIn(Town.OPERATOR, "/");
    }

    @AfterAll
    void end() {
        if (browser != null) {
            browser.close();
        }
        scene.close();
        deaf.close();
    }

    private String tick(String job) {
        return "/jobs/" + job + "/ticks/" + scene.rows().ticks(job).getFirst().key();
    }

    Stream<Map.Entry<String, String>> pages() {
        return Stream.of(
                Map.entry("overview", "/"),
                Map.entry("job", "/jobs/article"),
                Map.entry("job-running", "/jobs/long"),
                Map.entry("job-paused", "/jobs/morning"),
                Map.entry("job-failing", "/jobs/broken"),
                Map.entry("tick", tick("article")),
                Map.entry("tick-running", tick("long")),
                Map.entry("tick-effect", tick("note")),
                Map.entry("tick-hostile", tick("hostile")),
                Map.entry("waiting", "/waiting"),
                Map.entry("queues", "/queues"),
                Map.entry("queue", "/queues/pages"));
    }

    @ParameterizedTest
    @MethodSource("pages")
    void aPageIsForEverybody(Map.Entry<String, String> page) {
        String name = page.getKey();
        browser.desk().scheme("light").go(page.getValue());
        assertEquals(page.getValue(), browser.address());
        assertFalse(browser.driver().getTitle().startsWith("Not found"), browser::text);
        browser.screenshot(name + "-light");
        Axe.check(browser, name + ", light");
        browser.checkWidth();
        browser.scheme("dark").screenshot(name + "-dark");
        browser.phone().screenshot(name + "-phone");
        browser.checkWidth();
        Axe.check(browser, name + ", dark, on a phone");
        browser.checkQuiet();
    }

    @Test
    void hostileTextsAreOnlyShown() {
        try (Browser browser = Browser.on(service.port()).logIn(Town.OPERATOR, "/")) {
            browser.beforeEachPage("window.alert = () => { window.struck = true; };");
            for (String address :
                    List.of(tick("hostile"), "/jobs/hostile", "/jobs/morning", "/waiting", "/queues/pages", "/")) {
                browser.go(address);
                assertEquals(Boolean.FALSE, browser.script("return window.struck === true"), address);
                assertEquals(1L, browser.script("return document.scripts.length"), address);
                assertEquals(1L, browser.script("return document.querySelectorAll('h1').length"), address);
                assertEquals(0L, browser.script("return document.querySelectorAll('img').length"), address);
            }
            browser.go(tick("hostile"));
            browser.awaitText("<script>alert(1)</script>");
            browser.awaitText("the end");
            assertEquals(
                    Boolean.FALSE,
                    browser.script(
                            "return /[\\u0000\\u001b\\u202e]/.test(document.querySelector('[role=log]').textContent)"),
                    "control characters are told, not passed on");
            browser.checkWidth();
            browser.checkQuiet();
        }
    }

    @Test
    void aKeyboardReachesEverythingAndItIsSeenWhereOneIs() {
        browser.desk().scheme("light").go("/");
        List<Stop> overview = stops();
        assertEquals("To the content", overview.getFirst().what());
        for (String wanted : List.of("Jobs", "Waiting for you 3", "Work queues", "Log out", "article", "morning")) {
            assertTrue(overview.stream().anyMatch(stop -> stop.what().equals(wanted)), () -> wanted + ": " + overview);
        }
        assertTrue(overview.stream().anyMatch(stop -> stop.what().startsWith("Job or schedule")), overview::toString);
        browser.go("/jobs/article");
        List<Stop> job = stops();
        for (String wanted : List.of("Run now", "Pause")) {
            assertTrue(job.stream().anyMatch(stop -> stop.what().equals(wanted)), () -> wanted + ": " + job);
        }
        for (List<Stop> each : List.of(overview, job)) {
            assertEquals(
                    List.of(), each.stream().filter(stop -> !stop.visible()).toList(), "focus is seen");
        }
    }

    /** From the top of the page by the tabulator, until it leaves the page. */
    private List<Stop> stops() {
        List<Stop> stops = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            new Actions(browser.driver()).sendKeys(Keys.TAB).perform();
            List<?> at = (List<?>) browser.script("""
                    const e = document.activeElement;
                    if (!e || e === document.body) return null;
                    const style = getComputedStyle(e);
                    const box = e.getBoundingClientRect();
                    const name = e.getAttribute('aria-label') || e.innerText || e.getAttribute('placeholder') || e.id;
                    return [name.trim().replace(/\\s+/g, ' '),
                      style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2
                        && box.width > 0 && box.right > 0 && box.bottom > 0 && box.top < innerHeight];
                    """);
            if (at == null) {
                return stops;
            }
            stops.add(new Stop(String.valueOf(at.getFirst()), Boolean.TRUE.equals(at.getLast())));
        }
        throw new AssertionError("the tabulator does not come to an end: " + stops);
    }

    @Test
    void whoHasTheFocusKeepsItWhenThePageChanges() {
        browser.desk().go("/");
        WebElement row = browser.row("long");
        String before = row.getText();
        row.findElement(By.tagName("a")).sendKeys("");
        browser.script("document.querySelector('a[href=\"/jobs/long\"]').focus()");
        browser.await(
                "a change of the row", () -> !browser.row("long").getText().equals(before));
        assertEquals("/jobs/long", browser.script("return document.activeElement.getAttribute('href')"));
    }

    /** A browser keeps what was left for the way back, and has six connections to a host: more live pages than that must not block it. */
    @Test
    void aPageThatWasLeftHoldsNoConnectionAndLivesAgainOnTheWayBack() {
        browser.desk().scheme("light");
        for (int i = 0; i < 5; i++) {
            for (String address : List.of("/", "/jobs/long")) {
                browser.go(address);
                long millis = ((Number) browser.script(
                                "return Math.round(performance.getEntriesByType('navigation')[0].loadEventEnd)"))
                        .longValue();
                assertTrue(millis < 10_000, () -> address + " took " + millis + " ms");
            }
        }
        browser.driver().navigate().back();
        browser.await("the overview", () -> browser.address().equals("/"));
        String before = browser.row("long").getText();
        browser.await(
                "a change of the row", () -> !browser.row("long").getText().equals(before));
    }

    @Test
    void withoutScriptsThePagesAreReadAndTheButtonsWork() {
        try (Browser browser = Browser.on(service.port()).withoutScripts().logIn(Town.OPERATOR, "/")) {
            assertTrue(browser.row("article").getText().contains("succeeded"), browser::text);
            browser.link("article").click();
            browser.awaitText("History");
            browser.press("Pause");
            assertTrue(browser.button("Resume").isDisplayed(), "the page after an order is newer than the order");
            assertEquals(
                    "1", scene.rows().value("select count(*) from job_event where job = 'article' and reason is null"));
            browser.press("Resume");
            assertTrue(browser.button("Pause").isDisplayed());
            browser.go(tick("article"));
            assertTrue(browser.text().contains("warning: no picture"), browser::text);
            assertTrue(browser.text().contains("An article of 800 words."), browser::text);
            browser.press("Log out");
            browser.awaitText("Token");
        }
    }

    @Test
    void aBrowserWhoseClockIsWrongByADayCountsRight() {
        for (String wrong : List.of("+ " + DAY_MILLIS, "- " + DAY_MILLIS)) {
            try (Browser browser = Browser.on(service.port())) {
                browser.beforeEachPage("const Right = Date; window.Date = class extends Right {"
                        + "  constructor(...a) { if (a.length) super(...a); else super(Right.now() " + wrong + "); }"
                        + "  static now() { return Right.now() " + wrong + "; } };");
                browser.logIn(Town.OPERATOR, "/");
                String row = browser.row("article").getText();
                assertTrue(row.matches("(?s).*\\bin [45]\\d min .*"), row); // its next slot is an hour after its first
                assertTrue(row.matches("(?s).*\\b(\\d+ s|[1-9] min( \\d+ s)?) ago\\b.*"), row);
            }
        }
    }

    @Test
    void whoMayOnlyLookSeesNoButtonsAndAWrongTokenIsTold() {
        try (Browser browser = Browser.on(service.port())) {
            browser.go("/jobs/article");
            browser.labelled("Token").sendKeys("no such token");
            browser.press("Log in");
            browser.awaitText("there is no such token");
            Axe.check(browser, "a refused login");
            browser.screenshot("login-light");
            browser.logIn(Town.READER, "/jobs/article");
            assertEquals(
                    List.of(),
                    browser.driver().findElements(By.xpath("//button[.='Run now' or .='Pause' or .='Resume']")));
        }
    }

    @Test
    void anAddressOfNothingSaysSo() {
        for (String address : List.of(
                "/nothing",
                "/jobs/nobody",
                "/jobs/..%2f..%2fetc%2fpasswd",
                "/queues/nobody",
                "/jobs/article/ticks/never")) {
            browser.desk().scheme("light").go(address);
            assertTrue(browser.link("All jobs").isDisplayed(), address);
            Axe.check(browser, address);
        }
        browser.screenshot("missing-light");
        browser.troubles().clear(); // each was told there, as it should be
    }
}
