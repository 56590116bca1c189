package dev.fencepost.edge.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.fencepost.binary.CommandCases;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

/** A new command needs a case with the built program: {@code CommandsIT}. */
class CommandCasesTest {

    static CommandLine program() {
        Surroundings surroundings = new Surroundings(
                new PrintWriter(new StringWriter()),
                new PrintWriter(new StringWriter()),
                Map.of(),
                Path.of("/"),
                InstantSource.fixed(CommandRun.NOW),
                false);
        return Main.commandLine(surroundings, new String[] {"man"}); // which knows all of them
    }

    @Test
    void eachCommandHasACaseAndNoOther() {
        Set<String> commands = new TreeSet<>();
        collect("", program(), commands);
        Set<String> cases = new TreeSet<>();
        CommandCases.ALL.forEach(each -> cases.add(each.command()));
        assertEquals(commands, cases);
    }

    private static void collect(String name, CommandLine command, Set<String> names) {
        names.add(name);
        command.getSubcommands().forEach((below, line) -> collect((name + " " + below).strip(), line, names));
    }
}
