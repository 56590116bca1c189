package dev.fencepost.edge.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@SuppressWarnings("NullAway.Init")
class ApiInTheFileTest {

    @TempDir
    Path dir;

    private Reading read(String api) throws IOException {
        return Readings.of(dir, "jobs: {}\n" + api + "\n");
    }

    @Test
    void withoutTheKeyTheApiIsOff() throws IOException {
        assertNull(Readings.accepted(read("")).api());
    }

    @Test
    void theTokenFileIsFoundFromTheFile() throws IOException {
        ApiSettings api = Objects.requireNonNull(
                Readings.accepted(read("api: { token-file: tokens }")).api());
        assertEquals(dir.resolve("tokens"), api.tokenFile());
        assertEquals(1L << 30, api.maxArtifactBytes());
        assertEquals(List.of(), api.artifactTypes());
    }

    @Test
    void sizeAndTypesOfArtifactsAreRead() throws IOException {
        ApiSettings api = Objects.requireNonNull(Readings.accepted(read(
                        "api: { token-file: /t, artifacts: { max-size: 20 MiB, types: [text/plain, 'image/*'] } }"))
                .api());
        assertEquals(20L << 20, api.maxArtifactBytes());
        assertEquals(List.of("text/plain", "image/*"), api.artifactTypes());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "api: {}                                                      | token-file",
                "api: on                                                      | mapping",
                "api: { tokenfile: t }                                        | did you mean token-file?",
                "api: { token-file: '' }                                      | empty",
                "api: { token-file: t, port: 1 }                              | unknown",
                "api: { token-file: t, artifacts: { max-size: 10 } }          | unit",
                "api: { token-file: t, artifacts: { max-size: 0MiB } }        | no size",
                "api: { token-file: t, artifacts: { max-size: 2000GiB } }     | too large",
                "api: { token-file: t, artifacts: { types: text/plain } }     | list",
                "api: { token-file: t, artifacts: { types: [] } }             | list",
                "api: { token-file: t, artifacts: { types: ['*/*'] } }        | media type",
            })
    void whatIsWrongIsToldInThePlaceWhereItStands(String api, String part) throws IOException {
        List<String> errors = Readings.texts(read(api).errors());
        assertEquals(1, errors.size(), () -> "" + errors);
        assertTrue(errors.getFirst().startsWith("2:") && errors.getFirst().contains(part), () -> "" + errors);
    }
}
