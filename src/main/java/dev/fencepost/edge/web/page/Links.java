package dev.fencepost.edge.web.page;

import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;

/** Addresses of pages, from their first slash. */
final class Links {

    private Links() {}

    static String job(String id) {
        return "/jobs/" + encoded(id);
    }

    static String tick(String job, String slotKey) {
        return job(job) + "/ticks/" + encoded(slotKey);
    }

    static String queue(String name) {
        return "/queues/" + encoded(name);
    }

    /** For a part of a path or the value of a query. */
    static String encoded(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8)
                .replace("+", "%20")
                .replace("%3A", ":");
    }
}
