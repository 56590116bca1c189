package dev.fencepost.edge.config;

import java.net.URI;
import java.net.URISyntaxException;
import java.util.Locale;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Where a request goes. Since a URL is often a secret itself, no message repeats one, and people are shown the host alone. */
final class HttpUrl {

    private static final Pattern LOOPBACK =
            Pattern.compile("localhost|.*\\.localhost|127(\\.[0-9]{1,3}){3}|\\[(0{0,4}:){2,7}0{0,3}1]");
    private static final Pattern SECRET_PARAMETER =
            Pattern.compile("(?i)(^|.*&)[^=&]*(token|secret|key|password|signature|sig)=[^&]+.*");
    private static final String FORM = "write https://HOST/PATH";
    private static final int HIGHEST_PORT = 65_535;

    private HttpUrl() {}

    /** @throws BadValueException if the text is no absolute http or https URL with a host, or has user info or a fragment */
    static URI parse(String written) {
        URI uri;
        try {
            uri = new URI(written.strip());
        } catch (URISyntaxException e) {
            String where = e.getIndex() < 0 ? "" : " at character " + (e.getIndex() + 1);
            throw new BadValueException("this is no URL: " + e.getReason() + where, FORM);
        }
        String scheme = uri.getScheme() == null ? "" : uri.getScheme().toLowerCase(Locale.ROOT);
        if (!scheme.equals("http") && !scheme.equals("https")) {
            throw new BadValueException("the URL does not begin with https:// or http://", FORM);
        }
        if (uri.getRawUserInfo() != null
                || (uri.getRawAuthority() != null && uri.getRawAuthority().contains("@"))) {
            throw new BadValueException(
                    "there is a user or a password in the URL", "use header-files: { Authorization: FILE }");
        }
        if (uri.getHost() == null) {
            throw new BadValueException("the URL names no host", FORM);
        }
        if (uri.getRawFragment() != null) {
            throw new BadValueException("the URL has a fragment, which is never sent", "remove # and what follows");
        }
        if (uri.getPort() == 0 || uri.getPort() > HIGHEST_PORT) {
            throw new BadValueException("the port of the URL does not exist", "ports are 1 to 65535");
        }
        return uri;
    }

    /** The host as allow-hosts has it. */
    static String host(URI uri) {
        return uri.getHost().toLowerCase(Locale.ROOT);
    }

    static boolean isPlainAndLeavesTheHost(URI uri) {
        return uri.getScheme().equalsIgnoreCase("http")
                && !LOOPBACK.matcher(host(uri)).matches();
    }

    static boolean holdsSecretParameter(URI uri) {
        return uri.getRawQuery() != null
                && SECRET_PARAMETER.matcher(uri.getRawQuery()).matches();
    }

    /** Scheme, host and port; what follows may be a secret, and is shown as three dots. */
    static String shown(URI uri) {
        String path = uri.getRawPath();
        boolean more = (path != null && !path.isEmpty() && !path.equals("/")) || uri.getRawQuery() != null;
        return uri.getScheme() + "://" + uri.getHost() + (uri.getPort() < 0 ? "" : ":" + uri.getPort())
                + (more ? "/…" : "");
    }

    /** The same for a text that may be no URL at all; null then. */
    static @Nullable URI parseOrNull(String written) {
        try {
            return parse(written);
        } catch (BadValueException e) {
            return null;
        }
    }
}
