package dev.fencepost.edge.config;

import static dev.fencepost.edge.config.EffectiveValuesTest.command;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.URISyntaxException;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Files whose bytes are the trap: each was met by users of other programs. */
class HardFilesTest {

    private static List<String> errors(String name) throws URISyntaxException {
        return Readings.texts(Readings.resource(name).errors());
    }

    @Test
    void aByteOrderMarkAndWindowsLineEndsDoNoHarm() throws URISyntaxException {
        JobsFile file = Readings.accepted(Readings.resource("bom-crlf.yaml"));
        assertEquals(List.of("bom"), List.copyOf(file.definitions().keySet()));
        assertEquals("Europe/Berlin", file.jobs().getFirst().zone().getId());
        assertEquals(List.of("true"), command(file.jobs().getFirst()).words());
    }

    @Test
    void aStarWithoutQuotesIsExplained() throws URISyntaxException {
        assertEquals(
                List.of(
                        "3:11 : a star begins an alias in YAML [put the cron expression in quotes: cron: \"*/15 * * * *\"]"),
                errors("unquoted-star.yaml"));
    }

    @Test
    void sexagesimalAndOctalNumbersKeepTheirText() throws URISyntaxException {
        List<String> errors = errors("sexagesimal-octal.yaml");
        assertEquals(3, errors.size());
        assertTrue(errors.get(0).startsWith("3:12 jobs.sexa.every: \"45:00\" is no duration"), errors.get(0));
        assertTrue(errors.get(1).startsWith("7:22 jobs.oct.catch-up.max: \"010\" is ambiguous"), errors.get(1));
        assertTrue(
                errors.get(2).startsWith("11:22 jobs.oct12.catch-up.max: \"0o10\" is no whole number"), errors.get(2));
    }

    @Test
    void idsAreTheTextAsWritten() throws URISyntaxException {
        JobsFile file = Readings.accepted(Readings.resource("norway-ids.yaml"));
        assertEquals(
                List.of("no", "on", "007", "1e3"),
                List.copyOf(file.definitions().keySet()));
    }

    @Test
    void misspeltKeysAreRefusedWithTheNearestOne() throws URISyntaxException {
        assertEquals(
                List.of(
                        "4:5 jobs.typo.zone: the key \"zone\" is unknown [here it is timezone]",
                        "5:5 jobs.typo.comand: the key \"comand\" is unknown [did you mean command?]",
                        "7:5 jobs.typo.max_backfil: the key \"max_backfil\" is unknown [here it is catch-up: { max: … }]"),
                errors("unknown-keys.yaml"));
    }

    @Test
    void nothingIsExpanded() throws URISyntaxException {
        Definition env = Readings.job(Readings.resource("env-expansion.yaml"), "env");
        assertEquals("$HOME/bin", command(env.job()).env().get("HOME_BIN"));
        assertEquals("$$5", command(env.job()).env().get("LITERAL"));
        assertEquals("${NOT_SET_ANYWHERE}", command(env.job()).env().get("MISSING"));
        assertEquals(
                "printf %s\\n \"$HOME_BIN|$LITERAL|$MISSING\"",
                command(env.job()).words().getLast());
    }

    @Test
    void shellSyntaxInAListIsRefusedAndWarnedOf() throws URISyntaxException {
        Reading reading = Readings.resource("shell-syntax-in-argv.yaml");
        assertTrue(reading.errors().getFirst().message().contains("~/bin/maintain.sh"));
        assertTrue(reading.errors().getFirst().hint().contains("without a shell"));
        assertTrue(reading.warnings().getFirst().message().contains("\">>\""));
        assertTrue(reading.warnings().getFirst().message().contains("\"2>&1\""));
    }

    @Test
    void anIdThatIsTooLongNamesTheLimit() throws URISyntaxException {
        String error = errors("long-id.yaml").getFirst();
        assertTrue(error.startsWith("2:3 jobs: ") && error.contains("has 230 characters, the limit is 63"), error);
    }

    @Test
    void otherEncodingsAndTabsAreToldByTheirPlace() throws URISyntaxException {
        assertEquals(
                List.of("3:1 : there is a tab in the indentation [indent with spaces]"), errors("tab-indent.yaml"));
        assertEquals(List.of("3:22 : here the file is not UTF-8 [save it as UTF-8]"), errors("latin1.yaml"));
        assertEquals(List.of("1:1 : the file is UTF-16, not UTF-8 [save it as UTF-8]"), errors("utf16.yaml"));
    }
}
