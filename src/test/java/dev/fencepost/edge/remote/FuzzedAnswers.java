package dev.fencepost.edge.remote;

import static dev.fencepost.fuzz.Shape.require;

import java.io.IOException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** What a server answers, or something that stands in its place. */
public final class FuzzedAnswers {

    private FuzzedAnswers() {}

    /** It is read, or it is no answer. */
    public static void take(byte[] input, Path folder) {
        try {
            Fields fields = Fields.parse(input);
            for (Reading reading : new Reading[] {
                () -> fields.text("id"),
                () -> fields.numberIfAny("fence"),
                () -> fields.smallNumber("attempts"),
                () -> fields.truth("done"),
                () -> fields.instantIfAny("until"),
                () -> fields.objectIfAny("item"),
                () -> fields.objects("items"),
                () -> Items.item(fields)
            }) {
                try {
                    reading.read();
                } catch (IOException refused) {
                    require(refused.getMessage() != null, "refused without a word");
                }
            }
        } catch (IOException refused) {
            require(refused.getMessage() != null, "refused without a word");
        }
    }

    private interface Reading {
        @Nullable
        Object read() throws IOException;
    }
}
