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

    /** What an attempt at a tick wrote, whole. No slot's key can be taken for it. */
    static String output(String job, String slotKey, int attempt) {
        return job(job) + "/output/" + encoded(slotKey) + "?attempt=" + attempt;
    }

    /** The result of an attempt as a file. */
    static String result(String job, String slotKey, int attempt) {
        return job(job) + "/result/" + encoded(slotKey) + "?attempt=" + attempt;
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
