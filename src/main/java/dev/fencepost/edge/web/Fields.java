package dev.fencepost.edge.web;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The JSON object of a request, read strictly: UTF-8, one flat object (but for a list of such objects, where one is known), no unknown and no
 * doubled field, nothing after it. A field that is null counts as absent. Everything that is wrong is a {@link Problem} 400 that names the
 * field.
 */
final class Fields {

    private static final JsonFactory JSON = new JsonFactory();
    private static final int UUID_LENGTH = 36;

    private final Map<String, Object> values = new LinkedHashMap<>();
    private final Set<String> seen = new HashSet<>();

    private Fields() {}

    /** A value of a shape that no field has; the word is for the message. */
    private record Shape(String word) {}

    /** A field that holds a list of objects, from 1 to {@code most}, each with these fields. */
    record ListField(String name, int most, List<String> known) {}

    static Fields read(byte[] body, List<String> known) {
        return read(body, known, null);
    }

    static Fields read(byte[] body, ListField list) {
        return read(body, List.of(list.name()), list);
    }

    private static Fields read(byte[] body, List<String> known, @Nullable ListField list) {
        String text;
        try {
            text = StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(body))
                    .toString();
        } catch (CharacterCodingException e) {
            throw Problem.badRequest("the body is not UTF-8");
        }
        try (JsonParser json = JSON.createParser(text)) {
            Fields fields = new Fields();
            JsonToken first = json.nextToken();
            if (first != JsonToken.START_OBJECT) {
                throw Problem.badRequest(
                        first == null
                                ? "the body is empty; it must be a JSON object"
                                : "the body must be a JSON object");
            }
            fields.fill(json, known, list);
            if (json.nextToken() != null) {
                throw Problem.badRequest("there is something after the JSON object");
            }
            return fields;
        } catch (JsonProcessingException e) { // its own message may repeat what stands there
            JsonLocation at = e.getLocation();
            throw Problem.badRequest("the body is not JSON"
                    + (at == null ? "" : ": line " + at.getLineNr() + ", column " + at.getColumnNr()));
        } catch (IOException e) {
            throw new UncheckedIOException(e); // it is read from memory
        }
    }

    private void fill(JsonParser json, List<String> known, @Nullable ListField list) throws IOException {
        while (json.nextToken() == JsonToken.FIELD_NAME) {
            String name = json.currentName();
            if (!known.contains(name)) {
                throw Problem.badRequest(
                        "the field " + Words.quoted(name) + " is unknown; known here: " + String.join(", ", known));
            }
            if (!seen.add(name)) {
                throw Problem.badRequest("the field " + name + " is given twice");
            }
            JsonToken token = json.nextToken();
            Object value = list != null && list.name().equals(name) && token == JsonToken.START_ARRAY
                    ? objects(json, list)
                    : value(json, token);
            if (value != null) {
                values.put(name, value);
            }
        }
    }

    private static List<Fields> objects(JsonParser json, ListField list) throws IOException {
        List<Fields> objects = new ArrayList<>();
        while (json.nextToken() != JsonToken.END_ARRAY) {
            if (objects.size() == list.most()) {
                throw Problem.badRequest("the field " + list.name() + " has more than " + list.most() + " entries");
            }
            if (json.currentToken() != JsonToken.START_OBJECT) {
                throw Problem.badRequest(list.name() + "[" + objects.size() + "] must be an object");
            }
            Fields fields = new Fields();
            try {
                fields.fill(json, list.known(), null);
            } catch (Problem problem) {
                throw problem.within(list.name(), objects.size());
            }
            objects.add(fields);
        }
        return objects;
    }

    private static @Nullable Object value(JsonParser json, JsonToken token) throws IOException {
        return switch (token) {
            case VALUE_STRING -> json.getText();
            case VALUE_TRUE -> Boolean.TRUE;
            case VALUE_FALSE -> Boolean.FALSE;
            case VALUE_NULL -> null;
            case VALUE_NUMBER_INT ->
                json.getNumberType() == JsonParser.NumberType.BIG_INTEGER
                        ? new Shape("number out of every range")
                        : json.getLongValue();
            case VALUE_NUMBER_FLOAT -> new Shape("number that is not whole");
            case START_ARRAY -> {
                json.skipChildren();
                yield new Shape("list");
            }
            default -> {
                json.skipChildren();
                yield new Shape("object");
            }
        };
    }

    /** Something of each entry of a list; what is wrong with one is told with its place, from 0. */
    <T> List<T> each(String name, Function<Fields, T> reading) {
        Object value = values.get(name);
        if (value == null) {
            throw Problem.badRequest("the field " + name + " is missing");
        }
        if (!(value instanceof List<?> objects)) {
            throw wrong(name, "a list of objects", value);
        }
        if (objects.isEmpty()) {
            throw Problem.badRequest("the field " + name + " is an empty list");
        }
        List<T> read = new ArrayList<>();
        for (Object each : objects) {
            try {
                read.add(reading.apply((Fields) each));
            } catch (Problem problem) {
                throw problem.within(name, read.size());
            }
        }
        return read;
    }

    boolean has(String name) {
        return values.containsKey(name);
    }

    String text(String name) {
        String text = textOrNull(name);
        if (text == null) {
            throw Problem.badRequest("the field " + name + " is missing");
        }
        return text;
    }

    @Nullable
    String textOrNull(String name) {
        Object value = values.get(name);
        if (value == null) {
            return null;
        }
        if (!(value instanceof String text)) {
            throw wrong(name, "a text", value);
        }
        if (!Words.isWellFormed(text)) {
            throw Problem.badRequest("the field " + name + " has half of a surrogate pair, which is no character");
        }
        return text;
    }

    /** A text without control characters. */
    String name(String name) {
        String text = text(name);
        if (Words.hasControls(text)) {
            throw Problem.badRequest("the field " + name + " has a control character");
        }
        return text;
    }

    @Nullable
    Long number(String name, long least, long most) {
        Object value = values.get(name);
        if (value == null) {
            return null;
        }
        if (!(value instanceof Long number)) {
            throw wrong(name, "a whole number", value);
        }
        if (number < least || number > most) {
            throw Problem.badRequest("the field " + name + " is " + number + ", out of range: the least is " + least
                    + ", the most " + most);
        }
        return number;
    }

    /** A field that must be there, but may be null. */
    @Nullable
    Long numberOrNull(String name, long least, long most) {
        if (!seen.contains(name)) {
            throw Problem.badRequest("the field " + name + " is missing; write a number or null");
        }
        return number(name, least, most);
    }

    boolean flag(String name) {
        Object value = values.get(name);
        if (value == null) {
            return false;
        }
        if (!(value instanceof Boolean flag)) {
            throw wrong(name, "true or false", value);
        }
        return flag;
    }

    @Nullable
    Instant instant(String name) {
        String text = textOrNull(name);
        if (text == null) {
            return null;
        }
        try {
            return Instant.parse(text);
        } catch (DateTimeException e) {
            throw Problem.badRequest(
                    name + ": " + Words.quoted(text) + " is no instant; write one such as 2026-03-29T01:00:00Z");
        }
    }

    Duration duration(String name, Duration least, Duration most) {
        return Durations.parse(name, text(name), least, most);
    }

    UUID uuid(String name) {
        return uuid(name, text(name));
    }

    static UUID uuid(String name, String text) {
        try {
            if (text.length() == UUID_LENGTH) { // shorter forms are taken too, else
                return UUID.fromString(text);
            }
        } catch (IllegalArgumentException e) {
            // told below
        }
        throw Problem.badRequest(
                name + ": " + Words.quoted(text) + " is no UUID; send the run_id of the claim's answer");
    }

    /** Bytes given as {@code name}, a text, or as {@code name_base64}; null if neither is there. */
    byte @Nullable [] bytes(String name) {
        String base64 = textOrNull(name + "_base64");
        String text = textOrNull(name);
        if (base64 == null) {
            return text == null ? null : text.getBytes(StandardCharsets.UTF_8);
        }
        if (text != null) {
            throw Problem.badRequest("give " + name + " or " + name + "_base64, not both");
        }
        try {
            return Base64.getDecoder().decode(base64);
        } catch (IllegalArgumentException e) {
            throw Problem.badRequest("the field " + name + "_base64 is not Base64");
        }
    }

    private static Problem wrong(String name, String wanted, Object value) {
        String found = switch (value) {
            case String text -> "a text";
            case Long number -> "a number";
            case Boolean flag -> "true or false";
            case Shape shape -> "a " + shape.word();
            default -> "something else";
        };
        return Problem.badRequest("the field " + name + " must be " + wanted + ", not " + found);
    }
}
