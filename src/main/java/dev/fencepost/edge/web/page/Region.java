package dev.fencepost.edge.web.page;

import io.quarkus.qute.RawString;

/**
 * A part of a page that is replaced as a whole when it changes.
 *
 * @param id of its element
 * @param html what is inside of the element
 */
record Region(String id, String html) {

    /** For the template, which must not escape it once more. */
    public RawString inside() {
        return new RawString(html);
    }
}
