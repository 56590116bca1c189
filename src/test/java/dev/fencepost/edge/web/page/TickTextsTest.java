package dev.fencepost.edge.web.page;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.schedule.Slot;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TickTextsTest {

    @Test
    void slotsAreNamedByInstantsAndOrders() {
        assertEquals(Slot.at(Instant.parse("2026-03-29T01:00:00Z")), TickFacts.slot("2026-03-29T01:00:00Z"));
        String order = "manual:2026-03-29T01:00:00Z/ab";
        assertEquals(new Slot(order, Instant.parse("2026-03-29T01:00:00Z")), TickFacts.slot(order));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "now",
                "../../etc/passwd",
                "manual:x/y",
                "+1000000000-12-31T23:59:59Z",
                "-0001-01-01T00:00:00Z",
                "manual:2026-03-29T01:00:00Z/\u0000"
            })
    void anyOtherTextIsNoSlot(String text) {
        assertNull(TickFacts.slot(text));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", " ", "a\u0000", "a\nb"})
    void noJobHasSuchAName(String id) {
        assertFalse(TickFacts.mayBeJob(id));
    }

    @Test
    void addressesKeepTheirSlashesEncoded() {
        String key = "manual:2026-03-29T01:00:00Z/a b";
        assertEquals("/jobs/j/ticks/manual:2026-03-29T01:00:00Z%2Fa%20b", Links.tick("j", key));
        assertEquals("/jobs/j/output/manual:2026-03-29T01:00:00Z%2Fa%20b?attempt=2", Links.output("j", key, 2));
    }

    @Test
    void onlyPagesBecomeLinks() {
        assertEquals(
                List.of(
                        new Effects.Part("201, Location: ", ""),
                        new Effects.Part("https://blog.example/p/7?x=1", "https://blog.example/p/7?x=1"),
                        new Effects.Part(".", "")),
                Effects.parts("201, Location: https://blog.example/p/7?x=1."));
        for (String other : List.of(
                "javascript:alert(1)",
                "commit abc on main",
                "https://good.example@evil.example/",
                "http:///nowhere",
                "file:///etc/passwd")) {
            assertEquals(List.of(new Effects.Part(other, "")), Effects.parts(other), other);
        }
    }

    @Test
    void jsonIsIndentedAndKeepsItsNumbers() {
        ResultText text = ResultText.of("{\"a\":[1.10,1e400],\"b\":\"<\"}".getBytes(StandardCharsets.UTF_8));
        assertTrue(text.text().contains("\n"), text.text());
        assertTrue(text.text().contains("1.10") && text.text().contains("1e400"), text.text());
        assertFalse(text.cut());
    }

    @Test
    void aNumberThatNobodyCanCalculateWithIsShownAsItIsWritten() {
        ResultText text = ResultText.of("{\"a\":0e9999999990}".getBytes(StandardCharsets.UTF_8));
        assertTrue(text.text().contains("0e9999999990"), text.text());
    }

    @Test
    void whatIsNoJsonStaysAsItIs() {
        for (String other : List.of("plain", "{broken", "[1] trailing", "{\"a\":1}{\"b\":2}", "")) {
            assertEquals(
                    other, ResultText.of(other.getBytes(StandardCharsets.UTF_8)).text());
        }
    }

    @Test
    void deepNestingDoesNotFillThePageWithBlanks() {
        String deep = "{\"a\":".repeat(900) + "[" + "1,".repeat(20_000) + "1]" + "}".repeat(900);
        assertEquals(deep, ResultText.of(deep.getBytes(StandardCharsets.UTF_8)).text());
    }

    @Test
    void aBigResultIsCutBetweenCharactersAndABinaryOneIsNotShown() {
        byte[] big = "é".repeat(40_000).getBytes(StandardCharsets.UTF_8);
        ResultText cut =
                ResultText.of(("x" + new String(big, StandardCharsets.UTF_8)).getBytes(StandardCharsets.UTF_8));
        assertTrue(cut.cut() && cut.isText());
        assertTrue(cut.text().endsWith("é"));
        assertFalse(ResultText.of(new byte[] {(byte) 0xff, 1}).isText());
        assertFalse(ResultText.of(new byte[] {'a', 0}).isText());
    }
}
