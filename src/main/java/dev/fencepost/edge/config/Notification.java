package dev.fencepost.edge.config;

import dev.fencepost.run.Notifier;
import java.util.List;

/**
 * What {@code notify} says, at a job or under {@code defaults}: a job's own takes the place of the other as a whole.
 *
 * @param shown its values for people
 */
record Notification(List<Notifier> notifiers, Origin origin, Values shown) {

    static final Notification NOBODY = new Notification(List.of(), Origin.builtIn("nobody is told"), new Values());

    void addTo(Values values) {
        if (notifiers.isEmpty()) {
            values.add("notify", "none", origin);
        }
        values.addAll(shown);
    }
}
