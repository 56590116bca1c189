package dev.fencepost.edge.config;

import dev.fencepost.effect.HttpEndpoint;
import dev.fencepost.effect.TextOrFile;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.nodes.MappingNode;

/**
 * Reads the keys of an HTTP receiver, which are the same in a sink, in {@code publish} and in the {@code http} of a job. Values of URLs,
 * of files and of headers that look like secrets are neither shown nor repeated in messages.
 */
final class EndpointReader {

    private static final Pattern TOKEN = Pattern.compile("[!#$%&'*+.^_`|~0-9A-Za-z-]+");
    private static final Pattern SECRET_HEADER =
            Pattern.compile("(?i)authorization|proxy-authorization|cookie|.*(token|secret|key|password).*");
    private static final Pattern TEXT = Pattern.compile("[\\t\\x20-\\x7e]*");
    private static final Pattern MEDIA_TYPE = Pattern.compile("[!#$%&'*+.^_`|~0-9A-Za-z-]+/[\\t\\x20-\\x7e]+");
    private static final Pattern HOST = Pattern.compile("[a-z0-9._-]+|\\[[0-9a-f:.]+]");

    /** Set for each request, or by the connection. */
    private static final Set<String> TAKEN = Set.of(
            "host",
            "content-length",
            "transfer-encoding",
            "connection",
            "expect",
            "upgrade",
            "idempotency-key",
            "fencing-token");

    private static final String TAKEN_PREFIX = "fencepost-";

    private final Section http;
    private final FileNames names;
    private final Values values;

    EndpointReader(Section http, FileNames names, Values values) {
        this.http = http;
        this.names = names;
        this.values = values;
    }

    /**
     * Where a request goes.
     *
     * @param key where it stands
     * @param uri what was read, for the checks alone
     */
    record Address(String key, Given<TextOrFile> url, URI uri) {}

    /** The address of {@code url} or {@code url-file}; null after an error. */
    @Nullable
    Address address() {
        if (http.has("url") && http.has("url-file")) {
            http.error("url-file", "there are both url and url-file", "keep one of the two");
            return null;
        }
        if (http.has("url-file")) {
            return addressOfFile();
        }
        http.missing("url", "there is no url", "write url: \"https://HOST/PATH\"");
        return addressOf("url");
    }

    /** The address that stands at this key; null if there is none or after an error. */
    @Nullable
    Address addressOf(String key) {
        return addressOf(key, key);
    }

    /** @param shownAs the key that people are shown */
    @Nullable
    Address addressOf(String key, String shownAs) {
        Given<URI> uri = http.read(key, text -> HttpUrl.parse(text.strip()));
        Given<String> text = http.read(key, String::strip);
        if (uri == null || text == null) {
            return null;
        }
        warnOf(key, uri.value());
        if (HttpUrl.holdsSecretParameter(uri.value())) {
            http.warning(
                    key,
                    "there seems to be a secret in the URL",
                    "put the URL into a file with chmod 600 and name it with url-file");
        }
        values.add(shownAs, HttpUrl.shown(uri.value()), uri.origin());
        return new Address(key, new Given<>(new TextOrFile(text.value(), null), text.origin()), uri.value());
    }

    @Nullable
    Address addressOfFile() {
        Given<Path> file = http.read("url-file", text -> names.secret(text));
        if (file == null) {
            return null;
        }
        Given<URI> uri = http.read("url-file", written -> {
            try {
                return HttpUrl.parse(SecretFile.content(file.value()));
            } catch (BadValueException e) {
                throw new BadValueException("what stands in the file: " + e.getMessage(), e.hint());
            }
        });
        if (uri == null) {
            return null;
        }
        warnOf("url-file", uri.value());
        values.add("url-file", file.value().toString(), file.origin());
        return new Address("url-file", new Given<>(new TextOrFile(null, file.value()), file.origin()), uri.value());
    }

    private void warnOf(String key, URI uri) {
        if (HttpUrl.isPlainAndLeavesTheHost(uri)) {
            http.warning(
                    key,
                    "the URL is plain http: everyone on the way can read and change what is sent",
                    "write https://");
        }
    }

