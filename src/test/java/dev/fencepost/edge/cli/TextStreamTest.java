package dev.fencepost.edge.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.fencepost.host.Printable;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

class TextStreamTest {

    private final StringWriter text = new StringWriter();

    private TextStream stream() {
        return new TextStream(new PrintWriter(text), Printable::text);
    }

    @Test
    void charactersAreWholeWhereverTheBytesAreCut() throws IOException {
        TextStream stream = stream();
        for (byte b : "ä€😀\nz".getBytes(StandardCharsets.UTF_8)) {
            stream.write(b);
        }
        stream.end();
        assertEquals("ä€😀\nz", text.toString());
    }

    @Test
    void controlCharactersAreShownAndNewlinesStay() throws IOException {
        TextStream stream = stream();
        stream.write("a\u001b[2J\tb\r\n\n\u009bc".getBytes(StandardCharsets.UTF_8));
        stream.end();
        assertEquals("a\\x1b[2J\tb\\x0d\n\n\\x9bc", text.toString());
    }

    @Test
    void brokenBytesAreReplacedAlsoAtTheEnd() throws IOException {
        TextStream stream = stream();
        stream.write(new byte[] {'a', (byte) 0xff, 'b', (byte) 0xe2, (byte) 0x82});
        assertEquals("a\uFFFDb", text.toString());
        stream.end();
        assertEquals("a\uFFFDb\uFFFD", text.toString());
    }

    @Test
    void aLongTextComesWhole() throws IOException {
        String whole = "ä".repeat(100_000);
        TextStream stream = stream();
        stream.write(whole.getBytes(StandardCharsets.UTF_8));
        stream.end();
        assertEquals(whole, text.toString());
    }
}
