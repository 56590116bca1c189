package dev.fencepost.edge.web.page;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * The regions of a page as they are now, and in which version each of them came to be so: by that a viewer gets what has changed since what
 * it has. Immutable.
 *
 * @param version counts the changes
 * @param shapedIn the version in which an element came, went, or changed its place: a page older than that has others
 */
record Regions(long version, long shapedIn, Map<String, Entry> entries) {

    static final Regions NONE = startingAt(0);

    /** None yet; the next version is one above this. */
    static Regions startingAt(long version) {
        return new Regions(version, version, Map.of());
    }

    record Entry(Region region, long changedIn) {}

    /** These as the next version; the same if nothing has changed. */
    Regions with(List<Region> fresh) {
        boolean changed = fresh.size() != entries.size();
        Map<String, Entry> next = new LinkedHashMap<>();
        for (Region region : fresh) {
            Entry old = entries.get(region.id());
            boolean same = old != null && old.region().equals(region);
            changed |= !same;
            next.put(region.id(), same ? old : new Entry(region, version + 1));
        }
        boolean sameShape = List.copyOf(next.keySet()).equals(List.copyOf(entries.keySet()));
        return changed || !sameShape ? new Regions(version + 1, sameShape ? shapedIn : version + 1, next) : this;
    }

    List<Region> all() {
        return entries.values().stream().map(Entry::region).toList();
    }

    /** The one with this id, which has to be there. */
    Region get(String id) {
        return Objects.requireNonNull(entries.get(id), id).region();
    }

    List<Region> changedSince(long seen) {
        List<Region> changed = new ArrayList<>();
        entries.values().forEach(entry -> {
            if (entry.changedIn() > seen) {
                changed.add(entry.region());
            }
        });
        return changed;
    }

    /** Whether a page with these elements is the same but for what is inside of them. */
    boolean hasSameElementsAs(Regions other) {
        return List.copyOf(entries.keySet()).equals(List.copyOf(other.entries().keySet()));
    }
}
