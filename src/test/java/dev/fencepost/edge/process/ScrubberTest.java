package dev.fencepost.edge.process;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ScrubberTest {

    @Test
    void badBytesAndNulBecomeVisibleSigns() {
        byte[] raw = bytes("ok:\u00c3\u00a9 bad:\u00ff\u00fe\u0080 sur:\u00ed\u00a0\u0080 nul:\u0000 lat:\u00e9 end\n");
        assertEquals(
                "ok:é bad:\uFFFD\uFFFD\uFFFD sur:\uFFFD\uFFFD\uFFFD nul:\u2400 lat:\uFFFD end\n",
                scrubbed(List.of(), raw, raw.length));
    }

    @Test
    void escapesAndCarriageReturnsStay() {
        byte[] raw = bytes("\u001b[31mred\u001b[0m\r\n10%\r20%\u0007");
        assertEquals(new String(raw, StandardCharsets.UTF_8), scrubbed(List.of(), raw, 3));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 7, 64, 1000})
    void blockBordersChangeNothing(int block) {
        Random random = new Random(42);
        byte[][] parts = {
            bytes("\u00c3"),
            bytes("\u00a9"),
            bytes("\u00e2\u0082\u00ac"),
            bytes("\u00f0\u009f\u0098\u0080"),
            bytes("\u00f0\u009f"),
            bytes("\u0000"),
            bytes("ab"),
            bytes("\n"),
            bytes("\u00f1\u0080")
        };
        ByteArrayOutputStream raw = new ByteArrayOutputStream();
        for (int i = 0; i < 3000; i++) {
            raw.writeBytes(parts[random.nextInt(parts.length)]);
        }
        String asJavaDecodesIt = raw.toString(StandardCharsets.UTF_8).replace('\0', '\u2400');
        String[] ours = {
            scrubbed(List.of(), raw.toByteArray(), block), scrubbed(List.of("never there"), raw.toByteArray(), block)
        };
        for (String text : ours) {
            int same = 0;
            while (same < Math.min(text.length(), asJavaDecodesIt.length())
                    && text.charAt(same) == asJavaDecodesIt.charAt(same)) {
                same++;
            }
            assertEquals(
                    asJavaDecodesIt.substring(same, Math.min(same + 20, asJavaDecodesIt.length())),
                    text.substring(same, Math.min(same + 20, text.length())),
                    "from character " + same);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 5, 100})
    void secretsAreMaskedWhereverTheBlocksEnd(int block) {
        List<String> secrets = List.of("s3cret", "s3cret-longer", "pässwort");
        assertEquals("a *** b", masked(secrets, "a s3cret b", block));
        assertEquals("the longest wins: ***!", masked(secrets, "the longest wins: s3cret-longer!", block));
        assertEquals("half: s3cre-longer", masked(secrets, "half: s3cre-longer", block));
        assertEquals("before the end ***", masked(secrets, "before the end s3cret", block));
        assertEquals("***-long", masked(secrets, "s3cret-long", block));
        assertEquals("twice ******", masked(secrets, "twice s3crets3cret", block));
        assertEquals("*** s3cre", masked(secrets, "pässwort s3cre", block));
        assertEquals("a s3cs***", masked(secrets, "a s3css3cret", block));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 5, 100})
    void overlappingSecretsGoAltogether(int block) {
        assertEquals("x***y", masked(List.of("abcdef", "defghi"), "xabcdefghiy", block));
        assertEquals("x***y", masked(List.of("aaaa"), "xaaaaaay", block));
    }

    @Test
    void eachLineOfASecretIsMaskedAndShortOnesAreNot() {
        List<String> secrets = List.of("-----BEGIN KEY-----\r\n  abcdEFGH\nxyz\n-----END KEY-----\n", "abc", "    ");
        assertEquals(
                "*** *** xyz abc ***     .",
                masked(secrets, "-----BEGIN KEY----- abcdEFGH xyz abc -----END KEY-----     .", 100));
    }

    private static String masked(List<String> secrets, String text, int block) {
        return scrubbed(secrets, text.getBytes(StandardCharsets.UTF_8), block);
    }

    private static String scrubbed(List<String> secrets, byte[] raw, int block) {
        Scrubber scrubber = new Scrubber(secrets);
        ByteArrayOutputStream clean = new ByteArrayOutputStream();
        for (int from = 0; from < raw.length; from += block) {
            byte[] next = java.util.Arrays.copyOfRange(raw, from, Math.min(raw.length, from + block));
            clean.writeBytes(scrubber.next(next, next.length));
        }
        clean.writeBytes(scrubber.end());
        return clean.toString(StandardCharsets.UTF_8);
    }

    private static byte[] bytes(String latin) {
        return latin.getBytes(StandardCharsets.ISO_8859_1);
    }
}
