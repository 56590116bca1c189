package dev.fencepost.model;

import dev.fencepost.lease.Lease;
import dev.fencepost.lease.Refusal;
import dev.fencepost.lease.RunId;
import dev.fencepost.run.History.WriteEvent;
import dev.fencepost.work.Grant;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** What is on record of writes under leases, by resource: who wrote, under which token, and what came of it. */
final class EventBook {

    /** @param reasons where more than one is true, any of them will do; null for any text at all */
    private record Expected(
            Instant at,
            String owner,
            long fence,
            @Nullable String runId,
            boolean accepted,
            @Nullable Set<String> reasons,
            @Nullable String effect) {

        boolean isTold(WriteEvent event) {
            return event.at().equals(at)
                    && event.owner().equals(owner)
                    && event.fence() == fence
                    && Objects.equals(runId, event.runId())
                    && event.accepted() == accepted
                    && (reasons == null || (event.reason() != null && reasons.contains(event.reason())))
                    && Objects.equals(event.effect(), effect);
        }
    }

    private final Map<String, List<Expected>> expected = new HashMap<>();

    void accepted(Lease lease, Instant now, String reason) {
        add(lease.resource(), lease.owner().text(), lease, now, true, Set.of(reason), null);
    }

    void refused(Lease lease, Instant now, Set<Refusal> reasons, @Nullable String effect) {
        Set<String> names = reasons.stream().map(Enum::name).collect(Collectors.toSet());
        add(lease.resource(), lease.owner().text(), lease, now, false, names, effect);
    }

    void refusedAsLost(Lease lease, Instant now, String effect) {
        add(lease.resource(), lease.owner().text(), lease, now, false, Set.of("LEASE_LOST"), effect);
    }

    /** Of an effect: token and run are those under which it was announced. */
    void ofEffect(OutboxBook.Entry effect, String owner, Instant now, boolean accepted, @Nullable String reason) {
        expected.computeIfAbsent(effect.pair().resource(), name -> new ArrayList<>())
                .add(new Expected(
                        now,
                        owner,
                        effect.fence(),
                        effect.runId().toString(),
                        accepted,
                        reason == null ? null : Set.of(reason),
                        effect.key()));
    }

    /** Of an item of work. */
    void ofWork(Grant grant, @Nullable RunId runId, Instant now, boolean accepted, String reason) {
        expected.computeIfAbsent("work:" + grant.id(), name -> new ArrayList<>())
                .add(new Expected(
                        now,
                        grant.owner().text(),
                        grant.fence().value(),
                        runId == null ? null : runId.toString(),
                        accepted,
                        Set.of(reason),
                        null));
    }

    /** A person has broken the lease. */
    void broken(String resource, String owner, long fence, @Nullable String runId, Instant now, String reason) {
        expected.computeIfAbsent(resource, name -> new ArrayList<>())
                .add(new Expected(now, owner, fence, runId, true, Set.of(reason), null));
    }

    private void add(
            String resource,
            String owner,
            Lease lease,
            Instant now,
            boolean accepted,
            Set<String> reasons,
            @Nullable String effect) {
        expected.computeIfAbsent(resource, name -> new ArrayList<>())
                .add(new Expected(
                        now, owner, lease.fence().value(), lease.runId().toString(), accepted, reasons, effect));
    }

    /** @param newestFirst as the store tells them. Null, or where they differ. */
    @Nullable
    String difference(String resource, List<WriteEvent> newestFirst) {
        List<Expected> wanted = expected.getOrDefault(resource, List.of());
        if (wanted.size() != newestFirst.size()) {
            return wanted.size() + " events expected, the last of them "
                    + (wanted.isEmpty() ? "none" : wanted.getLast()) + "; there are " + newestFirst.size();
        }
        for (int i = 0; i < wanted.size(); i++) {
            WriteEvent event = newestFirst.get(newestFirst.size() - 1 - i);
            if (!wanted.get(i).isTold(event)) {
                return "event " + i + " should be " + wanted.get(i) + " and is " + event;
            }
        }
        return null;
    }
}
