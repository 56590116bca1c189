package dev.fencepost.store;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

class PostgresAuditTest extends AuditContract {

    private static PostgresSite site;

    @BeforeAll
    static void open() {
        site = new PostgresSite();
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
