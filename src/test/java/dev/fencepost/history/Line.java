package dev.fencepost.history;

import com.fasterxml.jackson.databind.JsonNode;
import org.jspecify.annotations.Nullable;

/**
 * One line of a history.
 *
 * @param file its name without folder
 * @param number from 1
 */
public record Line(String file, int number, JsonNode json) {

    /** Milliseconds of the boot clock. */
    public long up() {
        return number("up");
    }

    public boolean is(String what) {
        return what.equals(text("what"));
    }

    boolean isRowOf(String table) {
        return is("row") && table.equals(text("table"));
    }

    public boolean has(String name) {
        return json.hasNonNull(name);
    }

    /** Empty where there is none. */
    public String text(String name) {
        return json.path(name).asText("");
    }

    public long number(String name) {
        JsonNode value = json.path(name);
        if (!value.isNumber()) {
            throw new IllegalArgumentException("no number " + name + " in " + this);
        }
        return value.longValue();
    }

    @Nullable
    Long numberOrNull(String name) {
        return has(name) ? Long.valueOf(number(name)) : null;
    }

    /** SQLite has 0 and 1 for it. */
    boolean truth(String name) {
        JsonNode value = json.path(name);
        return value.isBoolean() ? value.booleanValue() : value.asInt() != 0;
    }

    /** As it is shown in evidence. */
    @Override
    public String toString() {
        return file + ":" + number + ": " + json;
    }
}
