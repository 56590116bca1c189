package dev.fencepost.history;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The table counts what the histories say. Quotes in the lines are single ones here. */
class FiguresTest {

    private static final String OWNER = "n/b/1/77/5/x";

    @TempDir
    @SuppressWarnings("NullAway.Init")
    Path folder;

    private static String attempt(
            String store, String slot, int number, int fence, String outcome, long start, long end) {
        return "{'up':9000,'what':'row','store':'" + store + "','table':'attempt','run_id':'r" + fence
                + "','job':'j','slot_key':'" + slot + "','number':" + number + ",'fence':" + fence + ",'owner':'"
                + OWNER
                + "','started_at':" + start + ",'ended_at':" + end + ",'outcome':'" + outcome + "'}\n";
    }

    private static String tick(String slot, long at, String outcome) {
        return "{'up':9000,'what':'row','store':'main','table':'tick','job':'j','slot_key':'" + slot + "','slot_at':"
                + at + ",'outcome':'" + outcome + "'}\n";
    }

    private static String request(String key, String answer) {
        return "{'up':100,'what':'request','sink':'k','checks':true,'resource':'j','token':1,'run':'r1','key':'" + key
                + "','body':'b','answer':'" + answer + "'}\n";
    }

    @Test
    void everyThingIsCountedOnce() throws IOException {
        String lines = "{'up':0,'what':'clock','wall':1000000}\n"
                + "{'up':1,'what':'job','job':'j','ttl':3000,'interval':1000,'from':1001000}\n"
                + "{'up':1,'what':'sink','sink':'k','checks':true}\n"
                + "{'up':8000,'what':'settled','until':1004000}\n"
                + "{'up':1500,'what':'kill','pid':77}\n"
                + "{'up':7000,'what':'promoted'}\n"
                + tick("s0", 1000000, "SUCCEEDED")
                + tick("s1", 1001000, "SUCCEEDED")
                + tick("s3", 1003000, "DROPPED").replace("'outcome'", "'range_first':1002000,'outcome'")
                + attempt("main", "s0", 1, 1, "SUCCEEDED", 1000000, 1000500)
                + attempt("main", "s1", 1, 2, "ABANDONED", 1001200, 1004400)
                + attempt("main", "s1", 2, 3, "SUCCEEDED", 1004400, 1005400)
                + attempt("lost", "s1", 3, 4, "SUCCEEDED", 1004400, 1005400)
                + request("j@s1/e", "taken")
                + request("j@s1/e", "again")
                + request("j@s0/e", "refused")
                + "{'up':9000,'what':'row','store':'main','table':'effect','sink':'k','state':'CONFIRMED'}\n"
                + "{'up':9000,'what':'row','store':'main','table':'write_event','accepted':false,'reason':'EXPIRED'}\n"
                + "{'up':200,'what':'answer','operation':'renew','stale':true,'accepted':false,'reason':'EXPIRED'}\n"
                + "{'up':200,'what':'answer','operation':'renew','stale':false,'accepted':true}\n"
                + "{'up':201,'what':'an";
        Files.writeString(folder.resolve("h.jsonl"), lines.replace('\'', '"'));
        List<String> page =
                Figures.of(History.read(folder), "a title", List.of()).lines().toList();

        assertEquals("### a title", page.getFirst());
        // Slots 1 to 4 are due; slot 0 is before what counts, and slot 4 has no row.
        assertHas(page, "| j | 4 | 2 DROPPED, 1 NONE, 1 SUCCEEDED | 1 (0) | 2 | 1 | 0.0 s |");
        assertHas(page, "| k, checks | 3 | 1 (0) | 1 | 1 | 1 CONFIRMED |");
        assertHas(page, "Writes refused by the store: 1 (1 EXPIRED).");
        assertHas(page, "| renew | 1 | 0 | 1 EXPIRED |");
        assertHas(page, "Promotions: 1. Successes that a lost primary alone had: 1.");
        assertHas(page, "| j@s1 | 4 | ABANDONED under 2, SUCCEEDED under 3 |");
        assertHas(
                page,
                "Slots of dead holders that were tried again: 1; from the holder's end to the next grant: median 2.9 s,"
                        + " longest 2.9 s; ttl + poll is 4.0 s.");
        assertHas(page, "| 2.5 s | 1 | # |");
        assertTrue(page.stream().anyMatch(line -> line.contains("1 torn by kills. Violations: 0.")), page::toString);
    }

    private static void assertHas(List<String> page, String line) {
        assertTrue(page.contains(line), () -> "no line " + line + " in\n" + String.join("\n", page));
    }
}
