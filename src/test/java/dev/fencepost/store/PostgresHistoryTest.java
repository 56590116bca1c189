package dev.fencepost.store;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** In a database that sorts texts by a language, as servers often do: so {@code /}, {@code .} and letters lie otherwise than by their codes. */
class PostgresHistoryTest extends HistoryContract {

    private static PostgresSite site;

    @BeforeAll
    static void open() {
        site = new PostgresSite(Postgres.newSortedDatabase());
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
