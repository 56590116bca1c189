package dev.fencepost.browser;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.faults.Scene;
import dev.fencepost.faults.ServeProcess;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** The way of somebody who sees the page for the first time: the quickstart, and what a hand can do there. */
@Tag("browser")
@ExtendWith(NeedsChromium.class)
class ShowsIT {

    @TempDir
    Path folder;

    @Test
    void fromTheLoginToARunThatIsFollowedLive() {
        try (Scene scene = Scene.sqlite(folder)) {
            scene.jobs(Town.quickstart(scene, ""));
            ServeProcess service = scene.serve("a").awaitReady();
            try (Browser browser = Browser.on(service.port())) {
                browser.go("/");
                assertTrue(browser.address().startsWith("/login"), browser::address);
                Axe.check(browser, "login");
                browser.screenshot("login-light");
                browser.logIn(Town.OPERATOR, "/");
                browser.mark();
                browser.awaitText("morning");
                Axe.check(browser, "overview");
                browser.checkWidth();
                browser.screenshot("overview-light");
                browser.phone().checkWidth();
                browser.screenshot("overview-phone");
                browser.desk().scheme("dark");
                Axe.check(browser, "overview, dark");
                browser.screenshot("overview-dark");
                assertTrue(browser.isMarked());
                browser.checkQuiet();
            }
        }
    }
}
