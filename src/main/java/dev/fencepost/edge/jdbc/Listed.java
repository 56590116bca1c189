package dev.fencepost.edge.jdbc;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import dev.fencepost.work.Body;
import dev.fencepost.work.Grant;
import dev.fencepost.work.ItemResult;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.Collection;
import java.util.HexFormat;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A row of the fragment {@code {listed}}: a grant, and what is handed in or told under it. */
sealed interface Listed {

    Grant grant();

    record Result(ItemResult of) implements Listed {
        @Override
        public Grant grant() {
            return of.grant();
        }
    }

    /** @param newest token of the item, if it is a newer one */
    record Told(
            Grant grant,
            boolean accepted,
            String reason,
            @Nullable Long newest) implements Listed {}

    JsonFactory JSON = new JsonFactory();

    /** The value of {@code :listed}. */
    static Params params(Collection<? extends Listed> rows) {
        StringWriter text = new StringWriter();
        try (JsonGenerator json = JSON.createGenerator(text)) {
            json.writeStartArray();
            for (Listed row : rows) {
                json.writeStartObject();
                Grant grant = row.grant();
                json.writeStringField("id", grant.id());
                json.writeStringField("owner", grant.owner().text());
                json.writeNumberField("fence", grant.fence().value());
                write(json, "run_id", grant.runId());
                switch (row) {
                    case Result(ItemResult of) -> {
                        Body result = of.result();
                        write(
                                json,
                                "result",
                                result == null ? null : HexFormat.of().formatHex(result.bytes()));
                        write(json, "result_type", result == null ? null : result.type());
                    }
                    case Told told -> {
                        json.writeBooleanField("accepted", told.accepted());
                        json.writeStringField("reason", told.reason());
                        if (told.newest() != null) {
                            json.writeNumberField("newest", told.newest());
                        }
                    }
                }
                json.writeEndObject();
            }
            json.writeEndArray();
        } catch (IOException impossible) {
            throw new UncheckedIOException(impossible); // it is written to memory
        }
        return Params.of("listed", text.toString());
    }

    static Params results(List<ItemResult> results) {
        return params(results.stream().map(Result::new).toList());
    }

    /** Where it is about the items alone. */
    static Params grants(List<ItemResult> results) {
        return results(
                results.stream().map(each -> new ItemResult(each.grant(), null)).toList());
    }

    private static void write(JsonGenerator json, String name, @Nullable Object value) throws IOException {
        if (value != null) {
            json.writeStringField(name, value.toString());
        }
    }
}
