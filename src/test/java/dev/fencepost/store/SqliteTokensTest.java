package dev.fencepost.store;

import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;

class SqliteTokensTest extends TokensContract {

    private static SqliteSite site;

    @BeforeAll
    static void open(@TempDir Path folder) {
        site = new SqliteSite(folder);
    }

    @AfterAll
    static void close() {
        site.close();
    }

    @Override
    Site site() {
        return site;
    }
}
