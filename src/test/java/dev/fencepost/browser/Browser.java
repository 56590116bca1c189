package dev.fencepost.browser;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.fencepost.faults.Wait;
import java.io.File;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Stream;
import org.openqa.selenium.By;
import org.openqa.selenium.WebElement;
import org.openqa.selenium.chrome.ChromeDriver;
import org.openqa.selenium.chrome.ChromeDriverService;
import org.openqa.selenium.chrome.ChromeOptions;
import org.openqa.selenium.logging.LogEntry;
import org.openqa.selenium.logging.LogType;
import org.openqa.selenium.logging.LoggingPreferences;

/**
 * A headless Chromium with a fresh profile, which looks at one service on this machine. It cannot reach anything else: no other name has an
 * address for it. What it asked for and what its console said is kept.
 */
final class Browser implements AutoCloseable {

    /** The machine may be busy. */
    static final Duration PATIENCE = Duration.ofSeconds(20);

    private static final Path SCREENSHOTS = Path.of("target/screenshots");

    /** Where Chromium and what comes with it keep things that they would put into the home of whoever runs the tests. */
    private static final String HOME =
            Path.of("target/chromium").toAbsolutePath().toString();

    private static final Path CHROMIUM = onPath("chromium", "chromium-browser");
    private static final Path DRIVER = onPath("chromedriver");
    private static final ObjectMapper JSON = new ObjectMapper();

    /** What a screenshot has at most; a longer page is cut. */
    private static final long MOST_PIXELS_HIGH = 4_000;

    /** It warns that it has no classes for this version's own protocol; none are used. Held, since a logger that nobody holds forgets. */
    private static final Logger SELENIUM = Logger.getLogger("org.openqa.selenium");

    static {
        SELENIUM.setLevel(Level.SEVERE);
    }

    private final ChromeDriver driver;
    private final String base;
    private final Set<String> asked = new TreeSet<>();
    private final List<String> troubles = new ArrayList<>();

    private Browser(ChromeDriver driver, String base) {
        this.driver = driver;
        this.base = base;
    }

    private static Path onPath(String... names) {
        return Stream.of(System.getenv().getOrDefault("PATH", "").split(File.pathSeparator))
                .flatMap(folder -> Stream.of(names).map(name -> Path.of(folder, name)))
                .filter(Files::isExecutable)
                .findFirst()
                .orElse(null);
    }

    /** The program that is not there; empty if all is. */
    static String missing() {
        return CHROMIUM == null ? "chromium" : DRIVER == null ? "chromedriver" : "";
    }

    /** @param port of the service on 127.0.0.1 */
    static Browser on(int port) {
        ChromeOptions options = new ChromeOptions();
        options.setBinary(CHROMIUM.toFile());
        options.addArguments(
                "--headless=new",
                "--no-sandbox", // root has none; the pages are ours
                "--disable-dev-shm-usage",
                "--disable-gpu",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--no-proxy-server",
                "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
                "--force-device-scale-factor=1",
                "--hide-scrollbars",
                "--window-size=1280,900");
        LoggingPreferences logs = new LoggingPreferences();
        logs.enable(LogType.BROWSER, Level.ALL);
        logs.enable(LogType.PERFORMANCE, Level.ALL);
        options.setCapability("goog:loggingPrefs", logs);
        ChromeDriverService service = new ChromeDriverService.Builder()
                .usingDriverExecutable(DRIVER.toFile())
                .usingAnyFreePort()
                .withSilent(true)
                .withEnvironment(Map.of("XDG_CACHE_HOME", HOME, "XDG_CONFIG_HOME", HOME))
                .build();
        return new Browser(new ChromeDriver(service, options), "http://127.0.0.1:" + port);
    }

    ChromeDriver driver() {
        return driver;
    }

    /** Opens an address of the service, from its first slash. */
    Browser go(String address) {
        driver.get(base + address);
        return this;
    }

    /** Path and query of where it is. */
    String address() {
        URI uri = URI.create(driver.getCurrentUrl());
        return uri.getRawPath() + (uri.getRawQuery() == null ? "" : "?" + uri.getRawQuery());
    }

    /** Logs in as a person does, and ends up at the wanted address. */
    Browser logIn(String token, String address) {
        go(address);
        labelled("Token").sendKeys(token);
        press("Log in");
        await("the page behind the login", () -> address().equals(address));
        return this;
    }

    /** The text that a person sees; none between two pages. */
    String text() {
        return driver.findElements(By.tagName("body")).stream()
                .map(WebElement::getText)
                .findFirst()
                .orElse("");
    }

    /** The field with this label. */
    WebElement labelled(String label) {
        return only(By.xpath(
                "//*[@id = //label[normalize-space()=" + quoted(label) + "]/@for or @aria-label=" + quoted(label)
                        + " or ancestor::label[starts-with(normalize-space(), " + quoted(label)
                        + ")]][self::input or self::select or self::textarea]"));
    }

    /** The button with this text, as a person finds it. */
    WebElement button(String text) {
        return only(By.xpath("//button[normalize-space()=" + quoted(text) + "]"));
    }

    void press(String button) {
        button(button).click();
    }

    WebElement link(String text) {
        return only(By.linkText(text));
    }

    /** The row of the job in the table of all of them. */
    WebElement row(String job) {
        return only(By.xpath("//tr[th[@scope='row']//a[normalize-space()=" + quoted(job) + "]]"));
    }

