package dev.fencepost.edge.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The scripts of completion and the manual page, in the real programs that they are for, where the host has these. */
class ShellsTest {

    private static final List<String> SOME_COMMANDS =
            List.of("serve", "run", "status", "doctor", "health", "work", "completion");

    @TempDir
    Path dir;

    private static void needs(String program) {
        assumeTrue(
                Stream.of(System.getenv("PATH").split(":"))
                        .anyMatch(place -> Files.isExecutable(Path.of(place, program))),
                program + " is not installed on this host");
    }

    private String said(String... command) throws Exception {
        Process process = new ProcessBuilder(command)
                .directory(dir.toFile())
                .redirectErrorStream(true)
                .start();
        process.getOutputStream().close();
        String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertTrue(process.waitFor(60, TimeUnit.SECONDS));
        assertEquals(0, process.exitValue(), text);
        return text;
    }

    private Path script(String shell) throws IOException {
        CommandRun run = CommandRun.of(dir, "completion", shell);
        assertEquals(ExitCode.FINE, run.exitCode(), run.err());
        return Files.writeString(dir.resolve("script." + shell), run.out());
    }

    private static Set<String> words(String text) {
        return new TreeSet<>(List.of(text.strip().split("\\s+")));
    }

    /** What bash offers behind these words; the last one is the beginning that is to be completed. */
    private Set<String> offeredByBash(Path script, String... line) throws Exception {
        String words = String.join(" ", Stream.of(line).map(w -> "'" + w + "'").toList());
        return words(said(
                "bash",
                "--norc",
                "-c",
                // Outside of a completion bash's own compopt only complains.
                "compopt() { :; }; source " + script + "\n"
                        + "complete -p fencepost | grep -q -- '-F _complete_fencepost' || exit 9\n"
                        + "COMP_WORDS=(" + words + "); COMP_CWORD=" + (line.length - 1)
                        + "; COMP_LINE=\"${COMP_WORDS[*]}\""
                        + "; COMP_POINT=${#COMP_LINE}; COMP_TYPE=9; COMP_KEY=9\n"
                        + "_complete_fencepost fencepost \"${COMP_WORDS[COMP_CWORD]}\"\n"
                        + "printf '%s\\n' \"${COMPREPLY[@]}\""));
    }

    @Test
    void bashCompletesCommandsAndOptions() throws Exception {
        needs("bash");
        Path script = script("bash");
        assertTrue(offeredByBash(script, "fencepost", "").containsAll(SOME_COMMANDS));
        assertEquals(Set.of("doctor"), offeredByBash(script, "fencepost", "doc"));
        assertTrue(offeredByBash(script, "fencepost", "work", "cl").containsAll(List.of("claim", "claim-many")));
        assertTrue(
                offeredByBash(script, "fencepost", "health", "--").containsAll(List.of("--fresh", "--url", "--json")));
        assertFalse(offeredByBash(script, "fencepost", "doctor", "--").contains("--fresh"));
    }

    @Test
    void zshTakesTheScriptAndKnowsTheFunction() throws Exception {
        needs("zsh");
        String text = said(
                "zsh",
                "-f",
                "-c",
                "autoload -U compinit && compinit -u -D; source " + script("zsh")
                        + "; whence -w _complete_fencepost; print -r -- \"for: ${_comps[fencepost]}\"");
        assertTrue(text.contains("_complete_fencepost: function"), text);
        assertTrue(text.contains("for: _bash_complete"), text);
        assertTrue(text.contains("-F _complete_fencepost"), text);
    }

    private Set<String> offeredByFish(Path script, String line) throws Exception {
        Set<String> offered = new TreeSet<>();
        said("fish", "--no-config", "-c", "source " + script + "; complete -C " + "'" + line + "'")
                .lines()
                .forEach(each -> offered.add(each.split("\t")[0]));
        return offered;
    }

