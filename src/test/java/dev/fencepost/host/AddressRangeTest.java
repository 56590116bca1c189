package dev.fencepost.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class AddressRangeTest {

    @ParameterizedTest
    @CsvSource({
        "127.0.0.1,     127.0.0.1,        true",
        "127.0.0.1,     127.0.0.2,        false",
        "10.0.0.0/8,    10.255.1.2,       true",
        "10.0.0.0/8,    11.0.0.0,         false",
        "10.1.2.3/8,    10.9.9.9,         true",
        "192.168.4.0/22, 192.168.7.255,   true",
        "192.168.4.0/22, 192.168.8.0,     false",
        "::1,           0:0:0:0:0:0:0:1,  true",
        "fd00::/8,      fdff::1,          true",
        "fd00::/8,      fe00::1,          false",
        "127.0.0.1,     ::ffff:127.0.0.1, true",
        "127.0.0.1,     ::1,              false",
        "::/1,          10.0.0.1,         false"
    })
    void itHoldsWhatBeginsAlike(String range, String address, boolean holds) {
        assertEquals(holds, AddressRange.parse(range).contains(Objects.requireNonNull(AddressRange.literal(address))));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "", "localhost", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/0", "::/0", "::1/129", "10.0.0.0/8/8", "10.0.0",
                "10.0.0.256", "010.0.0.1", " 10.0.0.1", "1", "::1%", ":", "10.0.0.0/-8", "10.0.0.0/08", "%eth0"
            })
    void everythingElseIsNone(String text) {
        assertThrows(IllegalArgumentException.class, () -> AddressRange.parse(text));
    }

    @Test
    void aZoneIsLeftOut() {
        assertEquals(AddressRange.literal("fe80::1"), AddressRange.literal("fe80::1%eth0"));
        assertNotNull(AddressRange.literal("fe80::1"));
        assertNull(AddressRange.literal("vps.example"));
    }
}