    /** Waits for it: between two pages there is nothing. */
    private WebElement only(By by) {
        List<WebElement> seen = new ArrayList<>();
        await("something for " + by, () -> {
            seen.clear();
            driver.findElements(by).stream().filter(WebElement::isDisplayed).forEach(seen::add);
            return !seen.isEmpty();
        });
        return seen.getFirst();
    }

    private static String quoted(String text) {
        return "\"" + text + "\"";
    }

    /** Waits until the page is so; a page that changes under the look does not count. */
    void await(String what, Callable<Boolean> condition) {
        await(PATIENCE, what, condition);
    }

    void await(Duration limit, String what, Callable<Boolean> condition) {
        Wait.until(limit, () -> what + "; the page " + driver.getCurrentUrl() + " says:\n" + text(), condition);
    }

    void awaitText(String text) {
        await("the text " + text, () -> text().contains(text));
    }

    /** Leaves a mark in the page that is gone when the page is loaded again. */
    void mark() {
        script("window.marked = true");
    }

    boolean isMarked() {
        return Boolean.TRUE.equals(script("return window.marked === true"));
    }

    Object script(String script, Object... arguments) {
        return driver.executeScript(script, arguments);
    }

    /** Runs before anything else in each page that is opened from now on. */
    void beforeEachPage(String script) {
        cdp("Page.addScriptToEvaluateOnNewDocument", Map.of("source", script));
    }

    /** What is asked for at addresses like this one, with stars, does not come through from now on. */
    void refuse(String addresses) {
        cdp("Network.enable", Map.of());
        cdp("Network.setBlockedURLs", Map.of("urls", List.of(addresses)));
    }

    /** No script of a page runs from now on. */
    Browser withoutScripts() {
        cdp("Emulation.setScriptExecutionDisabled", Map.of("value", true));
        return this;
    }

    /** @param scheme light or dark */
    Browser scheme(String scheme) {
        cdp(
                "Emulation.setEmulatedMedia",
                Map.of("features", List.of(Map.of("name", "prefers-color-scheme", "value", scheme))));
        return this;
    }

    Browser desk() {
        cdp("Emulation.clearDeviceMetricsOverride", Map.of());
        return this;
    }

    /** 360 px wide. */
    Browser phone() {
        cdp(
                "Emulation.setDeviceMetricsOverride",
                Map.of("width", 360, "height", 740, "deviceScaleFactor", 1, "mobile", true));
        return this;
    }

    Map<String, Object> cdp(String command, Map<String, Object> parameters) {
        return driver.executeCdpCommand(command, parameters);
    }

    /** Nothing sticks out to the right. */
    void checkWidth() {
        Object wide = script("const wide = [];"
                + "if (document.scrollingElement.scrollWidth > innerWidth) {"
                + "  for (const e of document.querySelectorAll('body *'))"
                + "    if (e.getBoundingClientRect().right > innerWidth + 1)"
                + "      wide.push(e.tagName + '.' + e.className + '#' + e.id + ' ' + e.getBoundingClientRect().right);"
                + "  wide.unshift(document.scrollingElement.scrollWidth + ' > ' + innerWidth);"
                + "} return wide.slice(0, 12)");
        assertEquals(List.of(), wide, () -> "wider than the screen: " + address());
    }

    /** Writes target/screenshots/NAME.png: the whole page. */
    void screenshot(String name) {
        Map<?, ?> size = (Map<?, ?>) cdp("Page.getLayoutMetrics", Map.of()).get("cssContentSize");
        Map<String, Object> clip = Map.of(
                "x",
                0,
                "y",
                0,
                "width",
                size.get("width"),
                "height",
                Math.min(MOST_PIXELS_HIGH, ((Number) size.get("height")).longValue()),
                "scale",
                1);
        Object data = cdp("Page.captureScreenshot", Map.of("clip", clip, "captureBeyondViewport", true))
                .get("data");
        try {
            Files.createDirectories(SCREENSHOTS);
            Files.write(SCREENSHOTS.resolve(name + ".png"), Base64.getDecoder().decode((String) data));
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Every address that was asked for over the network so far, by whatever part of a page. */
    Set<String> asked() {
        for (LogEntry entry : driver.manage().logs().get(LogType.PERFORMANCE)) {
            try {
                JsonNode message = JSON.readTree(entry.getMessage()).path("message");
                String method = message.path("method").asText();
                if (method.equals("Network.requestWillBeSent") || method.equals("Network.webSocketCreated")) {
                    JsonNode parameters = message.path("params");
                    asked.add(parameters
                            .path("request")
                            .path("url")
                            .asText(parameters.path("url").asText()));
                }
            } catch (JsonProcessingException e) {
                throw new IllegalStateException(e);
            }
        }
        return asked;
    }

    /** Errors and warnings of the console so far, among them what the content security policy stopped. */
    List<String> troubles() {
        for (LogEntry entry : driver.manage().logs().get(LogType.BROWSER)) {
            if (entry.getLevel().intValue() >= Level.WARNING.intValue()) {
                troubles.add(entry.getMessage());
            }
        }
        return troubles;
    }

    /** Nothing was asked of another host, and the console is silent. */
    void checkQuiet() {
        List<String> elsewhere = asked().stream()
                .filter(each -> !each.startsWith(base + "/") && !each.startsWith("data:"))
                .toList();
        assertEquals(List.of(), elsewhere, "asked of another host");
        List<String> said = List.copyOf(troubles());
        troubles.clear();
        assertEquals(List.of(), said, "the console is silent");
    }

    @Override
    public void close() {
        driver.quit();
    }
}
