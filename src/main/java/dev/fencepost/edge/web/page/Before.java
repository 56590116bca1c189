package dev.fencepost.edge.web.page;

import dev.fencepost.edge.web.Problem;
import dev.fencepost.host.Printable;
import dev.fencepost.run.History.Place;
import dev.fencepost.run.Inquiry;
import dev.fencepost.schedule.Slot;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/** Where in the history a page begins, as it stands in an address: the key of the slot before which it begins, or an instant. */
final class Before {

    private static final int LONGEST = 200;

    /** What a store holds; an instant may be so far away that its milliseconds are no long. */
    private static final Instant FIRST = Instant.EPOCH;

    private static final Instant END = Instant.parse("9999-12-31T23:59:59Z");

    private Before() {}

    static String text(Place place) {
        return place.slotKey().isEmpty() ? place.slotAt().toString() : place.slotKey();
    }

    /**
     * @param text key of a slot, of a range or of an order; there need not be such a tick. Null or empty for the newest
     * @throws Problem 400 for any other text
     */
    static @Nullable Place parse(@Nullable String text) {
        if (text == null || text.isEmpty()) {
            return null;
        }
        Slot slot = text.length() > LONGEST ? null : Slot.ofKey(Inquiry.slot(text));
        if (slot == null || slot.at().isBefore(FIRST) || slot.at().isAfter(END)) {
            throw Problem.badRequest("before=" + shown(text)
                    + " is no slot; write one as the history names it, such as before=2026-03-29T01:00:00Z");
        }
        return new Place(slot.at(), text);
    }

    private static String shown(String text) {
        String printable = Printable.text(text);
        return printable.length() <= 60 ? printable : printable.substring(0, 59) + "\u2026";
    }
}
