package dev.fencepost.edge.web.page;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.util.DefaultIndenter;
import com.fasterxml.jackson.core.util.DefaultPrettyPrinter;
import java.io.IOException;
import java.io.StringWriter;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/**
 * A run's result for people.
 *
 * @param text empty where it is no text
 * @param bytes size of the whole
 * @param cut whether only its beginning is in the text
 */
record ResultText(String text, int bytes, boolean cut) {

    static final int MOST_BYTES = 64 * 1024;

    /** Indented, it may be that long; deeper nesting would fill the page with blanks. */
    private static final int MOST_INDENTED = 4 * MOST_BYTES;

    private static final JsonFactory JSON = new JsonFactory();

    static ResultText of(byte[] result) {
        boolean cut = result.length > MOST_BYTES;
        int end = cut ? beginOfCharacter(result, MOST_BYTES) : result.length;
        String text;
        try {
            text = StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(result, 0, end))
                    .toString();
        } catch (CharacterCodingException noText) {
            return new ResultText("", result.length, false);
        }
        if (text.indexOf('\0') >= 0) {
            return new ResultText("", result.length, false);
        }
        return new ResultText(ShownText.of(cut ? text : indented(text)), result.length, cut);
    }

    boolean isText() {
        return bytes == 0 || !text.isEmpty();
    }

    private static int beginOfCharacter(byte[] bytes, int at) {
        int begin = at;
        while (begin > 0 && (bytes[begin] & 0xc0) == 0x80) {
            begin--;
        }
        return begin;
    }

    /** JSON with its lines broken and indented, its numbers as exact as they are written; any other text as it is. */
    private static String indented(String text) {
        String begin = text.stripLeading();
        if (!begin.startsWith("{") && !begin.startsWith("[")) {
            return text;
        }
        StringWriter out = new StringWriter();
        DefaultPrettyPrinter printer = new DefaultPrettyPrinter();
        printer.indentArraysWith(DefaultIndenter.SYSTEM_LINEFEED_INSTANCE);
        try (JsonParser parser = JSON.createParser(text);
                JsonGenerator generator = JSON.createGenerator(out).setPrettyPrinter(printer)) {
            int depth = 0;
            for (JsonToken token = parser.nextToken(); token != null; token = parser.nextToken()) {
                if (token.isNumeric()) {
                    generator.writeNumber(parser.getText()); // as it is written: nobody calculates with it here
                } else {
                    generator.copyCurrentEvent(parser);
                }
                depth += token.isStructStart() ? 1 : token.isStructEnd() ? -1 : 0;
                if (out.getBuffer().length() > MOST_INDENTED || depth == 0 && parser.nextToken() != null) {
                    return text;
                }
            }
        } catch (IOException noJson) {
            return text;
        }
        return out.toString();
    }
}
