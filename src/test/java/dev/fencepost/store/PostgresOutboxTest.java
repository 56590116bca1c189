package dev.fencepost.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.effect.EffectState;
import dev.fencepost.effect.Pair;
import dev.fencepost.lease.Lease;
import dev.fencepost.run.Completed;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class PostgresOutboxTest extends OutboxContract {

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

    /** Semantics 5.8. On SQLite transactions come one after the other, so it cannot happen there. */
    @Test
    void aSlowTransactionWithASmallerIdIsNotLost() throws Exception {
        site.sql("create function slow() returns trigger language plpgsql as"
                + " $$ begin perform pg_advisory_xact_lock(4711); return new; end $$");
        site.sql("create trigger slow before insert on effect for each row when (new.name = 'slow')"
                + " execute function slow()");
        Pair slow = newPair();
        Pair fast = new Pair(slow.sink(), newName());
        Lease slowRun = run(slow);
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            Future<Completed> answer;
            String second;
            site.sql("select pg_advisory_lock(4711)");
            try {
                answer = threads.submit(
                        () -> store().complete(slowRun, announcing(announcement("slow", "slow-one", slow, "x"))));
                while (site.count("pg_locks where locktype = 'advisory' and not granted") == 0) {
                    assertTrue(!answer.isDone(), "it did not wait");
                    Thread.onSpinWait();
                }
                second = announced(fast);
                assertEquals(second, bring(fast, EffectState.CONFIRMED));
            } finally {
                site.sql("select pg_advisory_unlock(4711)");
            }
            assertEquals(new Completed.Stored(), answer.get());
            assertTrue(id("slow-one") < id(second), "its row was numbered first");
            assertEquals("slow-one", due(slow));
        } finally {
            site.sql("drop function slow cascade");
        }
    }

    private static long id(String key) {
        return Long.parseLong(site.value("select id from effect where key = '" + key + "'"));
    }
}
