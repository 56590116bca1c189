package dev.fencepost.edge.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.host.Nearest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Durations, store URLs, places and near words. */
class TextFormsTest {

    private static final Path BASE = Path.of("/srv/jobs");

    @ParameterizedTest
    @CsvSource({
        "90s, PT90S, 1m 30s", "45m, PT45M, 45m", "1h30m, PT1H30M, 1h 30m", "1h 30m, PT1H30M, 1h 30m", "2d, PT48H, 2d",
        "500ms, PT0.5S, 500ms", "PT45M, PT45M, 45m", "P1DT1S, PT24H1S, 1d 1s", "1w, PT168H, 7d", "0s, PT0S, 0s",
        "' 5s ', PT5S, 5s", "90m, PT90M, 1h 30m", "007m, PT7M, 7m", "3650d, PT87600H, 3650d"
    })
    void durationsAreReadAndWrittenBack(String written, Duration duration, String formatted) {
        assertEquals(duration, DurationText.parse(written));
        assertEquals(formatted, DurationText.format(duration));
        assertEquals(duration, DurationText.parse(formatted));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "", " ", "5", "-5s", "+5s", "s", "5 x", "1h1h", "1ms1s", "1h 5", "PT", "P", "P1Y", "PT1H-5M", "3651d",
                "٥m", "5m\0"
            })
    void whatIsNoDurationIsRefused(String written) {
        assertThrows(BadValueException.class, () -> DurationText.parse(written));
    }

    @ParameterizedTest
    @CsvSource({
        "sqlite:x.db, jdbc:sqlite:/srv/jobs/x.db, sqlite:/srv/jobs/x.db",
        "sqlite:/var/x.db, jdbc:sqlite:/var/x.db, sqlite:/var/x.db",
        "sqlite:///var/x.db, jdbc:sqlite:/var/x.db, sqlite:/var/x.db",
        "jdbc:sqlite:../x.db, jdbc:sqlite:/srv/x.db, sqlite:/srv/x.db",
        "postgresql://db/fp, jdbc:postgresql://db/fp, postgresql://db/fp",
        "postgres://db:5433/fp?sslmode=require, jdbc:postgresql://db:5433/fp?sslmode=require, postgresql://db:5433/fp?sslmode=require",
        "'postgresql://me:p%40s@a,b:1/fp', 'jdbc:postgresql://a,b:1/fp?targetServerType=primary', 'postgresql://me:***@a,b:1/fp?targetServerType=primary'",
        "'jdbc:postgresql://a,b/fp?targetServerType=any&user=me&password=x', 'jdbc:postgresql://a,b/fp?targetServerType=any', 'postgresql://me:***@a,b/fp?targetServerType=any'",
        "postgresql://[::1]:5432/fp?sslpassword=x, jdbc:postgresql://[::1]:5432/fp?sslpassword=x, postgresql://[::1]:5432/fp?sslpassword=***",
    })
    void storesAreReadAndShownWithoutPasswords(String written, String jdbcUrl, String display) {
        StoreUrl store = StoreUrl.parse(written, BASE);
        assertEquals(jdbcUrl, store.jdbcUrl());
        assertEquals(display, store.display());
        assertEquals(display, store.toString());
    }

    @Test
    void userAndPasswordStandApart() {
        StoreUrl store = StoreUrl.parse("postgresql://me:p%40s+@x@db/fp", BASE);
        assertEquals("me", store.user());
        assertEquals("p@s+@x", store.password());
        assertEquals(StoreUrl.Kind.POSTGRESQL, store.kind());
        assertNull(StoreUrl.parse("postgresql://me@db/fp", BASE).password());
        assertEquals(
                Path.of("/state/fencepost.db"),
                StoreUrl.inStateDir(Path.of("/state")).file());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "x.db",
                "mysql://u:hunter2@h/d",
                "sqlite:",
                "sqlite::memory:",
                "sqlite:file:x",
                "sqlite:~/x.db",
                "sqlite:$HOME/x",
                "sqlite:x?mode=ro",
                "postgresql:fp",
                "postgresql://db",
                "postgresql://db/",
                "postgresql:///fp",
                "postgresql://me:hunter2@a,,b/fp",
                "postgresql://db:0/fp",
                "postgresql://db:99999/fp",
                "postgresql://a b/fp",
                "postgresql://me:hunter2%zz@db/fp",
                "postgresql://db/fp?target_session_attrs=primary",
                "postgresql://db/fp?x",
                "me:hunter2@db/fp"
            })
    void whatIsNoStoreIsRefusedWithoutRepeatingAPassword(String written) {
        BadValueException e = assertThrows(BadValueException.class, () -> StoreUrl.parse(written, BASE));
        assertFalse((e.getMessage() + e.hint()).contains("hunter"), e.getMessage());
    }

    @Test
    void whatIsShownOfAStoreTurnsNothingAround() {
        String shown = StoreUrl.parse("postgresql://db/fp?my\u202epassword=x&a\u202eb=c", BASE)
                .toString();
        assertEquals("postgresql://db/fp?my\\u{202e}password=***&a\\u{202e}b=c", shown);
    }

    @Test
    void theJobsFileIsLookedForInOrder(@TempDir Path dir) throws IOException {
        Path system = dir.resolve("etc.yaml");
        Places none = new Places(Map.of("FENCEPOST_CONFIG", ""), dir, system);
        Places.Search.Nowhere nowhere = assertInstanceOf(Places.Search.Nowhere.class, none.jobsFile(null));
        assertTrue(nowhere.finding().message().contains(dir.resolve("fencepost.yaml") + " and " + system));
        Files.writeString(system, "");
        assertEquals(new Places.Search.Found(system), none.jobsFile(null));
        Files.writeString(dir.resolve("fencepost.yaml"), "");
        assertEquals(new Places.Search.Found(Path.of("fencepost.yaml")), none.jobsFile(null));
        Places named = new Places(Map.of("FENCEPOST_CONFIG", "/no/file"), dir, system);
        assertEquals(new Places.Search.Found(Path.of("/no/file")), named.jobsFile(null));
        assertEquals(new Places.Search.Found(Path.of("other")), named.jobsFile(Path.of("other")));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "STATE_DIRECTORY=/var/lib/fencepost:/var/lib/x,HOME=/h | /var/lib/fencepost",
                "XDG_STATE_HOME=/xdg,HOME=/h | /xdg/fencepost",
                "XDG_STATE_HOME=xdg,HOME=/h | /h/.local/state/fencepost",
                "HOME=/h | /h/.local/state/fencepost"
            })
    void theStateDirectoryFollowsTheEnvironment(String environment, Path expected) {
        Map<String, String> map = new java.util.HashMap<>();
        for (String pair : List.of(environment.split(",", -1))) {
            map.put(pair.split("=", -1)[0], pair.split("=", -1)[1]);
        }
        assertEquals(expected, new Places(map, BASE).stateDir(null));
        assertEquals(BASE.resolve("s"), new Places(map, BASE).stateDir(Path.of("s")));
    }

    @Test
    void withoutAnyEnvironmentAStateDirectoryMustBeNamed() {
        assertThrows(BadValueException.class, () -> new Places(Map.of(), BASE).stateDir(null));
    }

    @Test
    void theNearestWordIsSuggestedAndAFarOneIsNot() {
        List<String> known = List.of("timeout", "timezone", "env-file", "env");
        assertEquals(Optional.of("timeout"), Nearest.to("timeuot", known));
        assertEquals(Optional.of("env-file"), Nearest.to("ENV_FILE", known));
        assertEquals(Optional.empty(), Nearest.to("command", known));
    }
}
