package dev.fencepost.edge.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * ADR 31: a script adds what programs of the minor version before do not see. One that takes something away says so in its name, and which
 * script a program has to know from then on.
 */
class MigrationRulesTest {

    private static final Path FOLDER = Path.of("src/main/resources/db");

    /** The scripts up to this one were there before the rule. */
    private static final int LAST_FREE = 6;

    private static final Pattern NAME = Pattern.compile("V(\\d{3})__(contract_)?[a-z_]+\\.sql");
    private static final Pattern TABLE = Pattern.compile("create table ([a-z_]+) \\(.*\\)( with \\(.*\\))?");
    private static final Pattern INDEX = Pattern.compile("create (unique )?index [a-z_]+ on ([a-z_]+) .*");
    private static final Pattern COLUMN = Pattern.compile("alter table [a-z_]+ add column [a-z_]+ (.*)");
    private static final Pattern ROWS = Pattern.compile("insert into ([a-z_]+) .*");
    private static final Pattern BINDS = Pattern.compile("\\b(unique|references|check|primary key|generated)\\b");
    private static final Pattern LEAST_KNOWN = Pattern.compile("update store_floor set least_known = (\\d+)");

    /** What a script does that it must not; empty for none. */
    static List<String> findings(String name, String text) {
        Matcher named = NAME.matcher(name);
        if (!named.matches()) {
            return List.of(name + " is no name of a script: V007__what_it_does.sql");
        }
        List<String> statements = Arrays.stream(text.replaceAll("(?m)--.*$", "")
                        .toLowerCase(Locale.ROOT)
                        .split(";"))
                .map(statement -> statement.strip().replaceAll("\\s+", " "))
                .filter(statement -> !statement.isEmpty())
                .toList();
        return named.group(2) == null
                ? expanding(statements)
                : contracting(Integer.parseInt(named.group(1)), statements);
    }

    private static List<String> expanding(List<String> statements) {
        List<String> findings = new ArrayList<>();
        Set<String> made = new HashSet<>();
        for (String statement : statements) {
            Matcher table = TABLE.matcher(statement);
            Matcher index = INDEX.matcher(statement);
            Matcher column = COLUMN.matcher(statement);
            Matcher rows = ROWS.matcher(statement);
            if (table.matches()) {
                made.add(table.group(1));
            } else if (index.matches()) {
                if (index.group(1) != null && !made.contains(index.group(2))) {
                    findings.add("what was allowed before fails: " + statement);
                }
            } else if (column.matches()) {
                String type = column.group(1);
                boolean demands = type.contains("not null") && !type.contains("default");
                if (demands || BINDS.matcher(type).find()) {
                    findings.add("what was allowed before fails: " + statement);
                }
            } else if (!rows.matches() || !made.contains(rows.group(1))) {
                findings.add("takes away or changes what others read: " + statement);
            }
        }
        return findings;
    }

    private static List<String> contracting(int number, List<String> statements) {
        for (String statement : statements) {
            Matcher known = LEAST_KNOWN.matcher(statement);
            if (known.matches()) {
                int least = Integer.parseInt(known.group(1));
                return least < number
                        ? List.of()
                        : List.of("programs of the minor version before do not know " + least + " yet: wait for it");
            }
        }
        return List.of("it does not say which script a program has to know: update store_floor set least_known = …");
    }

    @ParameterizedTest
    @ValueSource(strings = {"sqlite", "postgres"})
    void everyNewScriptKeepsTheRule(String dialect) throws IOException {
        List<String> findings = new ArrayList<>();
        try (Stream<Path> files = Files.list(FOLDER.resolve(dialect))) {
            for (Path file : files.sorted().toList()) {
                String name = file.getFileName().toString();
                if (!isFree(name)) {
                    findings(name, Files.readString(file)).forEach(finding -> findings.add(name + ": " + finding));
                }
            }
        }
        assertEquals(List.of(), findings);
    }

    private static boolean isFree(String name) {
        Matcher named = NAME.matcher(name);
        return named.matches() && Integer.parseInt(named.group(1)) <= LAST_FREE;
    }

    @Test
    void scriptsAreNumberedWithoutAGapAndTheLastOneIsTheNewest() throws IOException {
        try (Stream<Path> files = Files.list(FOLDER.resolve("sqlite"))) {
            List<String> numbers = files.map(
                            file -> file.getFileName().toString().substring(1, 4))
                    .sorted()
                    .toList();
            for (int i = 0; i < numbers.size(); i++) {
                assertEquals("%03d".formatted(i + 1), numbers.get(i));
            }
            assertEquals(Migrations.NEWEST, numbers.getLast());
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "alter table job add column colour text",
                "alter table job add column colour text not null default 'grey'",
                "create table paint (id integer primary key, colour text not null);"
                        + " create unique index paint_colour on paint (colour); insert into paint values (1, 'red')",
                "create table paint (\n    id text primary key -- a name\n) with (fillfactor = 50);",
                "create index job_since on job (since) where retired_at is null"
            })
    void whatAddsIsAllowed(String text) {
        assertEquals(List.of(), findings("V007__more.sql", text));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "alter table job add column colour text not null",
                "alter table job add column colour text unique",
                "alter table job add column boss text references job (id)",
                "alter table job drop column since",
                "alter table job rename column since to began",
                "alter table job alter column since type text",
                "alter table job rename to task",
                "drop table demo_result",
                "drop index tick_open",
                "create unique index job_text on job (schedule_text)",
                "update job set since = 0",
                "delete from job",
                "insert into job (id) values ('x')",
                "create trigger t after insert on job begin select 1; end",
                "alter table job add column colour text; drop index tick_open"
            })
    void whatTakesAwayIsNot(String text) {
        assertFalse(findings("V007__less.sql", text).isEmpty());
    }

    @Test
    void whatTakesAwayNamesTheScriptThatAProgramHasToKnow() {
        String drop = "alter table job drop column since;";
        assertTrue(findings("V009__contract_since.sql", drop + " update store_floor set least_known = 8")
                .isEmpty());
        assertFalse(findings("V009__contract_since.sql", drop).isEmpty());
        assertFalse(findings("V009__contract_since.sql", drop + " update store_floor set least_known = 9")
                .isEmpty());
        assertFalse(findings("V9__since.sql", "").isEmpty());
    }
}
