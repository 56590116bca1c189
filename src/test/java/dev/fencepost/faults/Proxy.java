package dev.fencepost.faults;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Stands between a service and PostgreSQL, and does what a network does on a bad day. It reads so much of the protocol that it can tell
 * which transaction is about to be committed.
 */
public final class Proxy implements AutoCloseable {

    /** What happens to connections, those that are there and new ones. */
    public enum Mode {
        PASS,
        /** Reset at once. */
        CUT,
        /** Accepted, and never answered again: not even when the network is well again. */
        BLACK_HOLE
    }

    /** Where the wire breaks at the COMMIT that the test has chosen, or at the end of what is a transaction without one. */
    public enum Break {
        /** With it is lost what was sent along with it: of a transaction that is sent as one, all. */
        BEFORE_COMMIT_ARRIVES,
        BEFORE_ITS_ANSWER,
        /** Half of the bytes of the answer arrive. */
        INSIDE_ITS_ANSWER
    }

    private static final int SSL_REQUEST = 80877103;
    private static final int GSS_REQUEST = 80877104;

    private record Ambush(String statement, Break where, Mode then) {}

    private final ServerSocket listener;
    private final int target;
    private final Set<Link> links = ConcurrentHashMap.newKeySet();
    private final AtomicReference<Ambush> ambush = new AtomicReference<>();
    private volatile Mode mode = Mode.PASS;
    private final AtomicInteger sprung = new AtomicInteger();
    private final AtomicInteger opened = new AtomicInteger();
    private final AtomicInteger roundTrips = new AtomicInteger();
    private final AtomicInteger statements = new AtomicInteger();

