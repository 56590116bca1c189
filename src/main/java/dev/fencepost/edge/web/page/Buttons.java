package dev.fencepost.edge.web.page;

import dev.fencepost.run.History.JobSummary;
import io.quarkus.qute.RawString;
import io.quarkus.qute.TemplateInstance;
import org.jspecify.annotations.Nullable;

/** What a visitor may order for a job: forms, each with its token. */
final class Buttons {

    private Buttons() {}

    record OfJob(String job) implements TemplateInstance {}

    /**
     * @param summary null for a job that the store does not know yet
     * @return empty for a visitor who may only look
     */
    static RawString of(Visit visit, String job, @Nullable JobSummary summary) {
        return new RawString(visit.mayOperate() ? new OfJob(job).render() : "");
    }
}
