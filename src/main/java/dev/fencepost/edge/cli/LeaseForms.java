package dev.fencepost.edge.cli;

import dev.fencepost.lease.LeaseView;
import dev.fencepost.lease.Owner;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Leases and owners as people and scripts are shown them. */
final class LeaseForms {

    private LeaseForms() {}

    /** All fields of a lease's row; those of a holder are null when it is released. */
    static Map<String, @Nullable Object> json(LeaseView view) {
        return Json.object(
                "resource",
                view.resource(),
                "owner",
                view.owner() == null ? null : view.owner().text(),
                "fence",
                view.fence(),
                "run_id",
                view.runId(),
                "slot",
                view.slotKey(),
                "granted_at",
                view.grantedAt(),
                "expires_at",
                view.expiresAt(),
                "state",
                view.state());
    }

    /** The answer to a command on one lease: {@code {"ok":…,"reason":…,"lease":…}}. */
    static Map<String, @Nullable Object> answer(@Nullable Object refusal, @Nullable LeaseView view) {
        return Json.object("ok", refusal == null, "reason", refusal, "lease", view == null ? null : json(view));
    }

    /** {@link Owner#brief} */
    static String shortOwner(String text) {
        return Owner.brief(text);
    }

    static String shortOwner(Owner owner) {
        return owner.brief();
    }

    /** For a cell without a value. */
    static String dash(@Nullable Object value) {
        return value == null ? "-" : value.toString();
    }
}
