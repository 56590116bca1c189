package dev.fencepost.edge.web.page;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** The stylesheet, the script and the icon. Their addresses change with their content, so a browser may keep them for good. */
enum Assets {
    CSS("page.css", "text/css;charset=UTF-8"),
    JS("page.js", "text/javascript;charset=UTF-8"),
    ICON("icon.svg", "image/svg+xml;charset=UTF-8");

    private static final int SHOWN_DIGITS = 12;

    private final String name;
    private final String type;
    private final byte[] content;
    private final String digest;

    Assets(String name, String type) {
        this.name = name;
        this.type = type;
        try (InputStream in = Assets.class.getResourceAsStream("/page/" + name)) {
            if (in == null) {
                throw new IllegalStateException("the program lacks " + name);
            }
            content = in.readAllBytes();
            digest = HexFormat.of()
                    .formatHex(MessageDigest.getInstance("SHA-256").digest(content))
                    .substring(0, SHOWN_DIGITS);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JVM has SHA-256", e);
        }
    }

    String address() {
        return "/assets/" + digest + "/" + name;
    }

    String fileName() {
        return name;
    }

    String type() {
        return type;
    }

    String digest() {
        return digest;
    }

    String text() {
        return new String(content, StandardCharsets.UTF_8);
    }
}
