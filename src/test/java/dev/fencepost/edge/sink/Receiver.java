package dev.fencepost.edge.sink;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CopyOnWriteArrayList;

/** A small HTTP server of this host that keeps what it was sent, and answers, or does not, just as a test says. */
public final class Receiver implements AutoCloseable {

    /** What to do with a request; returning closes the connection. */
    public interface Behaviour {
        void answer(Request request, OutputStream out) throws IOException, InterruptedException;
    }

    public record Request(String line, Map<String, String> headers, byte[] body) {}

    public final List<Request> requests = new CopyOnWriteArrayList<>();
    private final ServerSocket socket;
    private final Behaviour behaviour;

    public Receiver(Behaviour behaviour) throws IOException {
        this.behaviour = behaviour;
        this.socket = new ServerSocket(0, 50, InetAddress.getByName("127.0.0.1"));
        Thread.ofVirtual().start(this::accept);
    }

    /** One that gives the same answer to all. */
    public static Receiver saying(String answer) throws IOException {
        return new Receiver((request, out) -> out.write(answer.getBytes(StandardCharsets.UTF_8)));
    }

    /** An answer with a status, headers of a line each, and a body. */
    public static String answer(int status, String body, String... headers) {
        StringBuilder text = new StringBuilder("HTTP/1.1 " + status + " Said\r\n");
        for (String header : headers) {
            text.append(header).append("\r\n");
        }
        int length = body.getBytes(StandardCharsets.UTF_8).length;
        return text.append("Content-Length: " + length + "\r\n\r\n")
                .append(body)
                .toString();
    }

    public String url(String path) {
        return "http://127.0.0.1:" + socket.getLocalPort() + path;
    }

    public int port() {
        return socket.getLocalPort();
    }

    public void awaitRequests(int count) throws InterruptedException {
        long giveUp = System.nanoTime() + Duration.ofSeconds(10).toNanos();
        while (requests.size() < count) {
            if (System.nanoTime() > giveUp) {
                throw new AssertionError(requests.size() + " requests came, expected " + count);
            }
            Thread.sleep(5); // between two looks at what came by a socket
        }
    }

    private void accept() {
        while (true) {
            Socket accepted;
            try {
                accepted = socket.accept();
            } catch (IOException closed) {
                return;
            }
            Thread.ofVirtual().start(() -> serve(accepted));
        }
    }

    private void serve(Socket accepted) {
        try (accepted) {
            InputStream in = accepted.getInputStream();
            String line = line(in);
            Map<String, String> headers = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
            for (String header = line(in); !header.isEmpty(); header = line(in)) {
                headers.put(
                        header.substring(0, header.indexOf(':')),
                        header.substring(header.indexOf(':') + 1).strip());
            }
            byte[] body = in.readNBytes(Integer.parseInt(headers.getOrDefault("Content-Length", "0")));
            Request request = new Request(line, headers, body);
            requests.add(request);
            behaviour.answer(request, accepted.getOutputStream());
        } catch (IOException | InterruptedException e) {
            // the other side has gone, as many tests want it to
        }
    }

    private static String line(InputStream in) throws IOException {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        for (int b = in.read(); b != '\n'; b = in.read()) {
            if (b < 0) {
                throw new IOException("the request broke off");
            }
            if (b != '\r') {
                line.write(b);
            }
        }
        return line.toString(StandardCharsets.ISO_8859_1);
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
