package dev.fencepost.edge.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.edge.Assembly;
import dev.fencepost.edge.host.StateDirectory;
import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.run.RetentionPolicy;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CleanUpTest {

    @Test
    void ofACrontabsRunsTheNewestStay(@TempDir Path dir) throws Exception {
        Workplace workplace = new Workplace(dir);
        for (int i = 0; i < 6; i++) {
            assertEquals(0, workplace.run("exec", "nightly", "--", "true").exitCode());
        }
        List<String> said = new ArrayList<>();
        Assembly assembly = new Assembly(event -> {});
        try (JdbcStore store = workplace.store();
                OpenedStore opened = new OpenedStore(assembly, store)) {
            StateDirectory directory = StateDirectory.open(dir.resolve("state"), assembly.entropy());
            CleanUp.now(opened, directory, "nightly", RetentionPolicy.DEFAULT, said::add);
            assertEquals(6, store.history("nightly", 10).size());
            Duration year = Duration.ofDays(366);
            CleanUp.now(opened, directory, "nightly", new RetentionPolicy(year, 1, year, year, year), said::add);
            int left = store.history("nightly", 10).size();
            // The newest by its end, and the newest by its slot, which within one second may be another one.
            assertTrue(left == 1 || left == 2, () -> left + " are left");
            assertEquals(6, Objects.requireNonNull(store.inspect("nightly")).fence(), "the token stays");
        }
        assertEquals(List.of(), said);
    }
}
