package dev.fencepost.edge.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;

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
        for (int i = 0; i < 3; i++) {
            assertEquals(0, workplace.run("exec", "nightly", "--", "true").exitCode());
        }
        List<String> said = new ArrayList<>();
        Assembly assembly = new Assembly(event -> {});
        try (JdbcStore store = workplace.store();
                OpenedStore opened = new OpenedStore(assembly, store)) {
            StateDirectory directory = StateDirectory.open(dir.resolve("state"), assembly.entropy());
            CleanUp.now(opened, directory, "nightly", RetentionPolicy.DEFAULT, said::add);
            assertEquals(3, store.history("nightly", 10).size());
            Duration year = Duration.ofDays(366);
            CleanUp.now(opened, directory, "nightly", new RetentionPolicy(year, 2, year, year, year), said::add);
            assertEquals(2, store.history("nightly", 10).size());
            assertEquals(3, Objects.requireNonNull(store.inspect("nightly")).fence(), "the token stays");
        }
        assertEquals(List.of(), said);
    }
}