    public Proxy(int target) {
        this.target = target;
        try {
            listener = new ServerSocket();
            listener.setReuseAddress(true);
            listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
        Thread.ofVirtual().start(this::acceptAll);
    }

    public int port() {
        return listener.getLocalPort();
    }

    public void mode(Mode wanted) {
        mode = wanted;
        if (wanted == Mode.CUT) {
            links.forEach(Link::reset);
        } else if (wanted == Mode.BLACK_HOLE) {
            links.forEach(link -> link.deaf = true);
        }
    }

    /**
     * The next transaction that sends a statement with this text in it loses its connection at COMMIT. Once.
     *
     * @param then what happens to all connections from that moment on
     */
    public void breakCommitOf(String statement, Break where, Mode then) {
        ambush.set(new Ambush(statement, where, then));
    }

    /** How many times that has happened. */
    public int sprung() {
        return sprung.get();
    }

    /** How often a client has asked the server to answer so far, and waited. */
    public int roundTrips() {
        return roundTrips.get();
    }

    /** How many statements the server was told to carry out so far, BEGIN and COMMIT among them. */
    public int statements() {
        return statements.get();
    }

    /** How many connections were asked for so far. */
    public int opened() {
        return opened.get();
    }

    private void acceptAll() {
        while (!listener.isClosed()) {
            try {
                Socket client = listener.accept();
                opened.incrementAndGet();
                client.setTcpNoDelay(true);
                if (mode == Mode.CUT) {
                    client.setSoLinger(true, 0);
                    client.close();
                    continue;
                }
                Link link = new Link(client, mode == Mode.BLACK_HOLE);
                links.add(link);
                link.start();
            } catch (IOException closedOrRefused) {
                // the loop's condition tells which
            }
        }
    }

    /** One connection. */
    private final class Link {
        private final Socket client;
        private Socket server;
        private final Map<String, String> prepared = new HashMap<>();
        private final List<String> transaction = new ArrayList<>();
        private final ByteArrayOutputStream unread = new ByteArrayOutputStream();
        private boolean typed;
        private boolean begun;
        private volatile boolean deaf;
        private volatile Ambush atAnswer;

        Link(Socket client, boolean deaf) {
            this.client = client;
            this.deaf = deaf;
        }

        void start() {
            Thread.ofVirtual().start(() -> {
                try (client;
                        Socket toServer = new Socket(InetAddress.getLoopbackAddress(), target)) {
                    server = toServer;
                    toServer.setTcpNoDelay(true);
                    Thread back = Thread.ofVirtual().start(this::answers);
                    questions();
                    while (deaf && !listener.isClosed()) {
                        Wait.sleep(Duration.ofMillis(200)); // the server does not hear of the client's end either
                    }
                    toServer.shutdownOutput();
                    back.join();
                } catch (IOException gone) {
                    reset();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                } finally {
                    links.remove(this);
                }
            });
        }

        private void questions() throws IOException {
            byte[] buffer = new byte[65_536];
            InputStream from = client.getInputStream();
            for (int n = from.read(buffer); n >= 0; n = from.read(buffer)) {
                if (deaf) {
                    continue;
                }
                Mode then = look(buffer, n);
                if (then != null) {
                    spring(then);
                    if (deaf) {
                        continue;
                    }
                    return;
                }
                server.getOutputStream().write(buffer, 0, n);
            }
        }

        private void answers() {
            byte[] buffer = new byte[65_536];
            try {
                InputStream from = server.getInputStream();
                for (int n = from.read(buffer); n >= 0; n = from.read(buffer)) {
                    Ambush wanted = atAnswer;
                    if (wanted != null) {
                        atAnswer = null;
                        if (wanted.where() == Break.INSIDE_ITS_ANSWER) {
                            client.getOutputStream().write(buffer, 0, n / 2);
                        }
                        spring(wanted.then());
                        if (!deaf) {
                            return;
                        }
                    }
                    if (!deaf) {
                        client.getOutputStream().write(buffer, 0, n);
                    }
                }
                if (!deaf) {
                    client.close();
                }
            } catch (IOException gone) {
                reset();
            }
        }

        /** Into a black hole a connection is not closed: neither end hears of the other again. */
        private void spring(Mode then) {
            mode(then);
            sprung.incrementAndGet();
            if (then != Mode.BLACK_HOLE) {
                reset();
            }
        }

        void reset() {
            try {
                client.setSoLinger(true, 0);
                client.close();
                if (server != null) {
                    server.close();
                }
            } catch (IOException alreadyClosed) {
                // that is what was wanted
            }
        }

        /** Reads the messages that are complete. Returns null, or what is to follow when it breaks before these bytes are passed on. */
        private Mode look(byte[] bytes, int n) {
            unread.write(bytes, 0, n);
            ByteBuffer in = ByteBuffer.wrap(unread.toByteArray());
            Mode breakNow = null;
            while (in.remaining() >= (typed ? 5 : 8)) {
                int lengthAt = in.position() + (typed ? 1 : 0);
                int end = lengthAt + in.getInt(lengthAt);
                if (end > in.limit()) {
                    break;
                }
                if (typed) {
                    byte[] body = new byte[end - lengthAt - 4];
                    in.get(lengthAt + 4, body);
                    Mode then = message((char) in.get(in.position()), body);
                    breakNow = then == null ? breakNow : then;
                } else {
                    int code = in.getInt(lengthAt + 4);
                    typed = code != SSL_REQUEST && code != GSS_REQUEST;
                }
                in.position(end);
            }
            byte[] rest = new byte[in.remaining()];
            in.get(rest);
            unread.reset();
            unread.writeBytes(rest);
            return breakNow;
        }

        private Mode message(char type, byte[] body) {
            switch (type) {
                case 'Q' -> {
                    String text = text(body, 0);
                    statements.incrementAndGet();
                    if (!isBegin(text)) { // which the driver sends ahead, and does not wait for
                        roundTrips.incrementAndGet();
                    }
                    return statement(text);
                }
                case 'P' -> {
                    String name = text(body, 0);
                    prepared.put(name, text(body, name.length() + 1));
                }
                case 'B' -> {
                    String portal = text(body, 0);
                    return statement(prepared.getOrDefault(text(body, portal.length() + 1), ""));
                }
                case 'E' -> statements.incrementAndGet();
                case 'S' -> {
                    roundTrips.incrementAndGet();
                    return begun ? null : over(); // statements without BEGIN are a transaction up to here
                }
                default -> {}
            }
            return null;
        }

        private static String text(byte[] body, int from) {
            int end = from;
            while (end < body.length && body[end] != 0) {
                end++;
            }
            return new String(body, from, end - from, StandardCharsets.ISO_8859_1);
        }

        private static boolean isBegin(String text) {
            return text.strip().equalsIgnoreCase("begin");
        }

        private Mode statement(String text) {
            if (isBegin(text)) {
                begun = true;
                transaction.clear();
            } else if (text.strip().equalsIgnoreCase("commit")) {
                begun = false;
                return over();
            } else if (text.strip().equalsIgnoreCase("rollback")) {
                begun = false;
                transaction.clear();
            } else {
                transaction.add(text);
            }
            return null;
        }

        private Mode over() {
            Ambush wanted = ambush.get();
            boolean meant = wanted != null
                    && transaction.stream().anyMatch(each -> each.contains(wanted.statement()))
                    && ambush.compareAndSet(wanted, null);
            transaction.clear();
            if (meant && wanted.where() != Break.BEFORE_COMMIT_ARRIVES) {
                atAnswer = wanted;
                return null;
            }
            return meant ? wanted.then() : null;
        }
    }

    @Override
    public void close() {
        try {
            listener.close();
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
        links.forEach(Link::reset);
    }
}
