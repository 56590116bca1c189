package dev.fencepost.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.fencepost.edge.host.SystemThreads;
import dev.fencepost.edge.host.SystemTime;
import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.lease.LeaseView;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * S5, S9: the power goes off just after a grant was answered. Every write and every sync of the store's process is recorded by strace; then,
 * for each answer, the store is put together anew out of what had been synced when it was given, and nothing else.
 */
@Tag("faults")
class PowerLossIT {

    /** Such as {@code 4711 pwrite64(14</…/store.db-wal>, "\x37\x7f"..., 32, 4152) = 32}. */
    private static final Pattern WRITE =
            Pattern.compile("(\\d+) +pwrite64\\(\\d+<([^>]*)>, \"((?:\\\\x[0-9a-f]{2})*)\", \\d+, (\\d+)[) ].*");

    private static final Pattern SYNC = Pattern.compile("(\\d+) +(?:fdatasync|fsync)\\(\\d+<([^>]*)>(.*)");
    private static final Pattern SYNCED = Pattern.compile("(\\d+) +<\\.\\.\\. (?:fdatasync|fsync) resumed>.*= 0");
    private static final Pattern SAID = Pattern.compile("\\d+ +write\\(1<[^>]*>, \"((?:\\\\x[0-9a-f]{2})*)\".*");

    @TempDir
    Path folder;

    @Test
    void aGrantThatWasAnsweredIsThereAfterThePowerWentOff() throws Exception {
        assumeTrue(run(List.of("strace", "-o", "/dev/null", "true")) == 0, "strace is missing, or may not trace here");
        Path file = folder.resolve("store.db");
        try (JdbcStore store = open(file)) {
            store.prepare();
        }
        Path before = Files.copy(file, folder.resolve("before.db"));
        Path recorded = folder.resolve("strace.txt");
        assertEquals(0, run(traced(recorded, file)), () -> text(folder.resolve("said.txt")));

        List<byte[]> wals = new ArrayList<>();
        List<Long> tokens = new ArrayList<>();
        replay(recorded, file, wals, tokens);
        assertEquals(PowerLossMain.GRANTS, tokens.size(), "answers that were recorded");
        for (int i = 0; i < tokens.size(); i++) {
            Path again = Files.createDirectory(folder.resolve("after-" + i)).resolve("store.db");
            Files.copy(before, again);
            Files.write(again.resolveSibling("store.db-wal"), wals.get(i));
            try (JdbcStore store = open(again)) {
                LeaseView lease = store.inspect(PowerLossMain.RESOURCE);
                long token = lease == null ? 0 : lease.fence();
                assertTrue(
                        token >= tokens.get(i), "token " + tokens.get(i) + " was granted, and " + token + " is there");
            }
        }
    }

    private static JdbcStore open(Path file) {
        return JdbcStore.sqlite(file, new SystemTime(), new SystemThreads(event -> {}));
    }

    private List<String> traced(Path recorded, Path file) {
        return List.of(
                "strace",
                "--follow-forks",
                "--decode-fds=path",
                "--strings-in-hex=all",
                "--string-limit=100000",
                "--trace=pwrite64,write,fdatasync,fsync",
                "--output=" + recorded,
                ProcessHandle.current().info().command().orElseThrow(),
                "--enable-native-access=ALL-UNNAMED",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path"),
                PowerLossMain.class.getName(),
                file.toString());
    }

    /** Gives the exit code, or -1 if it cannot be started. */
    private int run(List<String> command) throws InterruptedException {
        try {
            Process process = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(folder.resolve("said.txt").toFile())
                    .start();
            assertTrue(process.waitFor(120, TimeUnit.SECONDS), () -> command + " does not end");
            return process.exitValue();
        } catch (IOException notThere) {
            return -1;
        }
    }

    /** For each answer the write-ahead log as far as it had been synced. */
    private static void replay(Path recorded, Path file, List<byte[]> wals, List<Long> tokens) throws IOException {
        String wal = file + "-wal";
        byte[] written = {};
        byte[] synced = {};
        String syncing = "";
        for (String line : Files.readAllLines(recorded, StandardCharsets.US_ASCII)) {
            Matcher write = WRITE.matcher(line);
            Matcher sync = SYNC.matcher(line);
            Matcher end = SYNCED.matcher(line);
            Matcher said = SAID.matcher(line);
            if (write.matches()) {
                assertTrue(
                        !path(write.group(2)).equals(file.toString()) || tokens.size() == PowerLossMain.GRANTS, line);
                if (path(write.group(2)).equals(wal)) {
                    written = with(written, bytes(write.group(3)), Integer.parseInt(write.group(4)));
                }
            } else if (sync.matches() && path(sync.group(2)).equals(wal)) {
                if (sync.group(3).endsWith("= 0")) {
                    synced = written.clone();
                } else {
                    syncing = sync.group(1);
                }
            } else if (end.matches() && end.group(1).equals(syncing)) {
                synced = written.clone();
                syncing = "";
            } else if (said.matches()) {
                String text = new String(bytes(said.group(1)), StandardCharsets.US_ASCII).strip();
                if (text.startsWith(PowerLossMain.GRANTED)) { // programs that it starts say things too
                    tokens.add(Long.parseLong(text.substring(PowerLossMain.GRANTED.length())));
                    wals.add(synced);
                }
            }
        }
    }

    private static byte[] with(byte[] before, byte[] more, int at) {
        byte[] all = Arrays.copyOf(before, Math.max(before.length, at + more.length));
        System.arraycopy(more, 0, all, at, more.length);
        return all;
    }

    /** Not every strace writes paths as it writes data. */
    private static String path(String shown) {
        return shown.startsWith("\\x") ? new String(bytes(shown), StandardCharsets.UTF_8) : shown;
    }

    private static byte[] bytes(String escaped) {
        return HexFormat.of().parseHex(escaped.replace("\\x", ""));
    }

    private static String text(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            return e.toString();
        }
    }
}
