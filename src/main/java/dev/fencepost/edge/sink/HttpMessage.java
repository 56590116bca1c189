package dev.fencepost.edge.sink;

import dev.fencepost.effect.HttpEndpoint;
import dev.fencepost.effect.HttpSender;
import dev.fencepost.effect.TextOrFile;
import dev.fencepost.run.Secrets;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;

/**
 * One request as it goes out, with its secrets read from their files. Lives as long as the request.
 *
 * @param place the receiver's name in texts for people: its host, unless the URL is a secret
 * @param hosts the only hosts that may be called, in lower case, without brackets
 * @param hostsAreListed whether the jobs file names these hosts one by one; one that is written as a private address is then meant
 * @param timeLimit from the first byte of the connection to the end of the answer
 * @param secrets what must not stand in any text that is kept: values of headers, the signing secret, a secret URL with its parts, and what
 *     looks like a secret in another URL
 */
record HttpMessage(
        String method,
        URI url,
        Map<String, String> headers,
        byte[] body,
        String place,
        Set<String> hosts,
        boolean hostsAreListed,
        boolean allowPrivate,
        Duration timeLimit,
        Secrets secrets) {

    private static final String CONTENT_TYPE = "Content-Type";
    private static final String USER_AGENT = "User-Agent";

    /** A part of a URL that is longer than words are. */
    private static final int LIKE_A_TOKEN = 16;

    private static final int LONGEST_WORD = 8;

    /** Why no request can be made. The message is for a person, who can mend it; nothing was sent. */
    static final class Unusable extends Exception {
        Unusable(String message) {
            super(message);
        }
    }

    /**
     * A request with a body.
     *
     * @param extra headers of ours, which win over configured ones of the same name; the values are {@link HttpText#forHeader escaped}
     * @param contentType of the body, or null where there is none
     * @param now stands in the signature
     */
    static HttpMessage sending(
            HttpEndpoint endpoint, Map<String, String> extra, @Nullable String contentType, byte[] body, Instant now)
            throws Unusable {
        Reading reading = new Reading(endpoint);
        URI url = reading.url();
        return reading.message(endpoint.method(), url, url, extra, contentType, body, now);
    }

    /** A GET of another URL under the rules and with the headers of the endpoint. */
    static HttpMessage asking(HttpEndpoint endpoint, String url, Map<String, String> extra, Instant now)
            throws Unusable {
        Reading reading = new Reading(endpoint);
        URI own = reading.url();
        return reading.message("GET", own, reading.parsed(url, false), extra, null, new byte[0], now);
    }

    /** A request to a place below the endpoint's URL. */
    static HttpMessage noting(HttpEndpoint endpoint, HttpSender.Note note, Instant now) throws Unusable {
        Reading reading = new Reading(endpoint);
        URI own = reading.url();
        URI url = reading.parsed(below(own, note), endpoint.url().file() != null);
        String type = note.contentType() == null ? endpoint.contentType() : note.contentType();
        return reading.message(endpoint.method(), own, url, note.headers(), type, note.body(), now);
    }

    private static String below(URI own, HttpSender.Note note) {
        String path = own.getRawPath() == null ? "" : own.getRawPath();
        String query = Stream.concat(
                        Stream.ofNullable(own.getRawQuery()),
                        note.query().entrySet().stream()
                                .map(each -> HttpText.forUrl(each.getKey()) + "=" + HttpText.forUrl(each.getValue())))
                .collect(Collectors.joining("&"));
        boolean hasSlash = path.endsWith("/") && !note.morePath().isEmpty();
        return own.getScheme() + "://" + own.getRawAuthority()
                + (hasSlash ? path.substring(0, path.length() - 1) : path)
                + note.morePath()
                + (query.isEmpty() ? "" : "?" + query);
    }

    /** Method and place: everything else may be a secret. */
    @Override
    public String toString() {
        return method + " to " + place;
    }

    /** As it is compared with {@link #hosts}. */
    String host() {
        return bare(url.getHost());
    }

    /** Why the host must not be called, as far as its name tells; null if it may. */
    @Nullable
    String forbiddenHost() {
        return hosts.contains(host()) ? null : "host " + host() + " is not among the allow-hosts";
    }

    /** The text with what is secret masked, in one printable line. */
    String forPeople(String text, int maxLength) {
        return HttpText.printable(secrets.masked(text), maxLength);
    }

    /** The host as it is compared: in lower case, an IPv6 address without its brackets. */
    static String bare(String host) {
        String lower = host.toLowerCase(Locale.ROOT);
        return lower.startsWith("[") && lower.endsWith("]") ? lower.substring(1, lower.length() - 1) : lower;
    }

    /** Reads an endpoint's settings, and collects what has to be masked. */
    private static final class Reading {
        private final HttpEndpoint endpoint;
        private final List<String> secrets = new ArrayList<>();

        Reading(HttpEndpoint endpoint) {
            this.endpoint = endpoint;
        }

        URI url() throws Unusable {
            return parsed(read(endpoint.url()), endpoint.url().file() != null);
        }

        URI parsed(String text, boolean isSecret) throws Unusable {
            if (isSecret) {
                secrets.add(text);
            }
            URI url;
            try {
                url = new URI(new URI(text).toASCIIString());
            } catch (URISyntaxException e) {
                throw new Unusable("the URL cannot be read: " + e.getReason()); // its own message holds the URL
            }
            String scheme = url.getScheme() == null ? "" : url.getScheme().toLowerCase(Locale.ROOT);
            if (!scheme.equals("http") && !scheme.equals("https")) {
                throw new Unusable("the URL does not begin with http:// or https://");
            }
            if (url.getRawUserInfo() != null) {
                throw new Unusable("the URL has a user in it; use a header from a file instead");
            }
            if (url.getHost() == null) {
                throw new Unusable(
                        "the URL has no host, or one with other signs than letters, digits, hyphens and points");
            }
            if (isSecret) {
                secrets.add(url.getHost());
                secrets.add(bare(url.getHost()));
            }
            for (String part : (url.getRawPath() == null ? "" : url.getRawPath()).split("/")) {
                secrets.add(part.length() >= (isSecret ? LONGEST_WORD : LIKE_A_TOKEN) ? part : "");
            }
            for (String part : (url.getRawQuery() == null ? "" : url.getRawQuery()).split("&")) {
                secrets.add(part.substring(part.indexOf('=') + 1));
            }
            return url;
        }

        HttpMessage message(
                String method,
                URI own,
                URI url,
                Map<String, String> extra,
                @Nullable String contentType,
                byte[] body,
                Instant now)
                throws Unusable {
            Map<String, String> headers = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
            headers.put(USER_AGENT, "fencepost");
            for (Map.Entry<String, TextOrFile> header : endpoint.headers().entrySet()) {
                headers.put(header.getKey(), value(header.getKey(), header.getValue()));
            }
            headers.remove(CONTENT_TYPE);
            if (contentType != null) {
                headers.put(CONTENT_TYPE, contentType);
            }
            for (Map.Entry<String, String> header : extra.entrySet()) {
                headers.put(header.getKey(), HttpText.forHeader(header.getValue()));
            }
            if (endpoint.signature() != null) {
                headers.put(endpoint.signature().header(), signed(endpoint.signature(), body, now));
            }
            boolean hostsAreListed = !endpoint.allowHosts().isEmpty();
            Set<String> hosts = new HashSet<>();
            for (String host : endpoint.allowHosts()) {
                hosts.add(bare(host));
            }
            if (!hostsAreListed) { // of the endpoint, also for a read-back: it is shown the same secrets
                hosts.add(bare(own.getHost()));
            }
            return new HttpMessage(
                    method,
                    url,
                    Collections.unmodifiableMap(headers),
                    body,
                    endpoint.url().file() == null ? bare(url.getHost()) : "the receiver",
                    Set.copyOf(hosts),
                    hostsAreListed,
                    endpoint.allowPrivate(),
                    endpoint.timeLimit(),
                    new Secrets(secrets));
        }

        private String value(String name, TextOrFile setting) throws Unusable {
            String value = read(setting);
            if (!HttpText.isHeaderValue(value)) {
                throw new Unusable("the value of header " + name
                        + " has signs in it that a header cannot carry, such as a line break");
            }
            if (setting.file() != null || !isOfTheTrade(name)) {
                secrets.add(value);
                for (String word : value.split("\\s+")) { // as the part after "Bearer"
                    secrets.add(word.length() >= LONGEST_WORD ? word : "");
                }
            }
            return value;
        }

        /** Headers that say what both sides can do, and no secret. */
        private static boolean isOfTheTrade(String name) {
            String lower = name.toLowerCase(Locale.ROOT);
            return lower.startsWith("accept")
                    || lower.startsWith("content-")
                    || lower.equals("cache-control")
                    || lower.equals("user-agent");
        }

        private String read(TextOrFile setting) throws Unusable {
            if (setting.file() == null) {
                return String.valueOf(setting.text());
            }
            return new String(HttpSecretFile.read(setting.file()), StandardCharsets.UTF_8);
        }

        private String signed(HttpEndpoint.Signature signature, byte[] body, Instant now) throws Unusable {
            byte[] secret = HttpSecretFile.read(signature.secretFile());
            secrets.add(new String(secret, StandardCharsets.UTF_8));
            long seconds = now.getEpochSecond();
            try {
                Mac mac = Mac.getInstance("HmacSHA256");
                mac.init(new SecretKeySpec(secret, "HmacSHA256"));
                mac.update((seconds + ".").getBytes(StandardCharsets.US_ASCII));
                String hex = HexFormat.of().formatHex(mac.doFinal(body));
                secrets.add(hex);
                return "t=" + seconds + ",v1=" + hex;
            } catch (GeneralSecurityException e) {
                throw new IllegalStateException("every JVM has HMAC-SHA-256", e);
            }
        }
    }
}