    /** {@code method}, one of these. */
    Given<String> method(List<String> allowed, String builtIn) {
        Given<String> method = http.read("method", text -> {
            if (!allowed.contains(text.strip())) {
                throw new BadValueException(
                        Finding.quote(text) + " is no method here", "write one of " + String.join(", ", allowed));
            }
            return text.strip();
        });
        return Given.or(method, builtIn, "");
    }

    /** All the rest. The time limit is shown by whoever read it. */
    HttpEndpoint endpoint(String method, Address address, Duration timeLimit) {
        return endpoint(method, address, timeLimit, "application/json");
    }

    /** The same with another type of the body where none is written. */
    HttpEndpoint endpoint(String method, Address address, Duration timeLimit, String type) {
        Given<String> contentType = Given.or(http.read("content-type", EndpointReader::mediaType), type, "of the body");
        values.add("content-type", contentType, Values::shown);
        Map<String, TextOrFile> headers = headers();
        Set<String> allowHosts = allowHosts(address.uri());
        Given<Boolean> allowPrivate =
                Given.or(http.truth("allow-private"), false, "no private, loopback or link-local address");
        values.add("allow-private", allowPrivate, String::valueOf);
        if (allowHosts.isEmpty() && !allowPrivate.value() && HttpUrl.isWrittenAsPrivate(address.uri())) {
            http.error(
                    address.key(),
                    "the host is this machine or one of its network, which is called only where the file says so",
                    List.of("ping", "webhook").contains(address.key())
                            ? "write " + address.key() + ": { url: …, allow-hosts: ["
                                    + inYaml(HttpUrl.host(address.uri())) + "] }"
                            : "write allow-hosts: [" + inYaml(HttpUrl.host(address.uri()))
                                    + "] or allow-private: true beside it");
        }
        return new HttpEndpoint(
                method,
                address.url().value(),
                headers,
                contentType.value(),
                timeLimit,
                allowHosts,
                allowPrivate.value(),
                signature(headers.keySet()));
    }

    private static String mediaType(String text) {
        if (!MEDIA_TYPE.matcher(text.strip()).matches()) {
            throw new BadValueException(
                    Finding.quote(text) + " is no media type", "write one such as application/json or text/plain");
        }
        return text.strip();
    }

    private Map<String, TextOrFile> headers() {
        Map<String, TextOrFile> headers = new LinkedHashMap<>();
        Map<String, String> seen = new LinkedHashMap<>();
        Section texts = http.open("headers", "headers: { NAME: TEXT }");
        for (String name : texts.keys()) {
            if (!isGoodName(texts, name, seen)) {
                continue;
            }
            Given<String> text = texts.read(name, EndpointReader::headerText);
            if (text == null) {
                if (!texts.has(name)) {
                    texts.error(name, "the value is empty, which YAML reads as null", "write \"\" for an empty value");
                }
                continue;
            }
            boolean secret = SECRET_HEADER.matcher(name).matches();
            if (secret && !text.value().isBlank()) {
                texts.warning(
                        name,
                        "this looks like a secret in the jobs file",
                        "put the value into a file with chmod 600: header-files: { " + name + ": FILE }");
            }
            headers.put(name, new TextOrFile(text.value(), null));
            values.under("headers").add(name, secret ? Values.MASK : Values.shown(text.value()), text.origin());
        }
        Section files = http.open("header-files", "header-files: { Authorization: FILE }");
        for (String name : files.keys()) {
            if (!isGoodName(files, name, seen)) {
                continue;
            }
            if (!files.has(name)) {
                files.error(name, "there is no file", "name the file that holds the value");
                continue;
            }
            Given<Path> file = files.read(name, text -> headerFile(names.secret(text)));
            if (file != null) {
                headers.put(name, new TextOrFile(null, file.value()));
                values.under("header-files").add(name, file, Path::toString);
            }
        }
        return headers;
    }

