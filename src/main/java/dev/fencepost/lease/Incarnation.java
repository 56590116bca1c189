package dev.fencepost.lease;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * One start of one runner process. Two starts of the same service are two incarnations, and so two owners: a name alone would let a
 * restarted runner renew what its dead predecessor held.
 *
 * @param nodeId random id kept in the state directory
 * @param bootId names the start of the host
 * @param pidNamespace inode number of the pid namespace, 0 where unknown; a pid means nothing outside its own
 * @param pid process id
 * @param startTicks start time of the process in clock ticks since boot, which tells it from a later process of the same pid
 * @param nonce random, for two starts within one tick
 */
public record Incarnation(String nodeId, String bootId, long pidNamespace, long pid, long startTicks, String nonce) {

    private static final Pattern TEXT =
            Pattern.compile("([0-9a-f-]{8,36})/([0-9a-zA-Z-]{1,40})/(\\d{1,19})/(\\d{1,10})/(\\d{1,19})/([0-9a-f]{8})");

    public Owner owner() {
        return new Owner(nodeId + "/" + bootId + "/" + pidNamespace + "/" + pid + "/" + startTicks + "/" + nonce);
    }

    /** The incarnation that an owner's text tells of, or null if it is an owner of another kind. */
    public static @Nullable Incarnation of(Owner owner) {
        Matcher m = TEXT.matcher(owner.text());
        if (!m.matches()) {
            return null;
        }
        try {
            return new Incarnation(
                    m.group(1),
                    m.group(2),
                    Long.parseLong(m.group(3)),
                    Long.parseLong(m.group(4)),
                    Long.parseLong(m.group(5)),
                    m.group(6));
        } catch (NumberFormatException tooLarge) {
            return null;
        }
    }
}
