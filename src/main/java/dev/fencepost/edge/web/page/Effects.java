package dev.fencepost.edge.web.page;

import dev.fencepost.effect.EffectView;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** How effects, and the proofs that they took place, are told. */
final class Effects {

    private static final Pattern ADDRESS = Pattern.compile("https?://[\\x21-\\x7e&&[^\"'<>\\\\^`{|}]]{1,2000}");
    private static final String ENDS_OF_SENTENCES = ".,;:!?)]";

    private Effects() {}

    static Label told(EffectView effect) {
        return switch (effect.state()) {
            case PENDING -> new Label("waits to be sent", "○", "live");
            case SENDING -> new Label("is being sent", "▷", "live");
            case CONFIRMED -> new Label("confirmed", "✓", "good");
            case REFUSED -> new Label("refused", "✗", "bad");
            case DEAD -> new Label("given up", "✗", "bad");
            case UNKNOWN -> new Label("unknown: it may have taken place", "?", "warn");
            case EXPIRED -> new Label("expired", "◔", "warn");
        };
    }

    /** @param address empty for text that is no link */
    record Part(String text, String address) {}

    /** Text with the addresses of pages in it as links: those of http and https alone, and with a host. */
    static List<Part> parts(String text) {
        List<Part> parts = new ArrayList<>();
        int from = 0;
        Matcher matcher = ADDRESS.matcher(text);
        while (matcher.find()) {
            int end = matcher.end();
            while (end > matcher.start() && ENDS_OF_SENTENCES.indexOf(text.charAt(end - 1)) >= 0) {
                end--;
            }
            String address = text.substring(matcher.start(), end);
            if (isPage(address)) {
                if (matcher.start() > from) {
                    parts.add(new Part(ShownText.of(text.substring(from, matcher.start())), ""));
                }
                parts.add(new Part(address, address));
                from = end;
            }
        }
        if (from < text.length()) {
            parts.add(new Part(ShownText.of(text.substring(from)), ""));
        }
        return parts;
    }

    /** A name before the host could make another host of it for the eye. */
    private static boolean isPage(String address) {
        try {
            URI uri = new URI(address);
            return uri.getHost() != null && uri.getUserInfo() == null;
        } catch (URISyntaxException noAddress) {
            return false;
        }
    }
}
