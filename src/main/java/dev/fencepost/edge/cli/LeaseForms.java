package dev.fencepost.edge.cli;

import dev.fencepost.lease.Incarnation;
import dev.fencepost.lease.LeaseView;
import dev.fencepost.lease.Owner;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Leases and owners as people and scripts are shown them. */
final class LeaseForms {

    private static final int LONGEST_OWNER = 40;

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

    /** For a runner the beginning of its node's id and its pid ({@code 2f1c09ab/4711}); for others their name, cut to a readable length. */
    static String shortOwner(String text) {
        Incarnation incarnation =
                text.isBlank() || text.length() > Owner.MAX_LENGTH ? null : Incarnation.of(new Owner(text));
        if (incarnation != null) {
            return incarnation.nodeId().substring(0, 8) + "/" + incarnation.pid();
        }
        return text.length() <= LONGEST_OWNER ? text : text.substring(0, LONGEST_OWNER - 1) + "…";
    }

    static String shortOwner(Owner owner) {
        return shortOwner(owner.text());
    }

    /** For a cell without a value. */
    static String dash(@Nullable Object value) {
        return value == null ? "-" : value.toString();
    }
}
