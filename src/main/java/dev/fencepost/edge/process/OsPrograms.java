package dev.fencepost.edge.process;

import dev.fencepost.host.Programs;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

public final class OsPrograms implements Programs {

    @Override
    public Ended run(
            List<String> command,
            Map<String, String> environment,
            @Nullable Path workingDir,
            byte[] stdin,
            Duration limit)
            throws IOException {
        throw new IOException("not there yet");
    }
}
