package dev.fencepost.edge.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.run.Children.Spec;
import dev.fencepost.run.Children.StartFailure;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Each cause has its own words, and names the file. */
class StartFailureTest {

    private Path directory;
    private Bench bench;

    @BeforeEach
    void setUp(@TempDir Path temporary) {
        directory = temporary;
        bench = new Bench(directory, "none", Map.of("PATH", temporary + ":/usr/bin:/bin"));
    }

    @Test
    void commandThatIsNotThere() {
        assertRefused(
                "command not found: no-such-program is in no directory of PATH " + directory + ":/usr/bin:/bin",
                bench.spec("no-such-program"));
        assertRefused("command not found: /no/such/program does not exist", bench.spec("/no/such/program"));
        assertRefused(
                "command not found: " + directory.resolve("./here") + " does not exist",
                Bench.in(bench.spec("./here"), directory));
        assertRefused("the command is empty", bench.spec(" "));
    }

    @Test
    void commandThatIsNoProgram() throws Exception {
        assertRefused("command /etc/passwd is not executable: permission denied", bench.spec("/etc/passwd"));
        assertRefused("command /tmp is a directory", bench.spec("/tmp"));
        file("plain", "rw-r--r--", "#!/bin/sh\n");
        assertRefused("command " + directory + "/plain is not executable", bench.spec("plain"));
        file("text", "rwxr-xr-x", "echo hello\n");
        assertRefused("a script needs a first line such as #!/bin/sh", bench.spec(directory + "/text"));
        file("empty", "rwxr-xr-x", "");
        assertRefused("exec format error: " + directory + "/empty", bench.spec(directory + "/empty"));
    }

    @Test
    void scriptWhoseInterpreterIsNotThere() throws Exception {
        Path script = file("script", "rwxr-xr-x", "#!/no/such/interpreter -x\necho\n");
        assertRefused(
                "script " + script + " cannot be started: its interpreter /no/such/interpreter does not exist",
                bench.spec(script.toString()));
        assertRefused("its interpreter /no/such/interpreter does not exist", bench.spec("script"));
        file("byenv", "rwxr-xr-x", "#!/usr/bin/env no-such-language\n");
        assertRefused("the interpreter no-such-language of script " + directory + "/byenv", bench.spec("byenv"));
        file("plain", "rw-r--r--", "");
        file("byplain", "rwxr-xr-x", "#!" + directory + "/plain\n");
        assertRefused(directory + "/plain is not executable", bench.spec("byplain"));
    }

    @Test
    void scriptWithWindowsLineEnds() throws Exception {
        Path script = file("crlf", "rwxr-xr-x", "#!/bin/sh\r\necho hello\r\n");
        assertRefused(
                "script " + script + " cannot be started: its first line ends with a carriage return",
                bench.spec("crlf"));
        assertRefused("save the file with UNIX line ends", bench.spec("crlf"));
        file("crlfenv", "rwxr-xr-x", "#!/usr/bin/env python3\r\n");
        assertRefused("carriage return", bench.spec("crlfenv"));
    }

    @Test
    void programOfAnotherProcessorOrLibrary() throws Exception {
        byte[] program = Files.readAllBytes(Path.of("/bin/sh"));
        program[18] ^= 0x55;
        Path other = file("other", "rwxr-xr-x", "");
        Files.write(other, program);
        if (Path.of("/proc/sys/fs/binfmt_misc/register").toFile().exists()) {
            return; // whoever taught the kernel more formats may run it
        }
        assertRefused(other + " is made for another processor", bench.spec("other"));
        program[18] ^= 0x55;
        String text = new String(program, 0, 4096, java.nio.charset.StandardCharsets.ISO_8859_1);
        program[text.indexOf("/lib") + 1] = 'X';
        Files.write(other, program);
        assertRefused("its loader /Xib", bench.spec("other"));
    }

    @Test
    void workingDirectoryThatCannotBeUsed() throws Exception {
        assertRefused(
                "working directory /no/such/dir does not exist", Bench.in(bench.spec("true"), Path.of("/no/such/dir")));
        assertRefused(
                "working directory /etc/passwd is not a directory",
                Bench.in(bench.spec("true"), Path.of("/etc/passwd")));
    }

    @Test
    void tooLongAnArgument() {
        assertRefused("too long (E2BIG)", bench.spec("true", "x".repeat(200_000)));
    }

    @Test
    void variableThatCannotBePassedOn() {
        assertRefused(
                "environment variable a.b cannot be passed on",
                bench.with("a.b", "c").spec("true"));
    }

    @Test
    void relativeCommandIsFoundFromTheWorkingDirectory() throws Exception {
        file("hello", "rwxr-xr-x", "#!/bin/sh\necho \"$0 in $(pwd)\"\n");
        Bench.Ended ended = Bench.end(bench.children.start(Bench.in(bench.spec("./hello"), directory)));
        assertEquals(
                "./hello in " + directory.toRealPath() + "\n", ended.output().tail());
    }

    private Path file(String name, String permissions, String text) throws IOException {
        Path file = directory.resolve(name);
        Files.writeString(file, text);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString(permissions));
        return file;
    }

    private void assertRefused(String reason, Spec spec) {
        StartFailure failure = assertThrows(StartFailure.class, () -> bench.children.start(spec));
        assertTrue(String.valueOf(failure.getMessage()).contains(reason), failure.getMessage());
    }
}
