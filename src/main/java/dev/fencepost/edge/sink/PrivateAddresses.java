package dev.fencepost.edge.sink;

import java.net.Inet4Address;
import java.net.InetAddress;
import java.util.Arrays;

/**
 * Tells addresses of the public internet from those of this host, of its networks, and of no use at all. What a jobs file may call is on
 * the internet unless it says otherwise: a host name that leads to a private address is a way to the services that trust their
 * neighbours, such as the metadata of a cloud. (The IANA registries of special-purpose addresses, RFC 6890.)
 */
final class PrivateAddresses {

    /** First address and length of the prefix. */
    private static final int[][] NOT_PUBLIC = {
        {ip(0, 0, 0, 0), 8}, // this network, the unspecified address among it
        {ip(10, 0, 0, 0), 8},
        {ip(100, 64, 0, 0), 10}, // behind the address translation of a carrier
        {ip(127, 0, 0, 0), 8},
        {ip(169, 254, 0, 0), 16}, // link-local, where clouds have their metadata
        {ip(172, 16, 0, 0), 12},
        {ip(192, 0, 0, 0), 24},
        {ip(192, 0, 2, 0), 24}, // for documents, as two more below
        {ip(192, 88, 99, 0), 24},
        {ip(192, 168, 0, 0), 16},
        {ip(198, 18, 0, 0), 15}, // for measurements
        {ip(198, 51, 100, 0), 24},
        {ip(203, 0, 113, 0), 24},
        {ip(224, 0, 0, 0), 4}, // multicast
        {ip(240, 0, 0, 0), 4}, // reserved, broadcast among it
    };

    private PrivateAddresses() {}

    static boolean isPublic(InetAddress address) {
        byte[] bytes = address.getAddress();
        if (address instanceof Inet4Address) {
            return isPublic4(bytes, 0);
        }
        if (startsWith(
                bytes, 0x00, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0)) { // NAT64: the IPv4 address is at the end
            return isPublic4(bytes, 12);
        }
        // Only 2000::/3 is given out as global unicast. What is outside of it (loopback, link-local, unique local,
        // multicast, IPv4-mapped and
        // IPv4-compatible forms) is not public.
        if ((bytes[0] & 0xe0) != 0x20) {
            return false;
        }
        if (startsWith(bytes, 0x20, 0x02)) { // 6to4: the IPv4 address comes next
            return isPublic4(bytes, 2);
        }
        boolean ofProtocols = startsWith(bytes, 0x20, 0x01) && (bytes[2] & 0xfe) == 0; // 2001::/23, Teredo among it
        boolean ofDocuments =
                startsWith(bytes, 0x20, 0x01, 0x0d, 0xb8) || (startsWith(bytes, 0x3f, 0xff) && (bytes[2] & 0xf0) == 0);
        return !ofProtocols && !ofDocuments;
    }

    private static boolean isPublic4(byte[] bytes, int at) {
        int address = ip(bytes[at] & 0xff, bytes[at + 1] & 0xff, bytes[at + 2] & 0xff, bytes[at + 3] & 0xff);
        return Arrays.stream(NOT_PUBLIC).noneMatch(block -> (address ^ block[0]) >>> (32 - block[1]) == 0);
    }

    private static int ip(int a, int b, int c, int d) {
        return a << 24 | b << 16 | c << 8 | d;
    }

    private static boolean startsWith(byte[] bytes, int... prefix) {
        for (int i = 0; i < prefix.length; i++) {
            if ((bytes[i] & 0xff) != prefix[i]) {
                return false;
            }
        }
        return true;
    }
}
