package dev.fencepost.browser;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.faults.Rows;
import dev.fencepost.faults.Scene;
import dev.fencepost.faults.ServeProcess;
import dev.fencepost.faults.Wait;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.openqa.selenium.By;

/** The way of somebody who sees the page for the first time: the quickstart, and what a hand can do there. */
@Tag("browser")
@ExtendWith(NeedsChromium.class)
class ShowsIT {

    /** Beside the jobs of the quickstart, which are over in a moment: one that writes for some seconds, when somebody orders it. */
    private static final String SLOW = """
              slow:
                cron: "0 0 29 2 *"
                command: |
                  for i in 1 2 3 4 5 6 7 8; do echo "step $i"; sleep 1; done
                  echo "Eight steps." >"$FENCEPOST_RESULT"
            """;

    @TempDir
    Path folder;

    @Test
    void fromTheLoginToARunThatIsFollowedLive() {
        try (Scene scene = Scene.sqlite(folder)) {
            scene.jobs(Town.quickstart(scene, SLOW));
            ServeProcess service = scene.serve("a").awaitReady();
            try (Browser browser = Browser.on(service.port())) {
                browser.go("/");
                assertTrue(browser.address().startsWith("/login"), browser::address);
                browser.logIn(Town.OPERATOR, "/");
                browser.mark();
                browser.await(
                        "a tick of the quickstart",
                        () -> browser.row("tick").getText().contains("succeeded"));
                String before = browser.row("tick").getText();
                browser.await(
                        "the next one", () -> !browser.row("tick").getText().equals(before));
                assertTrue(browser.isMarked(), "seen without loading the page again");

                runsAndEndsOnTheOverview(browser);
                itsOutputIsFollowed(browser);
                pausesAndResumes(browser, scene.rows());
                browser.checkQuiet();
                assertEquals(0, service.linesContaining(" ERROR ").size(), service::said);
            }
        }
    }

    private static void order(Browser browser) {
        browser.go("/");
        browser.link("slow").click();
        browser.press("Run now");
        browser.awaitText("A run is ordered.");
        browser.go("/");
        browser.mark();
        browser.await("a run", () -> browser.row("slow").getText().contains("running"));
    }

    private static void runsAndEndsOnTheOverview(Browser browser) {
        order(browser);
        assertTrue(browser.row("slow").findElement(By.tagName("progress")).isDisplayed(), "its lease");
        browser.await("its end", () -> browser.row("slow").getText().contains("succeeded"));
        assertTrue(browser.isMarked(), "seen without loading the page again");
    }

    private static void itsOutputIsFollowed(Browser browser) {
        order(browser);
        browser.row("slow").findElement(By.cssSelector("a[href*='/ticks/']")).click();
        browser.awaitText("step 1");
        browser.mark();
        assertTrue(!browser.text().contains("step 8"), "it runs");
        browser.awaitText("step 4");
        browser.awaitText("step 8");
        browser.awaitText("Eight steps.");
        browser.awaitText("succeeded");
        assertTrue(browser.isMarked(), "seen without loading the page again");
    }

    private static void pausesAndResumes(Browser browser, Rows rows) {
        browser.go("/");
        browser.link("tick").click();
        browser.press("Pause");
        browser.awaitText("The job is paused");
        browser.go("/");
        browser.await("paused", () -> browser.row("tick").getText().contains("paused"));
        Wait.sleep(Duration.ofSeconds(3)); // a node obeys within two seconds
        int ticks = rows.ticks("tick").size();
        Wait.sleep(Duration.ofSeconds(6)); // longer than from one slot to the next
        assertEquals(ticks, rows.ticks("tick").size(), "nothing is started");
        browser.link("tick").click();
        browser.press("Resume");
        browser.awaitText("The job is resumed");
        Wait.until(Browser.PATIENCE, "a tick", () -> rows.ticks("tick").size() > ticks);
    }
}
