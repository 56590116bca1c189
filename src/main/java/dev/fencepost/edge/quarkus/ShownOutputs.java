package dev.fencepost.edge.quarkus;

import dev.fencepost.edge.process.OutputLogReader;
import dev.fencepost.edge.process.OutputLogReader.Entry;
import dev.fencepost.edge.process.RunFolders;
import dev.fencepost.edge.web.page.Outputs;
import dev.fencepost.run.Attempt;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** The logs below the folder of runs, as the page reads them. */
final class ShownOutputs implements Outputs {

    private final RunFolders folders;

    ShownOutputs(Path runs) {
        this.folders = new RunFolders(runs);
    }

    @Override
    public @Nullable Output open(Attempt attempt) throws IOException {
        Path log = folders.logOf(attempt.job(), attempt.slotKey(), attempt.number(), attempt.runId());
        // The run itself could have put a link or a pipe in its place.
        if (!Files.isRegularFile(log, LinkOption.NOFOLLOW_LINKS)) {
            return null;
        }
        try {
            return new Log(OutputLogReader.open(log));
        } catch (NoSuchFileException removed) {
            return null;
        }
    }

    private record Log(OutputLogReader reader) implements Output {

        @Override
        public @Nullable Piece next() throws IOException {
            Entry entry = reader.next();
            return entry == null
                    ? null
                    : new Piece(
                            entry.at(),
                            switch (entry.source()) {
                                case STDOUT -> Source.STDOUT;
                                case STDERR -> Source.STDERR;
                                case REMARK -> Source.REMARK;
                            },
                            entry.text(),
                            entry.endsLine());
        }

        @Override
        public void close() {
            reader.close();
        }
    }
}
