package dev.fencepost.host;

import java.net.InetAddress;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * One address of the net, or all that begin with the same bits. No name is ever looked up. An IPv4 address within IPv6
 * ({@code ::ffff:10.0.0.1}) is the IPv4 address.
 *
 * @param prefix how many bits count; all of them for one address
 */
public record AddressRange(InetAddress network, int prefix) {

    private static final String OCTET = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";
    private static final Pattern IPV4 = Pattern.compile("(" + OCTET + "\\.){3}" + OCTET);
    private static final Pattern IPV6 = Pattern.compile("[0-9a-fA-F.]*:[0-9a-fA-F:.]*(%[A-Za-z0-9._-]+)?");
    private static final Pattern PREFIX = Pattern.compile("[1-9][0-9]{0,2}");

    /**
     * Reads {@code 127.0.0.1}, {@code ::1}, {@code 10.0.0.0/8} or {@code fd00::/8}.
     *
     * @throws IllegalArgumentException if it is something else, or a range of all addresses
     */
    public static AddressRange parse(String text) {
        int slash = text.indexOf('/');
        InetAddress address = literal(slash < 0 ? text : text.substring(0, slash));
        if (address == null) {
            throw new IllegalArgumentException("no address of the net");
        }
        int most = address.getAddress().length * Byte.SIZE;
        if (slash < 0) {
            return new AddressRange(address, most);
        }
        String written = text.substring(slash + 1);
        if (!PREFIX.matcher(written).matches() || Integer.parseInt(written) > most) {
            throw new IllegalArgumentException("behind the slash stands a number from 1 to " + most);
        }
        return new AddressRange(address, Integer.parseInt(written));
    }

    /** The address that is written there in numbers, without its zone; null if it is none. */
    public static @Nullable InetAddress literal(String text) {
        if (!IPV4.matcher(text).matches() && !IPV6.matcher(text).matches()) {
            return null;
        }
        int zone = text.indexOf('%');
        try {
            return InetAddress.ofLiteral(zone < 0 ? text : text.substring(0, zone));
        } catch (IllegalArgumentException e) {
            return null;
        }
    }

    public boolean contains(InetAddress address) {
        byte[] mine = network.getAddress();
        byte[] its = address.getAddress();
        if (mine.length != its.length) {
            return false;
        }
        for (int bit = 0; bit < prefix; bit++) {
            int mask = 0x80 >> bit % Byte.SIZE;
            if (((mine[bit / Byte.SIZE] ^ its[bit / Byte.SIZE]) & mask) != 0) {
                return false;
            }
        }
        return true;
    }
}
