package dev.fencepost.edge.cli;

import dev.fencepost.edge.config.Finding;
import dev.fencepost.edge.jdbc.Audit;
import dev.fencepost.edge.jdbc.Audit.Fault;
import dev.fencepost.host.Printable;
import java.io.PrintWriter;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;

/** Looks whether the rows of the store keep the contract. */
@Command(
        description = {
            "Checks a SQLite file for damage, and tokens, slots, effects and items for what cannot be.",
            "Changes nothing, reads everything; a service may go on meanwhile. Ends with 1 when there are",
            "faults. Of each kind the first " + Audit.MOST + " are named."
        },
        footer = {
            "",
            "Examples:",
            "  fencepost store check",
            "  fencepost store check --store sqlite:/var/backups/fencepost.db --json"
        })
final class StoreCheck implements Callable<Integer> {

    private final SharedOptions shared;

    StoreCheck(SharedOptions shared) {
        this.shared = shared;
    }

    @Override
    public Integer call() {
        try (OpenedStore opened = OpenedStore.existing(shared, shared.jobsFileIfAny())) {
            Audit.Findings findings = opened.store().audit().read();
            String store = opened.store().describe();
            PrintWriter out = shared.surroundings().out();
            if (shared.json()) {
                Json.print(out, json(store, findings));
            } else {
                findings.faults().forEach(fault -> out.println(Printable.text(text(fault))));
                out.println(Printable.text(store) + ": " + summary(findings));
            }
            return findings.faults().isEmpty() ? ExitCode.FINE : ExitCode.FAILED;
        }
    }

    private static String text(Fault fault) {
        return fault.rule() + "  " + Finding.quote(fault.resource())
                + (fault.slot() == null ? "" : ", " + fault.slot())
                + (fault.fence() == null ? "" : ", token " + fault.fence())
                + ": " + fault.text();
    }

    private static String summary(Audit.Findings findings) {
        int faults = findings.faults().size();
        String found = faults == 0 ? "nothing is wrong" : faults + (faults == 1 ? " fault" : " faults");
        return found + ", "
                + findings.checked().entrySet().stream()
                        .map(e -> e.getValue() + " " + e.getKey())
                        .collect(Collectors.joining(", "))
                + " were read";
    }

    private static Map<String, @Nullable Object> json(String store, Audit.Findings findings) {
        return Json.object(
                "ok",
                findings.faults().isEmpty(),
                "store",
                store,
                "checked",
                findings.checked(),
                "faults",
                findings.faults().stream()
                        .map(fault -> Json.object(
                                "rule", fault.rule(),
                                "resource", fault.resource(),
                                "slot", fault.slot(),
                                "fence", fault.fence(),
                                "text", fault.text()))
                        .toList());
    }
}
