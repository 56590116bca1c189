package dev.fencepost.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class SecretsTest {

    @Test
    void everyOccurrenceIsMasked() {
        Secrets secrets = new Secrets(Set.of("CANARY-7f3a"));
        assertEquals("a *** b ******", secrets.masked("a CANARY-7f3a b CANARY-7f3aCANARY-7f3a"));
        assertTrue(secrets.isIn("https://x.example/?t=CANARY-7f3a"));
    }

    @Test
    void whatHoldsNoneIsGivenBackAsItIs() {
        byte[] bytes = {0, (byte) 0xff, 'C', 'A', 'N'};
        assertSame(bytes, new Secrets(Set.of("CANARY")).masked(bytes));
        assertFalse(new Secrets(Set.of()).isIn("anything"));
    }

    @Test
    void overlappingValuesGoTogether() {
        assertEquals("x***y", new Secrets(List.of("abcdef", "defghi", "cdef")).masked("xabcdefghiy"));
    }

    /** A value that begins within another and ends after it is covered to its own end. */
    @Test
    void aValueThatRepeatsWithinItselfIsCoveredWhole() {
        assertEquals("***.", new Secrets(List.of("aaaa")).masked("aaaaaa."));
    }

    @Test
    void eachLineOfAValueCountsAndShortOnesDoNot() {
        Secrets secrets = new Secrets(Set.of("first line\nab\n  second  \n"));
        assertEquals("***|ab|***", secrets.masked("first line|ab|second"));
    }

    @Test
    void bytesThatAreNoTextStayAsTheyAre() {
        byte[] in = new byte[] {(byte) 0x80, 's', 'e', 'c', 'r', 'e', 't', 0, (byte) 0xff};
        byte[] out = new Secrets(Set.of("secret")).masked(in);
        assertEquals(
                new String(new byte[] {(byte) 0x80, '*', '*', '*', 0, (byte) 0xff}, StandardCharsets.ISO_8859_1),
                new String(out, StandardCharsets.ISO_8859_1));
    }
}
