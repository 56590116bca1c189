package dev.fencepost.edge.web.page;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Speaks HTTP to the page over a socket, since a library would not say what an attacker says. Every call has a connection of its own. */
final class Wire {

    private final URI base;

    Wire(URI base) {
        this.base = base;
    }

    /** @param headers names in small letters and values, in their order */
    record Answer(int status, List<String> headers, String body) {

        String header(String name) {
            return String.join(" | ", all(name));
        }

        List<String> all(String name) {
            String start = name.toLowerCase(Locale.ROOT) + ": ";
            return headers.stream()
                    .filter(each -> each.startsWith(start))
                    .map(each -> each.substring(start.length()))
                    .toList();
        }

        /** The id in the cookie that it sets; empty if it sets none. */
        String session() {
            return Stream.of(header("set-cookie").split(";", -1))
                    .filter(each -> each.startsWith(Page.COOKIE + "="))
                    .map(each -> each.substring(Page.COOKIE.length() + 1))
                    .findFirst()
                    .orElse("");
        }
    }

    String host() {
        return "localhost:" + base.getPort();
    }

    Answer get(String path, String... headers) {
        return send("GET", path, null, headers);
    }

    Answer post(String path, String form, String... headers) {
        return send("POST", path, form, headers);
    }

    /** @param headers such as {@code Host: evil}; those that a browser sends are added where they are missing */
    Answer send(String method, String path, @Nullable String body, String... headers) {
        try (Socket socket = new Socket(base.getHost(), base.getPort())) {
            socket.setSoTimeout(30_000);
            socket.getOutputStream().write(head(method, path, body, headers));
            if (body != null) {
                socket.getOutputStream().write(body.getBytes(StandardCharsets.UTF_8));
            }
            socket.getOutputStream().flush();
            return parsed(socket.getInputStream().readAllBytes());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** What comes until this text is there, or the end. */
    String until(String text, String path, String... headers) {
        try (Socket socket = new Socket(base.getHost(), base.getPort())) {
            socket.setSoTimeout(30_000);
            socket.getOutputStream().write(head("GET", path, null, headers));
            ByteArrayOutputStream all = new ByteArrayOutputStream();
            byte[] buffer = new byte[8_192];
            for (int n = socket.getInputStream().read(buffer);
                    n >= 0;
                    n = socket.getInputStream().read(buffer)) {
                all.write(buffer, 0, n);
                if (all.toString(StandardCharsets.UTF_8).contains(text)) {
                    break;
                }
            }
            return all.toString(StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private byte[] head(String method, String path, @Nullable String body, String... headers) {
        List<String> lines = new ArrayList<>();
        lines.add(method + " " + path + " HTTP/1.1");
        lines.addAll(List.of(headers));
        addUnlessThere(lines, "Host", host());
        if (body != null) {
            addUnlessThere(lines, "Content-Type", "application/x-www-form-urlencoded");
            if (lines.stream().noneMatch(each -> each.startsWith("Transfer-Encoding:"))) {
                addUnlessThere(lines, "Content-Length", "" + body.getBytes(StandardCharsets.UTF_8).length);
            }
        }
        lines.add("Connection: close");
        return (String.join("\r\n", lines) + "\r\n\r\n").getBytes(StandardCharsets.ISO_8859_1);
    }

    private static void addUnlessThere(List<String> lines, String name, String value) {
        if (lines.stream().noneMatch(each -> each.startsWith(name + ":"))) {
            lines.add(name + ": " + value);
        }
    }

    private static Answer parsed(byte[] bytes) {
        String all = new String(bytes, StandardCharsets.UTF_8);
        int end = all.indexOf("\r\n\r\n");
        if (end < 0) {
            throw new AssertionError("no answer: " + all);
        }
        List<String> lines = List.of(all.substring(0, end).split("\r\n"));
        List<String> headers = lines.subList(1, lines.size()).stream()
                .map(line -> line.substring(0, line.indexOf(':')).toLowerCase(Locale.ROOT) + ": "
                        + line.substring(line.indexOf(':') + 1).strip())
                .collect(Collectors.toList());
        return new Answer(Integer.parseInt(lines.getFirst().split(" ")[1]), headers, all.substring(end + 4));
    }
}
