package dev.fencepost.edge.web;

import dev.fencepost.lease.Refusal;
import dev.fencepost.work.WorkAnswer;
import dev.fencepost.work.WorkItem;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * A "no" to a request, which becomes a problem document (RFC 9457). Its detail is written for the person who wrote the client; it carries
 * no stack trace.
 */
public final class Problem extends RuntimeException {

    private static final String ABOUT_BLANK = "about:blank";

    private final int status;
    private final String title;
    private final @Nullable Refusal reason;
    private final @Nullable WorkItem item;
    private final @Nullable String challenge;
    private final long retryAfterSeconds;

    private Problem(
            int status,
            String title,
            String detail,
            @Nullable Refusal reason,
            @Nullable WorkItem item,
            @Nullable String challenge,
            long retryAfterSeconds) {
        super(detail, null, false, false);
        this.status = status;
        this.title = title;
        this.reason = reason;
        this.item = item;
        this.challenge = challenge;
        this.retryAfterSeconds = retryAfterSeconds;
    }

    public static Problem of(int status, String title, String detail) {
        return new Problem(status, title, detail, null, null, null, 0);
    }

    public static Problem badRequest(String detail) {
        return of(400, "Bad request", detail);
    }

    static Problem unauthorized(String detail) {
        return new Problem(401, "Unauthorized", detail, null, null, "Bearer realm=\"fencepost\"", 0);
    }

    static Problem badToken(String detail) {
        return new Problem(
                401, "Unauthorized", detail, null, null, "Bearer realm=\"fencepost\", error=\"invalid_token\"", 0);
    }

    public static Problem forbidden(String detail) {
        return of(403, "Forbidden", detail);
    }

    public static Problem notFound(String detail) {
        return of(404, "Not found", detail);
    }

    static Problem tooSlow(String detail) {
        return of(408, "Request timeout", detail);
    }

    public static Problem tooLarge(String detail) {
        return of(413, "Content too large", detail);
    }

    public static Problem tooManyRequests(String detail, long retryAfterSeconds) {
        return new Problem(429, "Too many requests", detail, null, null, null, retryAfterSeconds);
    }

    public static Problem unavailable(String detail, long retryAfterSeconds) {
        return new Problem(503, "Service unavailable", detail, null, null, null, retryAfterSeconds);
    }

    /** The store's "no": 404 for an unknown item, else 409. */
    static Problem refused(String id, WorkAnswer.Refused refused) {
        boolean unknown = refused.reason() == Refusal.UNKNOWN;
        return new Problem(
                unknown ? 404 : 409,
                unknown ? "Not found" : "Refused",
                "item " + id + ": " + words(refused.reason(), refused.item()),
                refused.reason(),
                refused.item(),
                null,
                0);
    }

    /** The same about an entry of a list. */
    Problem within(String list, int place) {
        return of(status, title, list + "[" + place + "]: " + detail());
    }

    /** What a refusal means, for people. */
    static String words(Refusal reason, @Nullable WorkItem item) {
        return switch (reason) {
            case UNKNOWN -> "there is none with this id";
            case HELD -> "a live lease is held" + (item == null ? "" : ", until " + item.until());
            case STALE_TOKEN -> "a newer token was granted since; what this worker has is of no use any more";
            case EXPIRED -> "the lease has expired, and an expired lease is never revived";
            case NOT_OWNER -> "the lease is another owner's or another run's, or it is released";
            case ALREADY_DONE -> "it has its result already, which stays";
            case DEAD -> "it is dead: its tries are used up, or it was given up";
            case NOT_YET -> "its time has not come" + (item == null ? "" : ", which is " + item.notBefore());
            case AT_CAPACITY -> "so many items of its queue are claimed as may be";
            case EXISTS -> "it is there already, and stays as it is";
        };
    }

    public int status() {
        return status;
    }

    public String title() {
        return title;
    }

    String type() {
        return reason == null
                ? ABOUT_BLANK
                : "urn:fencepost:refused:"
                        + reason.name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    public String detail() {
        return String.valueOf(getMessage());
    }

    @Nullable
    Refusal reason() {
        return reason;
    }

    @Nullable
    WorkItem item() {
        return item;
    }

    /** For the header WWW-Authenticate; null without. */
    @Nullable
    String challenge() {
        return challenge;
    }

    /** 0 where nobody can say. */
    public long retryAfterSeconds() {
        return retryAfterSeconds;
    }
}
