package dev.fencepost.edge.remote;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigInteger;
import java.time.DateTimeException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A JSON object of the API. A field that is not there counts as null; one that nobody asks for does no harm, so that a newer server is
 * understood.
 */
record Fields(Map<String, @Nullable Object> values) {

    private static final JsonFactory FACTORY = JsonFactory.builder()
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .streamReadConstraints(StreamReadConstraints.builder()
                    .maxNestingDepth(16)
                    .maxStringLength(20 << 20)
                    .build())
            .build();

    /** @throws IOException if the bytes are not one JSON object */
    static Fields parse(byte[] json) throws IOException {
        try (JsonParser parser = FACTORY.createParser(json)) {
            parser.nextToken();
            Fields fields = of(value(parser), "the answer");
            if (parser.nextToken() != null) {
                throw new IOException("text after the end of the answer");
            }
            return fields;
        }
    }

    /** Of names and values in turn; a null leaves the field out. Values are texts, numbers, truths, and lists of objects written so. */
    static byte[] write(@Nullable Object... namesAndValues) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (JsonGenerator json = FACTORY.createGenerator(bytes)) {
            write(json, namesAndValues);
        } catch (IOException impossible) {
            throw new UncheckedIOException(impossible);
        }
        return bytes.toByteArray();
    }

    private static void write(JsonGenerator json, @Nullable Object[] namesAndValues) throws IOException {
        json.writeStartObject();
        for (int i = 0; i + 1 < namesAndValues.length; i += 2) {
            Object value = namesAndValues[i + 1];
            if (value == null) {
                continue;
            }
            json.writeFieldName(String.valueOf(namesAndValues[i]));
            switch (value) {
                case Boolean truth -> json.writeBoolean(truth);
                case Integer number -> json.writeNumber(number);
                case Long number -> json.writeNumber(number);
                case List<?> objects -> {
                    json.writeStartArray();
                    for (Object each : objects) {
                        write(json, (Object[]) each);
                    }
                    json.writeEndArray();
                }
                default -> json.writeString(value.toString());
            }
        }
        json.writeEndObject();
    }

    private static @Nullable Object value(JsonParser parser) throws IOException {
        return switch (parser.currentToken()) {
            case START_OBJECT -> {
                Map<String, @Nullable Object> object = new LinkedHashMap<>();
                while (parser.nextToken() != JsonToken.END_OBJECT) {
                    String name = parser.currentName();
                    parser.nextToken();
                    object.put(name, value(parser));
                }
                yield object;
            }
            case START_ARRAY -> {
                List<@Nullable Object> array = new ArrayList<>();
                while (parser.nextToken() != JsonToken.END_ARRAY) {
                    array.add(value(parser));
                }
                yield array;
            }
            case VALUE_STRING -> parser.getText();
            case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT -> parser.getNumberValue();
            case VALUE_TRUE -> Boolean.TRUE;
            case VALUE_FALSE -> Boolean.FALSE;
            case VALUE_NULL -> null;
            case null, default -> throw new IOException("the answer is no JSON object");
        };
    }

    @SuppressWarnings("unchecked")
    private static Fields of(@Nullable Object value, String what) throws IOException {
        if (value instanceof Map<?, ?> object) {
            return new Fields((Map<String, @Nullable Object>) object);
        }
        throw new IOException(what + " is no JSON object");
    }

    @Nullable
    String textIfAny(String name) throws IOException {
        return switch (values.get(name)) {
            case null -> null;
            case String text -> text;
            default -> throw new IOException("\"" + name + "\" is no text");
        };
    }

    String text(String name) throws IOException {
        return present(name, textIfAny(name));
    }

    @Nullable
    Long numberIfAny(String name) throws IOException {
        return switch (values.get(name)) {
            case null -> null;
            case Integer number -> number.longValue();
            case Long number -> number;
            case BigInteger large ->
                throw new IOException("\"" + name + "\" is too large: " + large.bitLength() + " bits");
            default -> throw new IOException("\"" + name + "\" is no whole number");
        };
    }

    long number(String name) throws IOException {
        return present(name, numberIfAny(name));
    }

    int smallNumber(String name) throws IOException {
        long number = number(name);
        if (number != (int) number) {
            throw new IOException("\"" + name + "\" is too large");
        }
        return (int) number;
    }

    boolean truth(String name) throws IOException {
        return switch (values.get(name)) {
            case Boolean truth -> truth;
            case null -> throw new IOException("\"" + name + "\" is missing");
            default -> throw new IOException("\"" + name + "\" is neither true nor false");
        };
    }

    @Nullable
    Instant instantIfAny(String name) throws IOException {
        String text = textIfAny(name);
        try {
            return text == null ? null : Instant.parse(text);
        } catch (DateTimeException e) {
            throw new IOException("\"" + name + "\" is no instant", e);
        }
    }

    Instant instant(String name) throws IOException {
        return present(name, instantIfAny(name));
    }

    @Nullable
    Fields objectIfAny(String name) throws IOException {
        Object value = values.get(name);
        return value == null ? null : of(value, "\"" + name + "\"");
    }

    List<Fields> objects(String name) throws IOException {
        if (!(values.get(name) instanceof List<?> list)) {
            throw new IOException("\"" + name + "\" is no list");
        }
        List<Fields> objects = new ArrayList<>();
        for (Object each : list) {
            objects.add(of(each, "an entry of \"" + name + "\""));
        }
        return objects;
    }

    private static <T> T present(String name, @Nullable T value) throws IOException {
        if (value == null) {
            throw new IOException("\"" + name + "\" is missing");
        }
        return value;
    }
}
