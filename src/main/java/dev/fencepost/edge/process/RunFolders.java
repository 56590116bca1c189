package dev.fencepost.edge.process;

import dev.fencepost.edge.process.OutputLogReader.Entry;
import dev.fencepost.lease.RunId;
import dev.fencepost.run.Completion;
import dev.fencepost.run.Workspace;
import dev.fencepost.schedule.Slot;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.EnumMap;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Run files in {@code <root>/<job>/<slot>/<attempt>-<first part of the run id>/}, readable by the runner's user alone. */
public final class RunFolders implements Workspace {

    /** So many folders below the root is the folder of a run. */
    static final int LEVELS = 3;

    /** In characters; a flood without a newline is given in pieces of about this size. */
    private static final int LONGEST_LINE = 64 * 1024;

    private static final String LOG = "output.log";

    private final Path root;

    public RunFolders(Path root) {
        this.root = root;
    }

    @Override
    public RunFiles prepare(String job, Slot slot, int attempt, RunId runId) throws IOException {
        Path folder = of(job, slot.key()).resolve(name(attempt, runId));
        Path output = folder.resolve("output");
        try {
            Files.createDirectories(
                    output, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        } catch (IOException e) {
            throw new IOException("run folder " + folder + " cannot be made: " + e.getMessage(), e);
        }
        return new RunFiles(folder.resolve(LOG), folder.resolve("result"), folder.resolve("effects"), output);
    }

    /** Where the attempts at a slot have their folders. */
    public Path of(String job, String slotKey) {
        return root.resolve(job).resolve(slotKey.replace(":", "").replace('/', '-'));
    }

    /** Where the log of an attempt is, or would be, if it ran on this node. */
    public Path logOf(String job, String slotKey, int attempt, RunId runId) {
        return of(job, slotKey).resolve(name(attempt, runId)).resolve(LOG);
    }

    private static String name(int attempt, RunId runId) {
        return attempt + "-" + runId.toString().substring(0, 8);
    }

    @Override
    public byte @Nullable [] result(RunFiles files) throws IOException {
        Path file = files.result();
        if (!Files.exists(file, LinkOption.NOFOLLOW_LINKS)) {
            return null;
        }
        if (!Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)) {
            throw new IOException("$FENCEPOST_RESULT is not a plain file");
        }
        byte[] result;
        try (InputStream in = Files.newInputStream(file, LinkOption.NOFOLLOW_LINKS)) {
            result = in.readNBytes(Completion.MAX_RESULT_BYTES + 1);
        }
        if (result.length > Completion.MAX_RESULT_BYTES) {
            throw new IOException("$FENCEPOST_RESULT holds " + Files.size(file) + " bytes, the limit is "
                    + Completion.MAX_RESULT_BYTES + "; write bigger things to $FENCEPOST_OUTPUT_DIR");
        }
        return result.length == 0 ? null : result; // for another user it is there, and empty, from the start
    }

    @Override
    public void output(RunFiles files, Consumer<String> line) throws IOException {
        if (!Files.exists(files.log())) {
            return;
        }
        Map<OutputLogReader.Source, StringBuilder> begun = new EnumMap<>(OutputLogReader.Source.class);
        try (OutputLogReader reader = OutputLogReader.open(files.log())) {
            for (Entry entry = reader.next(); entry != null; entry = reader.next()) {
                if (entry.source() == OutputLogReader.Source.REMARK) {
                    continue;
                }
                StringBuilder text = begun.computeIfAbsent(entry.source(), source -> new StringBuilder());
                text.append(entry.text());
                if (entry.endsLine() || text.length() >= LONGEST_LINE) {
                    line.accept(text.toString());
                    text.setLength(0);
                }
            }
        }
        for (StringBuilder rest : begun.values()) {
            if (!rest.isEmpty()) {
                line.accept(rest.toString());
            }
        }
    }
}