    private static boolean isGoodName(Section section, String name, Map<String, String> seen) {
        String lower = name.toLowerCase(Locale.ROOT);
        String where = section.pathOf(name);
        String problem = null;
        String hint = "";
        if (!TOKEN.matcher(name).matches()) {
            problem = Finding.quote(name) + " is no name of a header";
            hint = "a name is letters, digits and dashes";
        } else if (TAKEN.contains(lower) || lower.startsWith(TAKEN_PREFIX)) {
            problem = "this header is set for each request";
            hint = "remove it";
        } else if (lower.equals("content-type")) {
            problem = "the media type has a key of its own";
            hint = "write content-type: TYPE beside url";
        } else if (seen.containsKey(lower)) {
            problem = "the header is given twice, first as " + seen.get(lower);
            hint = "upper and lower case are no difference; remove one of the two";
        }
        seen.putIfAbsent(lower, where);
        if (problem != null) {
            section.findings().error(section.keyAt(name), where, problem, hint);
        }
        return problem == null;
    }

    private static String headerText(String text) {
        if (!TEXT.matcher(text).matches()) {
            throw new BadValueException(
                    "the value holds a line end, a control character or one that no header can carry",
                    "write one line of plain characters");
        }
        return text.strip();
    }

    private static Path headerFile(Path file) {
        if (!TEXT.matcher(SecretFile.content(file)).matches()) {
            throw new BadValueException(
                    "the file " + Finding.quote(file.toString()) + " holds more than one line of plain characters",
                    "write the value of the header into it, such as Bearer abc, on one line");
        }
        return file;
    }

    private Set<String> allowHosts(URI uri) {
        Given<List<String>> written = http.list("allow-hosts", "allow-hosts: [" + inYaml(HttpUrl.host(uri)) + "]");
        if (written == null) {
            values.add("allow-hosts", "none", Origin.builtIn("the host of the URL alone"));
            return Set.of();
        }
        Set<String> hosts = new LinkedHashSet<>();
        for (String host : written.value()) {
            String lower = host.strip().toLowerCase(Locale.ROOT);
            if (!HOST.matcher(lower).matches()) {
                http.error(
                        "allow-hosts",
                        Finding.quote(host) + " is no host",
                        "write the host alone, without scheme, port and path; an IPv6 address in [ ]");
            }
            hosts.add(lower);
        }
        if (!hosts.contains(HttpUrl.host(uri))) {
            http.error("allow-hosts", "the host of the URL is not among them", "add it, or correct the URL");
        }
        values.add("allow-hosts", String.join(", ", hosts), written.origin());
        return hosts;
    }

    private static String inYaml(String host) {
        return host.startsWith("[") ? '"' + host + '"' : host;
    }

    private HttpEndpoint.@Nullable Signature signature(Set<String> headers) {
        if (!http.has("sign")) {
            values.add("sign", "none", Origin.builtIn("the body is not signed"));
            return null;
        }
        Section sign = http.section("sign", Keys.SIGN, "sign: { secret-file: FILE }");
        Given<Path> file = sign.read("secret-file", text -> names.secret(text));
        Given<String> header = Given.or(
                sign.read("header", text -> {
                    String name = text.strip();
                    if (!TOKEN.matcher(name).matches() || TAKEN.contains(name.toLowerCase(Locale.ROOT))) {
                        throw new BadValueException(
                                Finding.quote(text) + " cannot be the header of the signature",
                                "write a name of your own, or remove the key");
                    }
                    return name;
                }),
                "Fencepost-Signature",
                "");
        if (headers.stream().anyMatch(header.value()::equalsIgnoreCase)) {
            sign.error("header", "the header stands under headers too", "choose another name");
        }
        if (file == null) {
            if (http.value("sign") instanceof MappingNode) {
                sign.missing("secret-file", "there is no secret-file", "write sign: { secret-file: FILE }");
            }
            return null;
        }
        values.under("sign").add("secret-file", file, Path::toString);
        values.under("sign").add("header", header, text -> text);
        return new HttpEndpoint.Signature(file.value(), header.value());
    }
}
