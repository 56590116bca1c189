package dev.fencepost.edge.config;

import dev.fencepost.edge.config.EndpointReader.Address;
import dev.fencepost.run.Notifier;
import dev.fencepost.run.Notifier.Channel;
import dev.fencepost.run.Notifier.Occasion;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.nodes.MappingNode;
import org.snakeyaml.engine.v2.nodes.Node;
import org.snakeyaml.engine.v2.nodes.ScalarNode;
import org.snakeyaml.engine.v2.nodes.SequenceNode;

/** Reads {@code notify}: one notifier, or a list of them; an empty list tells nobody, whatever {@code defaults} say. */
final class NotifyReader {

    private static final String KEY = "notify";
    private static final List<String> CHANNELS = List.of("ping", "webhook", "mail");
    private static final String EXAMPLE = "write notify: { ping: \"https://HOST/PATH\" }, "
            + "notify: { webhook: { url: \"https://HOST/PATH\" } } or notify: { mail: [NAME@HOST] }";
    private static final Set<Occasion> OF_PINGS = EnumSet.of(Occasion.START, Occasion.SUCCESS, Occasion.FAILURE);
    private static final Set<Occasion> OF_OTHERS =
            EnumSet.of(Occasion.FAILURE, Occasion.RECOVERY, Occasion.PAUSED, Occasion.WAITING);
    private static final int MOST = 10;
    private static final int MOST_AFTER = 1_000;
    private static final int MOST_ADDRESSES = 20;
    private static final int LONGEST_ADDRESS = 254;
    private static final Duration DEFAULT_TIMEOUT = Duration.ofSeconds(10);
    private static final Duration LEAST_TIMEOUT = Duration.ofSeconds(1);
    private static final Duration MOST_TIMEOUT = Duration.ofMinutes(1);

    private static final String LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
    private static final String ATOM = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+";
    private static final Pattern ADDRESS =
            Pattern.compile(ATOM + "(?:\\." + ATOM + ")*@" + LABEL + "(?:\\." + LABEL + ")*");
    private static final Pattern LOCAL_USER = Pattern.compile("[a-z_][a-z0-9_.-]{0,31}");

    private static final String SENDMAIL = "sendmail";
    private static final Path USUAL_SENDMAIL = Path.of("/usr/sbin/sendmail");
    private static final List<Path> MORE_SENDMAILS = List.of(USUAL_SENDMAIL, Path.of("/usr/lib/sendmail"));

    private final Section section;
    private final FileNames names;
    private final Map<String, String> environment;
    private final Values values = new Values();

    /** @param section a job, or {@code defaults} */
    NotifyReader(Section section, FileNames names, Map<String, String> environment) {
        this.section = section;
        this.names = names;
        this.environment = environment;
    }

    /** @param next holds where nothing is written */
    Notification read(Notification next) {
        Node value = section.value(KEY);
        if (value == null) {
            return next;
        }
        List<Notifier> all = new ArrayList<>();
        List<Node> items = value instanceof SequenceNode list ? list.getValue() : List.of(value);
        if (items.size() > MOST) {
            section.error(KEY, "there are " + items.size() + " entries, the limit is " + MOST, "");
            items = List.of();
        }
        Map<String, Integer> seen = new HashMap<>();
        for (int i = 0; i < items.size(); i++) {
            boolean isAlone = items.get(i) == value;
            Notifier notifier = entry(
                    items.get(i),
                    isAlone ? section.keyAt(KEY) : items.get(i),
                    section.pathOf(KEY) + (isAlone ? "" : "[" + i + "]"),
                    seen);
            if (notifier != null) {
                all.add(notifier);
            }
        }
        return new Notification(all, section.origin(KEY), values);
    }

    private @Nullable Notifier entry(Node item, Node at, String path, Map<String, Integer> seen) {
        if (!(item instanceof MappingNode mapping)) {
            section.findings().error(item, path, "an entry must be a mapping, not a " + Section.shape(item), EXAMPLE);
            return null;
        }
        Section entry = Section.of(
                mapping, at, path, section.findings(), section.origin(KEY).kind(), Keys.NOTIFIER);
        List<String> written = CHANNELS.stream().filter(entry::has).toList();
        if (written.size() > 1) {
            entry.error(
                    written.get(1),
                    "there are both " + written.get(0) + " and " + written.get(1),
                    "make two entries of a list of it");
            return null;
        }
        if (written.isEmpty()) {
            if (CHANNELS.stream().noneMatch(entry::isMisspelt)) {
                entry.findings().error(at, path, "there is none of " + String.join(", ", CHANNELS), EXAMPLE);
            }
            return null;
        }
        String channel = written.getFirst();
        int number = seen.merge(channel, 1, Integer::sum);
        Values shown = values.under(KEY).under(number == 1 ? channel : channel + "-" + number);
        Channel how = channel.equals("mail") ? mail(entry, shown) : http(entry, channel, shown);
        boolean isPing = channel.equals("ping");
        Set<Occasion> allowed = isPing ? OF_PINGS : OF_OTHERS;
        Given<List<Occasion>> on = entry.list("on", "on: [failure]", text -> occasion(text, channel, allowed));
        if (on == null) {
            on = Given.builtIn(List.copyOf(allowed), "all that a " + channel + " can tell");
        }
        shown.add("on", on, all -> all.stream().map(NotifyReader::word).collect(Collectors.joining(", ")));
        Given<Integer> after = entry.number("after", 1, MOST_AFTER);
        if (isPing) {
            if (after != null) {
                entry.error("after", "a ping is sent for each run", "remove it, or use webhook or mail");
            }
        } else {
            after = Given.or(after, 1, "the first failed tick");
            shown.add("after", after, String::valueOf);
        }
        return how == null ? null : new Notifier(how, EnumSet.copyOf(on.value()), after == null ? 1 : after.value());
    }

