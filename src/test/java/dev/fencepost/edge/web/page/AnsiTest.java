package dev.fencepost.edge.web.page;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.Random;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class AnsiTest {

    private static final Pattern OWN_TAG =
            Pattern.compile("<span class=\"(ctl|(f\\d{1,2})?( ?sb)?( ?su)?( ?sm)?)\">|</span>");

    /** Each {@code ^} is an escape character. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "plain | plain",
                "<script>&\"' | &lt;script&gt;&amp;&quot;&#39;",
                "^[31mred^[0m not | <span class=\"f1\">red</span> not",
                "^[1;4;92mall^[m | <span class=\"f10 sb su\">all</span>",
                "^[38;5;196mcube^[39m | <span class=\"f9\">cube</span>",
                "^[38;5;244mgrey | <span class=\"f8\">grey</span>",
                "^[38;2;0;0;0mtrue | <span class=\"f0\">true</span>",
                "^[38:2::255:0:0mcolons | <span class=\"f9\">colons</span>",
                "^[7minverse^[27m. | <span class=\"sm\">inverse</span>.",
                "^[48;2;1;2;3mground^[49m. | <span class=\"sm\">ground</span>.",
                "^[8mconcealed | concealed",
                "^[38;5mcut short | cut short",
                "^[99999999999999999999mbig | big",
                "^[2Kerased | <span class=\"ctl\">\\x1b[2K</span>erased",
                "^[?25lcursor | <span class=\"ctl\">\\x1b[?25l</span>cursor",
                "^[<1m | <span class=\"ctl\">\\x1b[&lt;1m</span>",
                "^]8;;http://evil | <span class=\"ctl\">\\x1b</span>]8;;http://evil",
                "never ended ^[31 | never ended <span class=\"ctl\">\\x1b</span>[31",
                "^ | <span class=\"ctl\">\\x1b</span>",
            })
    void aLineBecomesHtml(String line, String html) {
        assertEquals(html, new Ansi().html(line.replace('^', '\u001b')));
    }

    @Test
    void whatNobodyWouldSeeIsNamed() {
        assertEquals(
                "a<span class=\"ctl\">\\u202e</span>b<span class=\"ctl\">\\x07</span><span class=\"ctl\">\\x9b</span>"
                        + "<span class=\"ctl\">\\u200b</span><span class=\"ctl\">\\u{e0041}</span>"
                        + "<span class=\"ctl\">\\ud800</span>\t",
                new Ansi().html("a\u202eb\u0007\u009b\u200b\udb40\udc41\ud800\t"));
    }

    @Test
    void aColourHoldsUntilItIsReset() {
        Ansi ansi = new Ansi();
        assertEquals("<span class=\"f2\">one</span>", ansi.html("\u001b[32mone"));
        assertEquals("<span class=\"f2\">two</span>", ansi.html("two"));
        assertEquals("<span class=\"f2\"></span>three", ansi.html("\u001b[0mthree"));
    }

    @Test
    void aParameterWithPartsOfItsOwnIsNoColourOfAnotherOne() {
        assertEquals("x<span class=\"f1\">y</span>", new Ansi().html("\u001b[38;:mx\u001b[31my"));
        assertEquals("z", new Ansi().html("\u001b[38;5;:mz"));
    }

    @Test
    void aSequenceThatIsTooLongIsText() {
        String html = new Ansi().html("\u001b[" + "1;".repeat(40) + "1mx");
        assertTrue(html.startsWith("<span class=\"ctl\">\\x1b</span>[1;1;"), html);
    }

    @Test
    void randomBytesMakeNothingButTextAndItsOwnTags() {
        Random random = new Random(20260329);
        String alphabet = "\u001b\u001b[[[;;m:0123456789<>&\"'/ascript=\u202e\u0000\r\u009b]\\";
        Ansi ansi = new Ansi();
        for (int i = 0; i < 20_000; i++) {
            byte[] bytes = new byte[random.nextInt(60)];
            random.nextBytes(bytes);
            StringBuilder line = new StringBuilder();
            for (byte b : bytes) {
                if (i % 2 == 0) {
                    line.append(alphabet.charAt((b & 0xff) % alphabet.length()));
                }
            }
            String text = i % 2 == 0 ? line.toString() : new String(bytes, StandardCharsets.UTF_8).replace("\n", "");
            String html = ansi.html(text);
            String rest = OWN_TAG.matcher(html).replaceAll("");
            assertFalse(rest.contains("<") || rest.contains(">") || rest.contains("\""), () -> text + " -> " + html);
            assertTrue(rest.codePoints().noneMatch(ShownText::isHidden), () -> text + " -> " + html);
            assertEquals(html.split("<span", -1).length, html.split("</span>", -1).length, () -> text + " -> " + html);
        }
    }
}
