package dev.fencepost.edge.notify;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import dev.fencepost.run.Notifier.Occasion;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Something to tell a person once, in the forms of a webhook and of a mail. It holds no output of a run.
 *
 * @param slot key of the slot that it is about, or null
 * @param attempt of that slot, or null
 * @param outcome of the tick; for an effect its state; or null
 * @param failuresInARow failed ticks, 0 after a success; null where it is about something else
 * @param node id of the node that tells it
 */
record Notice(
        Occasion occasion,
        String job,
        @Nullable String slot,
        @Nullable Integer attempt,
        @Nullable String outcome,
        @Nullable String reason,
        @Nullable Integer failuresInARow,
        Instant at,
        String node) {

    private static final JsonFactory JSON = new JsonFactory();
    private static final int LONGEST_LINE = 200;

    String event() {
        return occasion.name().toLowerCase(Locale.ROOT);
    }

    /** The same for each try to send it. */
    Map<String, String> headers() {
        Map<String, String> headers = new TreeMap<>();
        headers.put("Idempotency-Key", job + "/" + event() + "@" + at + (slot == null ? "" : "/" + slot));
        headers.put("Fencepost-Event", event());
        headers.put("Fencepost-Job", job);
        if (slot != null) {
            headers.put("Fencepost-Slot", slot);
        }
        return headers;
    }

    byte[] json() {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try (JsonGenerator json = JSON.createGenerator(out)) {
            json.writeStartObject();
            json.writeStringField("event", event());
            json.writeStringField("job", job);
            json.writeStringField("slot", slot);
            number(json, "attempt", attempt);
            json.writeStringField("outcome", outcome);
            json.writeStringField("reason", reason);
            number(json, "failures_in_a_row", failuresInARow);
            json.writeStringField("at", at.toString());
            json.writeStringField("node", node);
            json.writeEndObject();
        } catch (IOException e) {
            throw new UncheckedIOException("memory takes every byte", e);
        }
        return out.toByteArray();
    }

    private static void number(JsonGenerator json, String name, @Nullable Integer value) throws IOException {
        if (value == null) {
            json.writeNullField(name);
        } else {
            json.writeNumberField(name, value);
        }
    }

    /** With its header, as {@code sendmail -t} reads it. */
    byte[] mail(List<String> to) {
        StringBuilder text = new StringBuilder();
        text.append("To: ").append(String.join(", ", to)).append('\n');
        text.append("Subject: [fencepost] ").append(sentence()).append('\n');
        text.append("Auto-Submitted: auto-generated\n");
        text.append("MIME-Version: 1.0\n");
        text.append("Content-Type: text/plain; charset=UTF-8\n");
        text.append("Content-Transfer-Encoding: 8bit\n\n");
        text.append(sentence()).append(".\n\n");
        line(text, "job", job);
        line(text, "slot", slot);
        line(text, "attempt", attempt);
        line(text, "outcome", outcome);
        line(text, "reason", reason);
        line(text, "at", at);
        line(text, "node", node);
        text.append('\n').append(advice()).append('\n');
        return text.toString().getBytes(StandardCharsets.UTF_8);
    }

    private String sentence() {
        return switch (occasion) {
            case START -> job + " has begun";
            case SUCCESS -> job + " has succeeded";
            case FAILURE ->
                failuresInARow != null && failuresInARow > 1
                        ? job + " has failed " + failuresInARow + " times in a row"
                        : job + " has failed";
            case RECOVERY -> job + " works again";
            case PAUSED -> job + " is paused";
            case WAITING -> "an effect of " + job + " waits for a person";
        };
    }

    private String advice() {
        return switch (occasion) {
            case PAUSED -> "fencepost why " + job + " tells more; fencepost resume " + job + " lets it run again.";
            case WAITING -> "fencepost effects list --waiting tells more.";
            default -> "fencepost history " + job + " tells more.";
        };
    }

    private static void line(StringBuilder text, String name, @Nullable Object value) {
        if (value == null) {
            return;
        }
        text.append(name).append(": ");
        value.toString()
                .codePoints()
                .limit(LONGEST_LINE)
                .map(c -> Character.isISOControl(c) || Character.getType(c) == Character.SURROGATE ? ' ' : c)
                .forEach(text::appendCodePoint);
        text.append('\n');
    }
}
