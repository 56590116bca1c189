package dev.fencepost.edge.web.page;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.edge.web.page.Outputs.Output;
import dev.fencepost.edge.web.page.Outputs.Piece;
import dev.fencepost.edge.web.page.Outputs.Source;
import dev.fencepost.host.ManualTime;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class OutputTextTest {

    private static final Instant AT = Instant.parse("2026-03-29T04:30:00.250Z");

    private final Log log = new Log();
    private final OutputText text = new OutputText(
            log, ZoneId.of("Asia/Tokyo"), "/whole?a=1&b=2", new ManualTime(Instant.parse("2026-03-29T04:30:00Z")));

    private static final class Log implements Output {
        private final Deque<Piece> pieces = new ArrayDeque<>();

        void add(Source source, String text, boolean endsLine) {
            pieces.add(new Piece(AT, source, text, endsLine));
        }

        @Override
        public @Nullable Piece next() {
            return pieces.poll();
        }

        @Override
        public void close() {}
    }

    @Test
    void aLineHasItsTimeItsSourceAndItsText() throws IOException {
        log.add(Source.STDOUT, "out <b>", true);
        log.add(Source.STDERR, "trouble\r", true);
        log.add(Source.REMARK, "said by us", true);
        String time = "<time title=\"2026-03-29 13:30:00, UTC 2026-03-29T04:30:00.250Z\">13:30:00</time>";
        assertEquals(
                new OutputText.Part(
                        "<p>" + time + "<b></b><code>out &lt;b&gt;</code></p>"
                                + "<p class=\"err\">" + time + "<b>! err</b><code>trouble</code></p>"
                                + "<p class=\"note\">" + time + "<b>note</b><code>said by us</code></p>",
                        3,
                        0),
                text.end(false));
        assertTrue(text.isExhausted());
        assertEquals("", text.more());
    }

    @Test
    void piecesOfBothStreamsThatInterleaveBecomeWholeLines() throws IOException {
        log.add(Source.STDOUT, "one ", false);
        log.add(Source.STDERR, "bad", true);
        log.add(Source.STDOUT, "line", true);
        String html = text.end(false).html();
        assertTrue(html.contains("<code>one line</code>"), html);
        assertTrue(html.contains("<code>bad</code>"), html);
    }

    @Test
    void aLineWithoutAnEndIsShownAndGoesOnInAnother() throws IOException {
        log.add(Source.STDOUT, "Password: ", false);
        assertTrue(text.end(false).html().contains("<b></b><code>Password: </code>"));
        assertEquals("", text.more());
        log.add(Source.STDOUT, "given", true);
        log.add(Source.STDOUT, "next", true);
        String more = text.more();
        assertTrue(more.contains("<b>↳</b><code>given</code>"), more);
        assertTrue(more.contains("<b></b><code>next</code>"), more);
    }

    @Test
    void anEndThatComesAloneMakesNoLine() throws IOException {
        log.add(Source.STDOUT, "all", false);
        assertEquals(1, text.end(false).lines());
        log.add(Source.STDOUT, "", true);
        assertEquals("", text.more());
    }

    @Test
    void onlyTheLastLinesAreShownAndTheOthersCounted() throws IOException {
        for (int i = 1; i <= OutputText.MOST_LINES + 5; i++) {
            log.add(Source.STDOUT, "line " + i + ".", true);
        }
        OutputText.Part part = text.end(false);
        assertEquals(OutputText.MOST_LINES, part.lines());
        assertEquals(5, part.left());
        assertFalse(part.html().contains("<code>line 5.</code>"));
        assertTrue(part.html().contains("<code>line 6.</code>"));
    }

    @Test
    void aMegabyteInOneLineIsCutWithALinkToTheWhole() throws IOException {
        for (int i = 0; i < 16; i++) {
            log.add(Source.STDOUT, "x".repeat(65_536), i == 15);
        }
        String html = text.end(false).html();
        assertTrue(html.length() < 5_000, () -> html.length() + " characters");
        assertTrue(
                html.contains("<a class=\"cut\" href=\"/whole?a=1&amp;b=2\">… " + (1_048_576 - OutputLines.LONGEST)
                        + " more characters</a>"),
                html.substring(html.length() - 200));
    }

    @Test
    void longLinesAreBoundedTogether() throws IOException {
        for (int i = 0; i < 1_000; i++) {
            log.add(Source.STDOUT, "y".repeat(OutputLines.LONGEST), true);
        }
        OutputText.Part part = text.end(false);
        assertEquals(OutputText.MOST_CHARS / OutputLines.LONGEST, part.lines());
        assertEquals(1_000 - part.lines(), part.left());
    }

    @Test
    void ofAFloodApartIsLeftOutAndThatIsSaid() throws IOException {
        text.end(false);
        for (int i = 0; i < 10_000; i++) {
            log.add(Source.STDOUT, "flood", true);
        }
        String more = text.more();
        assertTrue(more.startsWith("<p class=\"gap\">"), more.substring(0, 80));
        assertTrue(more.contains((10_000 - OutputText.MOST_MORE_LINES) + " lines left out here"));
        assertEquals(OutputText.MOST_MORE_LINES, more.split("<code>", -1).length - 1);
    }

    @Test
    void ofALogThatGrowsNoMoreIsReadThanTimeAllows() throws IOException {
        ManualTime time = new ManualTime(AT);
        Output endless = new Output() {
            @Override
            public Piece next() {
                time.pass(Duration.ofMillis(1));
                return new Piece(AT, Source.STDOUT, "y", true);
            }

            @Override
            public void close() {}
        };
        OutputText growing = new OutputText(endless, ZoneId.of("UTC"), "/whole", time);
        OutputText.Part part = growing.end(true);
        assertTrue(part.lines() + part.left() < 4_000, () -> "read " + part.left() + " lines more than shown");
        assertFalse(growing.isExhausted());
    }

    @Test
    void aTailOfTheStoreIsShownLineByLine() {
        OutputText.Part part = OutputText.ofTail("\u001b[32mgreen\nstill\r\n" + "z".repeat(5_000) + "\n");
        assertEquals(3, part.lines());
        assertTrue(part.html().startsWith("<p><code><span class=\"f2\">green</span></code></p>"), part.html());
        assertTrue(part.html().contains("… 1000 more characters"));
    }
}
