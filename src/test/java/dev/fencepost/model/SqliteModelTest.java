package dev.fencepost.model;

import dev.fencepost.store.Site;
import dev.fencepost.store.SqliteSite;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class SqliteModelTest extends ModelTest {

    private final SqliteSite site;

    SqliteModelTest(@TempDir Path folder) {
        site = new SqliteSite(folder);
    }

    @AfterAll
    void close() {
        site.close();
    }

    @Override
    Site site() {
        return site;
    }

    @Override
    int seeds() {
        return 150;
    }
}
