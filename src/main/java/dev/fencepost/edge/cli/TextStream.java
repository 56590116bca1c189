package dev.fencepost.edge.cli;

import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.function.UnaryOperator;

/**
 * Bytes on their way to a writer of text: UTF-8, wherever it is cut, a broken one as U+FFFD, each line in a form that the reader bears.
 * For one thread.
 */
final class TextStream extends OutputStream {

    private static final int PIECE = 8 * 1024;

    private final PrintWriter to;
    private final UnaryOperator<String> form;
    private final CharsetDecoder decoder = StandardCharsets.UTF_8
            .newDecoder()
            .onMalformedInput(CodingErrorAction.REPLACE)
            .onUnmappableCharacter(CodingErrorAction.REPLACE);
    private ByteBuffer undecoded = ByteBuffer.allocate(0);

    /** @param form for what stands between two newlines, or a piece of it */
    TextStream(PrintWriter to, UnaryOperator<String> form) {
        this.to = to;
        this.form = form;
    }

    @Override
    public void write(int b) throws IOException {
        write(new byte[] {(byte) b}, 0, 1);
    }

    @Override
    public void write(byte[] bytes, int from, int length) throws IOException {
        ByteBuffer all = ByteBuffer.allocate(undecoded.remaining() + length)
                .put(undecoded)
                .put(bytes, from, length)
                .flip();
        decode(all, false);
        undecoded = all;
        if (to.checkError()) {
            throw new IOException("nobody reads what is written");
        }
    }

    private void decode(ByteBuffer all, boolean last) {
        CharBuffer text = CharBuffer.allocate(PIECE);
        while (decoder.decode(all, text, last).isOverflow()) {
            print(text);
        }
        print(text);
    }

    private void print(CharBuffer text) {
        String piece = text.flip().toString();
        text.clear();
        int from = 0;
        for (int end = piece.indexOf('\n'); end >= 0; end = piece.indexOf('\n', from)) {
            to.print(form.apply(piece.substring(from, end)));
            to.print('\n');
            from = end + 1;
        }
        to.print(form.apply(piece.substring(from)));
    }

    /** At the end: what was kept back since it may have been the beginning of a character. */
    void end() {
        decode(undecoded, true);
        to.flush();
    }

    @Override
    public void flush() {
        to.flush();
    }
}
