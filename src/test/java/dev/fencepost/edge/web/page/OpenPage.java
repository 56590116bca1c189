package dev.fencepost.edge.web.page;

import dev.fencepost.Store;
import dev.fencepost.edge.host.SystemEntropy;
import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.edge.web.Tokens;
import dev.fencepost.effect.Announcement;
import dev.fencepost.effect.Content;
import dev.fencepost.effect.Effect;
import dev.fencepost.effect.EffectState;
import dev.fencepost.effect.Pair;
import dev.fencepost.effect.Receipt;
import dev.fencepost.effect.Settlement;
import dev.fencepost.host.AddressRange;
import dev.fencepost.host.Event;
import dev.fencepost.host.ManualTime;
import dev.fencepost.host.TestThreads;
import dev.fencepost.lease.Claim;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.RunId;
import dev.fencepost.lease.StoreException;
import dev.fencepost.lease.StoreException.Kind;
import dev.fencepost.run.Action;
import dev.fencepost.run.Completion;
import dev.fencepost.run.Job;
import dev.fencepost.run.Outcome;
import dev.fencepost.run.Start;
import dev.fencepost.schedule.CatchUp;
import dev.fencepost.schedule.Every;
import dev.fencepost.schedule.Slot;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.net.URI;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/** A page that is open, on a SQLite file of its own; its clocks stand still unless a test moves them. */
final class OpenPage implements AutoCloseable {

    static final String OPERATOR = "operator-token-0123456789abcdef0123456789";
    static final String VIEWER = "viewer-token-0123456789abcdef0123456789";
    static final String WORKER = "worker-token-0123456789abcdef0123456789";
    static final String SHORT = "short-lived-token-0123456789abcdef0123456789";

    static final String LINES = """
            alice read,operate %s
            bob   read         %s
            maid  work         %s
            carol read,operate %s 2026-05-05T00:00:00Z
            """.formatted(OPERATOR, VIEWER, WORKER, SHORT);

    private static final Owner ANNA = new Owner("anna");
    private static final Duration TTL = Duration.ofMinutes(10);

    final ManualTime time = new ManualTime(Instant.parse("2026-05-04T03:02:01Z"));
    final List<Event> events = new CopyOnWriteArrayList<>();
    final Store store;
    final Wire wire;
    private final Page page;
    private final Path tokenFile;
    private volatile @Nullable Kind nextFails;
    private volatile boolean away;

    /** What its runs have written; nothing unless a test has something. */
    volatile Outputs outputs = attempt -> null;

    /** @param lines of the token file; null for none */
    OpenPage(Page page, URI base, Path folder, @Nullable String lines) {
        this.page = page;
        this.wire = new Wire(base);
        tokenFile = folder.resolve("tokens");
        store = JdbcStore.sqlite(folder.resolve("page.db"), time, new TestThreads());
        store.prepare();
        if (lines != null) {
            writeTokens(lines);
        }
        page.open(new Page.Parts(
                faulty(),
                List::of,
                () -> true,
                lines == null ? null : Tokens.open(tokenFile, time, events::add),
                List.of(AddressRange.parse("127.0.0.1")),
                attempt -> outputs.open(attempt),
                "node",
                time,
                new SystemEntropy(),
                events::add,
                new RecentRenewals(events::add, time)));
    }

