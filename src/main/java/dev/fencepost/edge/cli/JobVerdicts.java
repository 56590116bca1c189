package dev.fencepost.edge.cli;

import dev.fencepost.edge.config.DurationText;
import dev.fencepost.edge.config.Finding;
import dev.fencepost.edge.config.Reading;
import dev.fencepost.run.History.Longest;
import dev.fencepost.run.Job;
import dev.fencepost.run.TtlAdvice;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Judges the jobs file, and what its jobs say against what they have done. */
final class JobVerdicts {

    static final String FILE = "jobs file";
    static final String PROGRAMS = "programs";
    static final String TTL = "ttl";

    private JobVerdicts() {}

    static Verdict noFile() {
        return Verdict.note(
                FILE,
                "none was found: what depends on it is not checked",
                "name it with --config or $FENCEPOST_CONFIG");
    }

    /** The reader has looked for programs, working directories, users and files of secrets too. */
    static List<Verdict> file(Reading reading) {
        List<Verdict> verdicts = new ArrayList<>();
        List<Finding> errors = reading.errors();
        switch (reading) {
            case Reading.Refused refused ->
                verdicts.add(Verdict.bad(
                        FILE,
                        "refused, " + count(errors.size(), "error") + (errors.size() == 1 ? ": " : ", the first: ")
                                + firstLine(errors.getFirst()),
                        "fencepost validate shows all"));
            case Reading.Accepted accepted ->
                verdicts.add(Verdict.ok(
                        FILE,
                        accepted.file().path() + ", "
                                + count(accepted.file().definitions().size(), "job")
                                + "; their programs, directories and files are there"));
        }
        List<Finding> warnings = reading.warnings();
        if (!warnings.isEmpty()) {
            verdicts.add(Verdict.warning(
                    FILE,
                    warnings.size()
                            + (warnings.size() == 1 ? " warning: " : " warnings, the first: ")
                            + firstLine(warnings.getFirst()),
                    "fencepost validate shows all"));
        }
        return verdicts;
    }

    private static String count(int count, String what) {
        return count + " " + what + (count == 1 ? "" : "s");
    }

    private static String firstLine(Finding finding) {
        return finding.text().lines().findFirst().orElse("");
    }

    /**
     * A program that this shell finds and a service would not.
     *
     * @param here where this process' PATH has it
     * @return null where nothing is wrong
     */
    static @Nullable Verdict program(String job, String name, @Nullable String here, boolean inStandardPlaces) {
        return here == null || inStandardPlaces
                ? null
                : Verdict.note(
                        PROGRAMS,
                        job + ": " + name + " is found by your PATH, as " + here + "; a service of systemd or cron has"
                                + " another PATH and would not find it",
                        "write the path in full, or set env: { PATH: … } for the job");
    }

    /**
     * @param longest the job's longest success, if it had any
     * @return null where there is nothing to say
     */
    static @Nullable Verdict ttl(Job job, Optional<Longest> longest) {
        if (longest.isEmpty()) {
            return null;
        }
        TtlAdvice advice = TtlAdvice.of(longest.get(), job.ttl());
        if (!advice.isShort()) {
            return null;
        }
        Duration ran = longest.get().ran();
        String what = job.timeout() == null && ran.compareTo(job.ttl()) >= 0
                ? "; its runs outlive the lease, so each depends on renewals, and nothing ends one that hangs"
                : job.timeout() == null ? "; there is no timeout, so nothing ends a run that hangs" : "";
        return Verdict.note(
                TTL,
                job.id() + ": " + advice.text() + what,
                "lease: { ttl: " + DurationText.format(advice.most()).replace(" ", "") + " }"
                        + (job.timeout() == null ? ", and a timeout" : ""));
    }

    static Verdict ttlsFit(int looked, int all) {
        return looked < all
                ? Verdict.note(TTL, "looked at " + looked + " of " + all + " jobs in the time that there was", "")
                : Verdict.ok(TTL, "every ttl is at least 1.5 times the longest success, where there is one");
    }
}
