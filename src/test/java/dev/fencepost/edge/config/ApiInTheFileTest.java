package dev.fencepost.edge.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.host.AddressRange;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
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

    @Test
    void proxiesAreAddressesAndRanges() throws IOException {
        ApiSettings api = Objects.requireNonNull(
                Readings.accepted(read("api: { token-file: /t, trusted-proxies: [127.0.0.1, '::1', 10.0.0.0/8] }"))
                        .api());
        assertEquals(
                List.of(AddressRange.parse("127.0.0.1"), AddressRange.parse("::1"), AddressRange.parse("10.0.0.0/8")),
                api.trustedProxies());
        assertEquals(
                List.of(),
                Objects.requireNonNull(Readings.accepted(read("api: { token-file: /t }"))
                                .api())
                        .trustedProxies());
    }

    @Test
    void itemsOfWorkAreKeptForAWhile() throws IOException {
        assertEquals(Duration.ofDays(30), Readings.accepted(read("")).workKeep());
        assertEquals(Duration.ofDays(30), Readings.accepted(read("work: {}")).workKeep());
        assertEquals(
                Duration.ofDays(7),
                Readings.accepted(read("work: { keep: 7d }")).workKeep());
        assertNull(Readings.accepted(read("work: { keep: none }")).workKeep());
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
                "api: { token-file: t, trusted-proxies: 127.0.0.1 }           | list",
                "api: { token-file: t, trusted-proxies: [] }                  | empty",
                "api: { token-file: t, trusted-proxies: [localhost] }         | no address",
                "api: { token-file: t, trusted-proxies: [10.0.0.0/40] }       | from 1 to 32",
                "api: { token-file: t, trusted-proxies: [0.0.0.0/0] }         | from 1 to 32",
                "work: { keep: 10m }                                          | too short",
                "work: { keep: 30 }                                           | unit",
                "work: { keep: 11y }                                          | unit",
                "work: 30d                                                    | mapping",
                "work: { prune: 30d }                                         | unknown",
            })
    void whatIsWrongIsToldInThePlaceWhereItStands(String api, String part) throws IOException {
        List<String> errors = Readings.texts(read(api).errors());
        assertEquals(1, errors.size(), () -> "" + errors);
        assertTrue(errors.getFirst().startsWith("2:") && errors.getFirst().contains(part), () -> "" + errors);
    }
}
