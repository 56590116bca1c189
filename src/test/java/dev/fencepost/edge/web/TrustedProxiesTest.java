package dev.fencepost.edge.web;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.fencepost.host.AddressRange;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TrustedProxiesTest {

    private static final TrustedProxies NONE = new TrustedProxies(List.of());
    private static final TrustedProxies SOME = new TrustedProxies(Stream.of("127.0.0.1", "::1", "10.9.0.0/16")
            .map(AddressRange::parse)
            .toList());

    @Test
    void whoIsNotTrustedMayWriteWhatHeLikes() {
        assertEquals("203.0.113.7", NONE.client("203.0.113.7", List.of("198.51.100.1")));
        assertEquals("127.0.0.1", NONE.client("127.0.0.1", List.of("198.51.100.1")));
        assertEquals("203.0.113.7", SOME.client("203.0.113.7", List.of("127.0.0.1, 198.51.100.1")));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "127.0.0.1 | 198.51.100.1                              | 198.51.100.1",
                "127.0.0.1 | 1.1.1.1, 2.2.2.2 ,198.51.100.1            | 198.51.100.1",
                "127.0.0.1 | 1.1.1.1, 198.51.100.1, 10.9.3.4           | 198.51.100.1",
                "127.0.0.1 | 10.9.0.1, 10.9.3.4                        | 10.9.0.1",
                "127.0.0.1 | 198.51.100.1:4711                         | 198.51.100.1",
                "::1       | 2001:db8::7                               | 2001:db8:0:0:0:0:0:7",
                "127.0.0.1 | [2001:db8::7]:443                         | 2001:db8:0:0:0:0:0:7",
                "127.0.0.1 | [2001:db8::7]                             | 2001:db8:0:0:0:0:0:7",
                "::ffff:127.0.0.1 | ::ffff:198.51.100.1                | 198.51.100.1",
                "0:0:0:0:0:0:0:1%lo | 198.51.100.1                     | 198.51.100.1",
                "127.0.0.1 | unknown                                   | 127.0.0.1",
                "127.0.0.1 | ''                                        | 127.0.0.1",
                "127.0.0.1 | ,                                         | 127.0.0.1",
                "127.0.0.1 | 198.51.100.1,                             | 127.0.0.1",
                "127.0.0.1 | 1.1.1.1, vps.example                      | 127.0.0.1",
                "127.0.0.1 | 1.1.1.1, garbage, 10.9.3.4                | 10.9.3.4",
                "127.0.0.1 | 1.1.1, 300.1.1.1                          | 127.0.0.1",
                "127.0.0.1 | 0x7f000001                                | 127.0.0.1",
                "127.0.0.1 | ::1::                                     | 127.0.0.1",
                "127.0.0.1 | [::1                                      | 127.0.0.1",
            })
    void theRightmostAddressThatNobodyTrustsCounts(String peer, String header, String client) {
        assertEquals(client, SOME.client(peer, List.of(header)));
    }

    @Test
    void severalHeadersAreOneChain() {
        assertEquals("198.51.100.1", SOME.client("127.0.0.1", List.of("1.1.1.1", "198.51.100.1", "10.9.0.1")));
        assertEquals("127.0.0.1", SOME.client("127.0.0.1", List.of()));
        assertEquals("unknown", SOME.client("unknown", List.of("198.51.100.1")));
    }

    @Test
    void anEndlessChainIsNotFollowed() {
        assertEquals("10.9.0.1", SOME.client("127.0.0.1", List.of("6.6.6.6" + ",10.9.0.1".repeat(32))));
        assertEquals("6.6.6.6", SOME.client("127.0.0.1", List.of("6.6.6.6" + ",10.9.0.1".repeat(31))));
    }
}
