package dev.fencepost.edge.cli;

import dev.fencepost.host.Printable;
import dev.fencepost.lease.Refusal;
import dev.fencepost.work.Artifact;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** The files that workers handed in for an item. */
@Command(
        description = {
            "Lists the files that workers handed in for an item, or fetches one of them.",
            "The bytes lie with the server, so --get needs --server; they are compared with their checksum."
        },
        footer = {
            "",
            "Examples:",
            "  fencepost work artifacts page-17",
            "  fencepost work artifacts page-17 --get page.html --out page.html \\",
            "      --server https://vps.example --token-file reader.token"
        })
final class WorkArtifacts extends WorkCall {

    @Parameters(paramLabel = "ID", description = "The id of the item.")
    @SuppressWarnings("NullAway.Init")
    private String id;

    @Option(names = "--get", paramLabel = "NAME", description = "Fetch this one.")
    private @Nullable String name;

    @Option(
            names = "--fence",
            paramLabel = "F",
            description = "With --get: of this token. Else of the newest that has it.")
    private @Nullable Long fence;

    @Option(
            names = "--out",
            paramLabel = "FILE",
            description = "With --get: where to. A file that is there is replaced.")
    private @Nullable Path to;

    WorkArtifacts(SharedOptions shared) {
        super(shared);
    }

    @Override
    Question question() {
        if ((name == null) != (to == null) || (name == null && fence != null)) {
            throw wrong("--get NAME and --out FILE go together, and --fence with them");
        }
        if (name != null && !target.isServer()) {
            throw wrong("--get: the files lie with the server; name it with --server");
        }
        return opened -> {
            List<Artifact> artifacts = opened.queue().artifacts(id);
            if (artifacts.isEmpty() && opened.queue().item(id) == null) {
                return refused(id, Refusal.UNKNOWN, null);
            }
            return name == null || to == null
                    ? list(artifacts)
                    : fetch(
                            opened,
                            artifacts,
                            name,
                            shared.surroundings().workingDir().resolve(to));
        };
    }

    private int list(List<Artifact> artifacts) {
        if (shared.json()) {
            Json.print(
                    out(),
                    Json.object(
                            "artifacts", artifacts.stream().map(WorkForms::json).toList()));
        } else if (artifacts.isEmpty()) {
            out().println("no files");
        } else {
            TextTable table = new TextTable("NAME", ">TOKEN", ">BYTES", "SHA-256", "AT");
            for (Artifact each : artifacts) {
                table.row(
                        each.name(),
                        String.valueOf(each.fence()),
                        String.valueOf(each.size()),
                        each.sha256(),
                        WorkForms.seconds(each.at()));
            }
            table.print(out());
        }
        return ExitCode.FINE;
    }

    private int fetch(WorkTarget.Opened opened, List<Artifact> artifacts, String wanted, Path file) throws IOException {
        Artifact artifact = artifacts.stream()
                .filter(each -> each.name().equals(wanted) && (fence == null || each.fence() == fence))
                .max(Comparator.comparingLong(Artifact::fence))
                .orElse(null);
        if (artifact == null || opened.server() == null) {
            return unknown(wanted);
        }
        Path folder = file.toAbsolutePath().getParent();
        Path fresh;
        try {
            fresh = Files.createTempFile(folder, ".fencepost", ".part");
        } catch (IOException e) {
            throw wrong("--out: no file can be made in " + folder);
        }
        try {
            opened.server().download(artifact, fresh);
            Files.move(fresh, file, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            throw new CommandFailure(ExitCode.FAILED, "fencepost: " + Printable.text(String.valueOf(e.getMessage())));
        } finally {
            Files.deleteIfExists(fresh);
        }
        if (shared.json()) {
            Json.print(out(), Json.object("ok", true, "reason", null, "artifact", WorkForms.json(artifact)));
        } else {
            out().println(Printable.text(
                    file + ": " + artifact.size() + " bytes, handed in under token " + artifact.fence()));
        }
        return ExitCode.FINE;
    }

    private int unknown(String wanted) {
        if (shared.json()) {
            Json.print(out(), Json.object("ok", false, "reason", Refusal.UNKNOWN, "artifact", null));
        } else {
            shared.surroundings()
                    .err()
                    .println(Printable.text(id + ": refused, UNKNOWN: it has no file " + wanted
                            + (fence == null ? "" : " of token " + fence)));
        }
        return ExitCode.REFUSED;
    }
}
