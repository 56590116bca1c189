package dev.fencepost.faults;

import java.io.IOException;
import java.nio.charset.StandardCharsets;

/** Programs of the system that a test needs, some of which not everybody may run. */
final class Programs {

    private Programs() {}

    /** Runs one to its end. Returns why it failed, or nothing. */
    static String refusalOf(String... words) {
        try {
            Process process =
                    new ProcessBuilder(words).redirectErrorStream(true).start();
            String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
            if (process.waitFor() == 0) {
                return "";
            }
            return said.isEmpty() ? "exit code " + process.exitValue() : said;
        } catch (IOException noSuchProgram) {
            return String.valueOf(noSuchProgram.getMessage());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        }
    }
}
