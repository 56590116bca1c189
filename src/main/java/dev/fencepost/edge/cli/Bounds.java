package dev.fencepost.edge.cli;

import dev.fencepost.edge.config.DurationText;
import java.time.Duration;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;

/** Limits of the values on the command line; what is beyond them ends the command with {@link ExitCode#USAGE}. */
final class Bounds {

    private Bounds() {}

    static int number(CommandSpec spec, String option, int value, int least, int most) {
        if (value < least || value > most) {
            throw new ParameterException(
                    spec.commandLine(), option + ": " + value + " is out of range, write " + least + " to " + most);
        }
        return value;
    }

    static Duration duration(String option, String written, Duration least, Duration most) {
        return SharedOptions.orUsage(option, written, text -> DurationText.parse(text, least, most));
    }
}
