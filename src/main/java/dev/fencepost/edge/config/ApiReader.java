package dev.fencepost.edge.config;

import dev.fencepost.host.AddressRange;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.nodes.MappingNode;
import org.snakeyaml.engine.v2.nodes.Node;
import org.snakeyaml.engine.v2.nodes.SequenceNode;

/**
 * Reads {@code api: { token-file: FILE, trusted-proxies: [127.0.0.1], artifacts: { max-size: 1GiB, types: [text/plain, image/*] } }}.
 */
final class ApiReader {

    private static final String EXAMPLE = "api: { token-file: /etc/fencepost/tokens }";
    private static final Keys API = new Keys(List.of("token-file", "trusted-proxies", "artifacts"), Set.of());
    private static final Keys ARTIFACTS = new Keys(List.of("max-size", "types"), Set.of());
    private static final Pattern SIZE = Pattern.compile("([1-9][0-9]{0,5})\\s*(KiB|MiB|GiB)");
    private static final Map<String, Integer> SHIFTS = Map.of("KiB", 10, "MiB", 20, "GiB", 30);
    private static final long MOST_BYTES = 1L << 40;
    private static final Pattern TYPE = Pattern.compile("[A-Za-z0-9!#$&^_.+-]+/([A-Za-z0-9!#$&^_.+-]+|\\*)");

    private final FileNames names;

    ApiReader(FileNames names) {
        this.names = names;
    }

    /** Null without {@code api:}, and after an error. */
    @Nullable
    ApiSettings read(Section top) {
        if (!top.has("api")) {
            return null;
        }
        Section api = top.section("api", API, EXAMPLE);
        Given<Path> tokenFile = api.read("token-file", text -> names.resolve(text));
        if (top.value("api") instanceof MappingNode && !api.has("token-file") && !api.isMisspelt("token-file")) {
            top.error("api", "no token-file is named, and without tokens the API is off", "write " + EXAMPLE);
        }
        List<AddressRange> proxies = proxies(api);
        Section artifacts = api.section("artifacts", ARTIFACTS, "artifacts: { max-size: 1GiB }");
        Given<Long> most = artifacts.read("max-size", ApiReader::size);
        List<String> types = types(artifacts);
        return tokenFile == null
                ? null
                : new ApiSettings(
                        tokenFile.value(),
                        proxies,
                        most == null ? ApiSettings.DEFAULT_MAX_ARTIFACT_BYTES : most.value(),
                        types);
    }

    private static List<AddressRange> proxies(Section api) {
        String example = "write trusted-proxies: [127.0.0.1, \"::1\", 10.0.0.0/8]";
        Given<List<String>> written = api.list("trusted-proxies", example.substring("write ".length()));
        List<AddressRange> proxies = new ArrayList<>();
        for (String each : written == null ? List.<String>of() : written.value()) {
            try {
                proxies.add(AddressRange.parse(each));
            } catch (IllegalArgumentException e) {
                api.error(
                        "trusted-proxies",
                        Finding.quote(each) + " is no address and no range: " + e.getMessage(),
                        example + "; names are not looked up");
            }
        }
        return proxies;
    }

    private static long size(String written) {
        Matcher m = SIZE.matcher(written.strip());
        if (!m.matches()) {
            throw new BadValueException(
                    Finding.quote(written) + " is no size", "write a whole number with its unit: KiB, MiB or GiB");
        }
        long bytes = Long.parseLong(m.group(1)) << SHIFTS.getOrDefault(m.group(2), 0);
        if (bytes > MOST_BYTES) {
            throw new BadValueException(Finding.quote(written) + " is too large", "the most is 1024GiB");
        }
        return bytes;
    }

    private static List<String> types(Section artifacts) {
        Node value = artifacts.value("types");
        if (value == null) {
            return List.of();
        }
        String example = "write types: [text/plain, \"image/*\"]";
        if (!(value instanceof SequenceNode list) || list.getValue().isEmpty()) {
            artifacts.error("types", "this must be a list of media types", example);
            return List.of();
        }
        List<String> types = artifacts.words("types", list);
        if (types == null) {
            return List.of();
        }
        for (String type : types) {
            if (!TYPE.matcher(type).matches()) {
                artifacts.error("types", Finding.quote(type) + " is no media type", example);
            }
        }
        return types;
    }
}