    private static Occasion occasion(String text, String channel, Set<Occasion> allowed) {
        for (Occasion occasion : Occasion.values()) {
            if (word(occasion).equals(text.strip())) {
                if (allowed.contains(occasion)) {
                    return occasion;
                }
                throw new BadValueException("a " + channel + " does not tell of " + word(occasion), words(allowed));
            }
        }
        throw new BadValueException(Finding.quote(text) + " is nothing that could be told", words(allowed));
    }

    private static String words(Set<Occasion> allowed) {
        return "write some of " + allowed.stream().map(NotifyReader::word).collect(Collectors.joining(", "));
    }

    private static String word(Occasion occasion) {
        return occasion.name().toLowerCase(Locale.ROOT);
    }

    /** A single text is the URL alone. */
    private @Nullable Channel http(Section entry, String channel, Values shown) {
        boolean isUrlAlone = entry.value(channel) instanceof ScalarNode;
        boolean isPing = channel.equals("ping");
        String type = isPing ? "text/plain; charset=utf-8" : "application/json";
        Section http = isUrlAlone
                ? entry
                : entry.section(channel, isPing ? Keys.PING : Keys.WEBHOOK, channel + ": \"https://HOST/PATH\"");
        if (!isUrlAlone && !(entry.value(channel) instanceof MappingNode)) {
            return null;
        }
        EndpointReader reader = new EndpointReader(http, names, shown);
        Address address = isUrlAlone ? reader.addressOf(channel, "url") : reader.address();
        Given<Duration> timeout = Given.or(
                http.read("timeout", text -> DurationText.parse(text, LEAST_TIMEOUT, MOST_TIMEOUT)),
                DEFAULT_TIMEOUT,
                "of one request");
        if (address == null) {
            return null;
        }
        shown.add("timeout", timeout, DurationText::format);
        var endpoint = reader.endpoint("POST", address, timeout.value(), type);
        return isPing ? new Channel.Ping(endpoint) : new Channel.Webhook(endpoint);
    }

    private Channel.@Nullable Mail mail(Section entry, Values shown) {
        Given<List<String>> to = entry.list("mail", "mail: [NAME@HOST]", NotifyReader::address);
        if (to == null) {
            return null;
        }
        if (to.value().size() > MOST_ADDRESSES) {
            entry.error(
                    "mail",
                    "there are " + to.value().size() + " addresses, the limit is " + MOST_ADDRESSES,
                    "use an alias of the mail system");
            return null;
        }
        shown.add("to", to, all -> String.join(", ", all));
        Path sendmail = sendmail();
        if (sendmail == null) {
            entry.warning(
                    "mail",
                    "there is no program sendmail on this host, so no mail can be sent",
                    "install one, such as msmtp-mta or postfix, or use webhook");
        }
        return new Channel.Mail(to.value(), sendmail == null ? USUAL_SENDMAIL : sendmail);
    }

    private static String address(String text) {
        String address = text.strip();
        if (address.length() > LONGEST_ADDRESS
                || !(ADDRESS.matcher(address).matches()
                        || LOCAL_USER.matcher(address).matches())) {
            throw new BadValueException(
                    Finding.quote(text) + " is no mail address",
                    "write the address alone, as NAME@HOST, or the name of a user of this host");
        }
        return address;
    }

    private @Nullable Path sendmail() {
        List<Path> places = new ArrayList<>();
        for (String dir : environment.getOrDefault("PATH", "").split(":", -1)) {
            try {
                if (dir.startsWith("/")) {
                    places.add(Path.of(dir, SENDMAIL));
                }
            } catch (InvalidPathException e) {
                // Not a place where it could be.
            }
        }
        places.addAll(MORE_SENDMAILS);
        return places.stream()
                .filter(place -> Files.isRegularFile(place) && Files.isExecutable(place))
                .findFirst()
                .orElse(null);
    }
}
