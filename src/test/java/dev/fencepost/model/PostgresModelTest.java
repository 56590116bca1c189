package dev.fencepost.model;

import dev.fencepost.store.PostgresSite;
import dev.fencepost.store.Site;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.TestInstance;

@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class PostgresModelTest extends ModelTest {

    private final PostgresSite site = new PostgresSite();

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
        return 40;
    }
}
