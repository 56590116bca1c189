package dev.fencepost.edge.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TrustedRootsTest {

    private static final String OF_THE_HOST = "fencepost.roots";

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    private String host = "";

    @BeforeEach
    void theHostHasItsOwn() throws IOException {
        host = Files.createFile(folder.resolve("host.crt")).toString();
    }

    private @Nullable Path file(Map<String, String> environment, Map<String, String> properties) {
        return TrustedRoots.file(environment, folder, properties::get);
    }

    @Test
    void aPackageTakesThoseOfTheHostWhereTheyAreThere() {
        assertEquals(Path.of(host), file(Map.of(), Map.of(OF_THE_HOST, host)));
        assertNull(file(Map.of(), Map.of(OF_THE_HOST, host + ".not")));
        assertNull(file(Map.of(), Map.of()), "the JDK of a host has its own");
    }

    @Test
    void whatAPersonNamesGoesBefore() {
        assertEquals(folder.resolve("none.pem"), file(Map.of("SSL_CERT_FILE", "none.pem"), Map.of(OF_THE_HOST, host)));
        assertNull(file(Map.of(), Map.of(OF_THE_HOST, host, "javax.net.ssl.trustStore", "other.p12")));
    }

    @Test
    void anEmptyVariableIsNone() {
        assertEquals(Path.of(host), file(Map.of("SSL_CERT_FILE", ""), Map.of(OF_THE_HOST, host)));
    }
}
