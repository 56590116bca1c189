package dev.fencepost.edge.web;

import dev.fencepost.host.AddressRange;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * From whom {@code X-Forwarded-For} is believed. Each proxy adds on the right whom it was called by; so it is read from the right, for as
 * long as a proxy that is trusted vouches for it. What stands further left may have been written by anybody.
 */
public record TrustedProxies(List<AddressRange> ranges) {

    public static final String HEADER = "X-Forwarded-For";

    /** No honest chain is longer. */
    private static final int MOST = 32;

    /** Some proxies write the port too. */
    private static final Pattern WITH_PORT = Pattern.compile("([0-9.]+):[0-9]{1,5}|\\[([^\\]]*)](?::[0-9]{1,5})?");

    public TrustedProxies {
        ranges = List.copyOf(ranges);
    }

    /**
     * The address that a request comes from, as far as that can be known.
     *
     * @param peer of the connection
     * @param forwarded all headers of this name, in their order
     */
    public String client(String peer, List<String> forwarded) {
        InetAddress known = AddressRange.literal(peer);
        if (known == null) {
            return peer;
        }
        List<String> hops = new ArrayList<>();
        forwarded.forEach(header -> Collections.addAll(hops, header.split(",", -1)));
        for (int i = hops.size() - 1; i >= Math.max(0, hops.size() - MOST) && isTrusted(known); i--) {
            InetAddress next = address(hops.get(i).strip());
            if (next == null) {
                break; // the proxy did not say whom it was called by
            }
            known = next;
        }
        return known.getHostAddress();
    }

    /** Whether the word of whoever is at the other end of the connection is taken. */
    public boolean isTrusted(String peer) {
        InetAddress address = AddressRange.literal(peer);
        return address != null && isTrusted(address);
    }

    private boolean isTrusted(InetAddress address) {
        return ranges.stream().anyMatch(range -> range.contains(address));
    }

    private static @Nullable InetAddress address(String written) {
        Matcher m = WITH_PORT.matcher(written);
        if (!m.matches()) {
            return AddressRange.literal(written);
        }
        return AddressRange.literal(m.group(1) == null ? m.group(2) : m.group(1));
    }
}