    void writeTokens(String text) {
        try {
            Files.writeString(tokenFile, text);
            Files.setPosixFilePermissions(tokenFile, PosixFilePermissions.fromString("rw-------"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Store faulty() {
        return (Store) Proxy.newProxyInstance(
                Store.class.getClassLoader(), new Class<?>[] {Store.class}, (proxy, method, arguments) -> {
                    Kind kind = nextFails;
                    boolean isOrder = Set.of("trigger", "pause", "resume", "cancel", "resolve")
                            .contains(method.getName());
                    if (away) {
                        throw new StoreException(Kind.UNAVAILABLE, "planted", null);
                    }
                    try {
                        Object answer = method.invoke(store, arguments);
                        if (kind != null && isOrder) {
                            nextFails = null;
                            throw new StoreException(kind, "planted", null);
                        }
                        return answer;
                    } catch (InvocationTargetException e) {
                        throw Objects.requireNonNull(e.getCause());
                    }
                });
    }

    /** The answer to the next order is lost, though it is carried out. */
    void loseNextAnswer() {
        nextFails = Kind.AMBIGUOUS;
    }

    void setAway(boolean isAway) {
        away = isAway;
    }

    /** @return the cookie */
    String logIn(String token) {
        Wire.Answer answer = wire.post("/login", "token=" + token);
        if (answer.status() != 303 || answer.session().isEmpty()) {
            throw new AssertionError(answer);
        }
        return cookie(answer.session());
    }

    static String cookie(String session) {
        return "Cookie: " + Page.COOKIE + "=" + session;
    }

    static String sessionOf(String cookie) {
        return cookie.substring(cookie.indexOf('=') + 1);
    }

    /** What the form that is sent to this address has to show in this session. */
    String formToken(String cookie, String address) {
        Sessions sessions = Objects.requireNonNull(page.opened().sessions());
        return Objects.requireNonNull(sessions.find(sessionOf(cookie))).formToken(address);
    }

    Visit visit(String cookie) {
        Sessions sessions = Objects.requireNonNull(page.opened().sessions());
        return new Visit(page.opened(), sessions.find(sessionOf(cookie)), null);
    }

    static String form(String... namesAndValues) {
        List<String> pairs = new ArrayList<>();
        for (int i = 0; i < namesAndValues.length; i += 2) {
            pairs.add(namesAndValues[i] + "=" + URLEncoder.encode(namesAndValues[i + 1], StandardCharsets.UTF_8));
        }
        return String.join("&", pairs);
    }

    static Job job(String id) {
        return new Job(
                id,
                new Every(Duration.ofHours(1)),
                ZoneOffset.UTC,
                new Action.Command(List.of("true"), null, Map.of(), null, null),
                Set.of(),
                TTL,
                null,
                Duration.ofSeconds(1),
                CatchUp.DEFAULT,
                null,
                2,
                null,
                List.of());
    }

    void register(String... ids) {
        store.register(List.of(ids).stream().map(OpenPage::job).toList());
    }

    Lease started(String job) {
        Slot slot = Slot.manual(store.now(), UUID.randomUUID().toString().substring(0, 8));
        Start start = store.start(job(job), slot, ANNA, new RunId(UUID.randomUUID()), false);
        return ((Start.Started) start).lease();
    }

    /** An effect of this job that was sent, and came into this state. */
    void effect(String job, String key, EffectState state) {
        Pair pair = new Pair("blog", job);
        Content content = new Content("text/plain", null, key.getBytes(StandardCharsets.UTF_8));
        Lease run = started(job);
        store.complete(
                run,
                new Completion(
                        Outcome.SUCCEEDED,
                        true,
                        true,
                        0,
                        null,
                        null,
                        null,
                        null,
                        List.of(new Announcement(
                                "http", key, "blog", content, content.digest("blog"), Duration.ofDays(1)))));
        Lease sender =
                ((Claim.Granted) store.claim(pair.leaseResource(), ANNA, new RunId(UUID.randomUUID()), TTL)).lease();
        Effect effect = Objects.requireNonNull(store.next(pair));
        store.begin(sender, effect);
        store.sent(
                sender,
                effect,
                switch (state) {
                    case UNKNOWN -> new Settlement(state, null, "timed out", null, true, true, null);
                    case DEAD -> new Settlement(state, new Receipt("kept"), "400 no", null, false, true, null);
                    case REFUSED -> new Settlement(state, null, "409", null, false, false, 99L);
                    default -> throw new IllegalArgumentException("not prepared for " + state);
                });
        store.release(sender);
    }

    boolean isTold(String part) {
        return events.stream().anyMatch(event -> event.toString().contains(part));
    }

    /** Whoever follows something is let go. */
    @Override
    public void close() {
        page.stop();
        time.pass(Duration.ofSeconds(2));
        store.close();
    }
}