    @Test
    void fishCompletesCommandsAndOptions() throws Exception {
        needs("fish");
        Path script = script("fish");
        assertTrue(offeredByFish(script, "fencepost ").containsAll(SOME_COMMANDS));
        assertEquals(Set.of("doctor"), offeredByFish(script, "fencepost doc"));
        // The value of an option is no command.
        assertTrue(offeredByFish(script, "fencepost --config x.yaml ").containsAll(SOME_COMMANDS));
        Set<String> work = offeredByFish(script, "fencepost work ");
        assertTrue(work.containsAll(List.of("claim", "enqueue")), work.toString());
        assertFalse(work.contains("doctor"), work.toString());
        assertTrue(offeredByFish(script, "fencepost health --").containsAll(List.of("--fresh", "--url", "--json")));
        assertFalse(offeredByFish(script, "fencepost doctor --").contains("--fresh"));
        assertTrue(offeredByFish(script, "fencepost work claim x --").contains("--owner"));
        assertTrue(offeredByFish(script, "fencepost serve --log-format ").containsAll(List.of("plain", "json")));
    }

    /** Where there is no fish: at least each command and each of its options is in the script once. */
    @Test
    void theScriptOfFishNamesEveryCommand() throws IOException {
        List<String> lines = Files.readAllLines(script("fish"));
        for (String command : SOME_COMMANDS) {
            assertEquals(
                    1,
                    lines.stream()
                            .filter(line -> line.startsWith(
                                    "complete -c fencepost -n '__fencepost_at exactly' -a '" + command + "' "))
                            .count(),
                    command);
        }
        assertTrue(
                lines.stream()
                        .anyMatch(line -> line.startsWith(
                                "complete -c fencepost -n '__fencepost_at below health' -l fresh -d '")),
                lines.toString());
        assertFalse(String.join("\n", lines).contains("${"));
    }

    @Test
    void anUnknownShellIsUsage() {
        CommandRun run = CommandRun.of(dir, "completion", "tcsh");
        assertEquals(ExitCode.USAGE, run.exitCode());
        assertEquals(ExitCode.USAGE, CommandRun.of(dir, "completion").exitCode());
    }

    private String page() {
        CommandRun run = CommandRun.of(dir, "man");
        assertEquals(ExitCode.FINE, run.exitCode(), run.err());
        return run.out();
    }

    @Test
    void theManualPageHasEveryCommandAndExitCode() {
        String page = page();
        for (String text : List.of(
                ".TH FENCEPOST 1 ",
                ".SS fencepost doctor [OPTIONS]",
                ".SS fencepost work claim\\-many [OPTIONS] ID",
                "\\fB\\-\\-config\\fR=\\fIFILE\\fR",
                "\\fB\\-\\-fresh\\fR\n",
                "Default: plain.",
                ".SH EXIT STATUS\n",
                ".TP\n\\fB78\\fR\n")) {
            assertTrue(page.contains(text), text + "\n" + page);
        }
        assertFalse(page.contains("${"), page);
        assertFalse(page.contains("%n"), page);
    }

    @Test
    void everyMacroOfTheManualPageIsOneThatManHas() {
        Set<String> macros = new TreeSet<>();
        page().lines()
                .filter(line -> line.startsWith(".") || line.startsWith("'"))
                .forEach(line -> macros.add(line.split(" ")[0]));
        assertEquals(Set.of(".PP", ".SH", ".SS", ".TH", ".TP"), macros);
        assertTrue(page().chars().allMatch(c -> c < 0x80));
    }

    @Test
    void groffFindsNothingWrongWithTheManualPage() throws Exception {
        needs("groff");
        Path page = Files.writeString(dir.resolve("fencepost.1"), page());
        assertEquals("", said("groff", "-man", "-ww", "-z", page.toString()));
        assertEquals("", said("groff", "-man", "-ww", "-z", "-Tascii", page.toString()));
        String text = said("groff", "-man", "-Tutf8", page.toString());
        assertTrue(text.contains("health"), text);
    }
}
