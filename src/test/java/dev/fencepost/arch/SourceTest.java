package dev.fencepost.arch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What the compiler does not see: packages without their page, migrations of one dialect alone, statements that forget the token. */
class SourceTest {

    private static final Path MAIN = Path.of("src/main/java");
    private static final Path MIGRATIONS = Path.of("src/main/resources/db");

    @Test
    void everyPackageHasItsPageAndIsNullMarked() throws IOException {
        Set<Path> without = new TreeSet<>();
        for (Path file : javaFiles()) {
            Path page = file.resolveSibling("package-info.java");
            if (!Files.exists(page) || !Files.readString(page).contains("@NullMarked")) {
                without.add(file.getParent());
            }
        }
        assertEquals(Set.of(), without);
    }

    @Test
    void migrationsExistInBothDialects() throws IOException {
        assertEquals(names(MIGRATIONS.resolve("postgres")), names(MIGRATIONS.resolve("sqlite")));
    }

    /** The statements that change a lease, an attempt or a tick on behalf of a holder. */
    @Test
    void whatIsWrittenUnderALeaseRepeatsOwnerTokenAndRun() throws IOException {
        Pattern released = Pattern.compile(
                "update lease set \\{set_released}(?!, fence)[^;]*?(?=\"\"\"|update|insert|select \\w+ from attempt)",
                Pattern.DOTALL);
        String sources = Files.readString(MAIN.resolve("dev/fencepost/edge/jdbc/JdbcLeases.java"))
                + Files.readString(MAIN.resolve("dev/fencepost/edge/jdbc/JdbcTicks.java"));
        String flat = sources.replaceAll("\"\\s*\\+\\s*\"", "").replaceAll("\\s+", " ");
        long found = released.matcher(flat)
                .results()
                .peek(match -> assertTrue(
                        match.group().contains("run_id = :run_id")
                                && match.group().contains("owner = :owner"),
                        match::group))
                .count();
        assertTrue(found >= 4, "only " + found + " statements found");
    }

    /** The same for items of work, whose statements share their conditions. */
    @Test
    void whatIsWrittenUnderAClaimRepeatsOwnerTokenAndRun() throws IOException {
        String flat = Files.readString(MAIN.resolve("dev/fencepost/edge/jdbc/JdbcWork.java"))
                .replaceAll("\"\\s*\\+\\s*\"", "")
                .replaceAll("\\s+", " ");
        assertTrue(flat.contains(
                "SHOWN = \" id = :id and owner = :owner and fence = :fence and coalesce(:run_id, run_id) = run_id\";"));
        assertTrue(flat.contains("HELD = SHOWN + \" and {live work_item}\";"));
        Pattern written = Pattern.compile(
                "String COMPLETED = [^;]*;|Sql (RENEW|FAIL|RELEASE|ADD_ARTIFACT) = Sql.of\\( ?LOCK,[^;]*;");
        Pattern conditions = Pattern.compile("where\"{1,3} \\+ (HELD|SHOWN)");
        long found = written.matcher(flat)
                .results()
                .peek(match -> assertTrue(conditions.matcher(match.group()).find(), match::group))
                .count();
        assertEquals(5, found);
    }

    @Test
    void whatIsWrittenUnderManyClaimsRepeatsOwnerTokenAndRun() throws IOException {
        String flat = Files.readString(MAIN.resolve("dev/fencepost/edge/jdbc/JdbcResults.java"))
                .replaceAll("\\s+", " ");
        assertEquals(
                1, Pattern.compile("update work_item").matcher(flat).results().count());
        assertTrue(flat.contains("work_item.id = listed.id and work_item.owner = listed.owner"
                + " and work_item.fence = listed.fence and coalesce(listed.run_id, work_item.run_id) = work_item.run_id"
                + " and {live work_item} returning"));
    }

    private static Set<String> names(Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.map(file -> file.getFileName().toString()).collect(Collectors.toCollection(TreeSet::new));
        }
    }

    private static List<Path> javaFiles() throws IOException {
        try (Stream<Path> files = Files.walk(MAIN)) {
            return files.filter(file -> file.toString().endsWith(".java")).toList();
        }
    }
}
