package dev.fencepost.edge.systemd;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.host.Event;
import dev.fencepost.host.ManualTime;
import dev.fencepost.host.Programs;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SupervisionTest {

    private static final Map<String, String> ENVIRONMENT =
            Map.of("NOTIFY_SOCKET", "/run/notify", "WATCHDOG_USEC", "90000000", "WATCHDOG_PID", "42", "SECRET", "x");
    private static final int LOOKS_IN_FIVE_MINUTES = 300;

    private final ManualTime time = new ManualTime(Instant.parse("2026-03-01T12:00:00Z"));
    private final List<Event> events = new ArrayList<>();
    private final Manager manager = new Manager();
    private final Told service = new Told();
    private final Supervision supervision = supervision(ENVIRONMENT);

    private Supervision supervision(Map<String, String> environment) {
        Supervision made = Supervision.of(environment, 42, service, manager, time, () -> 123, events::add);
        assertNotNull(made);
        return made;
    }

    @Test
    void whereNobodyListensThereIsNone() {
        assertNull(
                Supervision.of(Map.of("WATCHDOG_USEC", "90000000"), 42, service, manager, time, () -> 0, events::add));
        assertNull(Supervision.of(Map.of("NOTIFY_SOCKET", ""), 42, service, manager, time, () -> 0, events::add));
    }

    @Test
    void isNotReadyBeforeTheServiceHasBegun() throws Exception {
        service.begun = false;
        service.status = "starting";
        seconds(3);
        assertEquals(List.of(List.of("STATUS=starting")), manager.messages);
        service.begun = true;
        service.status = "idle";
        seconds(1);
        assertEquals(List.of("READY=1", "WATCHDOG=1", "STATUS=idle"), manager.messages.getLast());
        seconds(LOOKS_IN_FIVE_MINUTES);
        assertEquals(1, manager.saying("READY=1").size());
    }

    @Test
    void pingsAThirdOfTheWatchdogsTimeApart() throws Exception {
        seconds(LOOKS_IN_FIVE_MINUTES);
        assertEquals(10, manager.saying("WATCHDOG=1").size());
    }

    @Test
    void pingsStopWhileALoopStandsStillAndComeBackWithIt() throws Exception {
        seconds(1);
        service.standstill = "planning of job a hangs or does not come";
        manager.messages.clear();
        seconds(LOOKS_IN_FIVE_MINUTES);
        assertEquals(List.of(), manager.saying("WATCHDOG=1"));
        assertEquals(1, events.size());
        assertTrue(events.getFirst().toString().contains("planning of job a hangs"), events::toString);
        service.standstill = null;
        seconds(1);
        assertEquals(1, manager.saying("WATCHDOG=1").size());
    }

    @Test
    void aStatusIsToldWhenItChangesAndNotEachSecond() throws Exception {
        Supervision unwatched = supervision(Map.of("NOTIFY_SOCKET", "/run/notify"));
        for (int i = 0; i < 100; i++) {
            service.status = "next a at " + i;
            turn(unwatched);
        }
        assertEquals(10, manager.messages.size());
        for (int i = 0; i < 100; i++) {
            turn(unwatched);
        }
        assertEquals(11, manager.messages.size());
        assertEquals(List.of("STATUS=next a at 99"), manager.messages.getLast());
    }

    @Test
    void aStatusIsOneShortLineWhateverStandsInIt() throws Exception {
        service.status = "the store refuses\nWATCHDOG=1\n" + "x".repeat(2_000);
        seconds(1);
        String status = manager.messages.getFirst().getLast();
        assertTrue(status.startsWith("STATUS=the store refuses\\x0aWATCHDOG=1"), status);
        assertTrue(status.length() < 520, status);
    }

    @Test
    void aReloadIsToldInOrderWithTheTimeOfItsBegin() throws Exception {
        seconds(1);
        manager.messages.clear();
        supervision.reloading();
        supervision.reloaded();
        seconds(1);
        assertEquals(
                List.of(List.of("RELOADING=1", "MONOTONIC_USEC=123", "STATUS=idle"), List.of("READY=1", "STATUS=idle")),
                manager.messages);
    }

    @Test
    void aReloadBeforeTheStartIsDoneMakesNothingReady() throws Exception {
        service.begun = false;
        supervision.reloading();
        supervision.reloaded();
        seconds(5);
        assertEquals(List.of(List.of("STATUS=idle")), manager.messages);
    }

    @Test
    void aStopIsToldWithTheTimeThatItMayTakeAndPingsGoOnWhileItLasts() throws Exception {
        seconds(1);
        supervision.stopping(Duration.ofSeconds(49));
        service.status = "stopping";
        seconds(1);
        assertEquals(
                List.of("STOPPING=1", "EXTEND_TIMEOUT_USEC=49000000", "STATUS=stopping"), manager.messages.getLast());
        manager.messages.clear();
        seconds(60);
        assertEquals(2, manager.saying("WATCHDOG=1").size());
        supervision.end(Duration.ofSeconds(1));
        manager.messages.clear();
        seconds(60);
        assertEquals(List.of(), manager.messages);
    }

    @Test
    void whatDidNotArriveIsToldAgainWithGrowingDistanceNotedOnceAndCounted() throws Exception {
        manager.failure = "Connection refused";
        seconds(LOOKS_IN_FIVE_MINUTES);
        assertTrue(manager.messages.size() <= 15, manager.messages.size() + " tries in five minutes");
        assertEquals(manager.messages.size(), supervision.failures());
        assertEquals(1, events.size());
        assertTrue(
                events.getFirst().toString().contains("Connection refused")
                        && events.getFirst().toString().contains("READY=1"),
                events::toString);
        manager.failure = null;
        manager.messages.clear();
        seconds(31);
        assertEquals("READY=1", manager.messages.getFirst().getFirst());
        manager.messages.clear();
        manager.failure = "gone again";
        supervision.reloading();
        supervision.reloaded();
        seconds(1);
        manager.failure = null;
        seconds(2);
        assertEquals(2, manager.saying("RELOADING=1").size());
        assertEquals(1, manager.saying("READY=1").size());
    }

    @Test
    void aProgramThatIsMissingOrNoThreadToBeHadIsAFailureLikeOthers() throws Exception {
        manager.thrown = new IOException("systemd-notify cannot be started: it is in no directory of PATH");
        seconds(1);
        manager.error = new OutOfMemoryError("unable to create native thread");
        seconds(10);
        assertTrue(supervision.failures() >= 2);
        assertEquals(1, events.size());
    }

    @Test
    void theProgramGetsTheSocketAndNoSecretsAndMayNotTakeForEver() throws Exception {
        seconds(1);
        assertEquals("systemd-notify", manager.command.getFirst());
        assertEquals(Map.of("NOTIFY_SOCKET", "/run/notify", "LC_ALL", "C.UTF-8"), manager.environment);
        assertTrue(manager.limit.compareTo(Duration.ofSeconds(10)) < 0);
        assertFalse(manager.command.contains("--no-block"));
        assertFalse(manager.command.stream().anyMatch(word -> word.startsWith("--pid") || word.startsWith("MAINPID")));
    }

    @ParameterizedTest
    @CsvSource({"90000000, 42, 90000", "90000000, '', 90000", "90000000, 43,", "0, 42,", "soon, 42,", "'', 42,"})
    void theWatchdogIsThatOfThisProcess(String micros, String pid, @Nullable Long millis) {
        Duration found = Supervision.watchdog(Map.of("WATCHDOG_USEC", micros, "WATCHDOG_PID", pid), 42);
        assertEquals(millis == null ? null : Duration.ofMillis(millis), found);
    }

    private void seconds(int count) throws InterruptedException {
        for (int i = 0; i < count; i++) {
            turn(supervision);
        }
    }

    private void turn(Supervision of) throws InterruptedException {
        of.turn();
        time.pass(Duration.ofSeconds(1));
    }

    private static final class Told implements Supervision.Service {
        private boolean begun = true;
        private @Nullable String standstill;
        private String status = "idle";

        @Override
        public boolean hasBegun() {
            return begun;
        }

        @Override
        public @Nullable String standstill() {
            return standstill;
        }

        @Override
        public String status() {
            return status;
        }
    }

    /** In the place of systemd-notify and who listens to it. */
    private static final class Manager implements Programs {
        private final List<List<String>> messages = new ArrayList<>();
        private List<String> command = List.of();
        private Map<String, String> environment = Map.of();
        private Duration limit = Duration.ZERO;
        private @Nullable String failure;
        private @Nullable IOException thrown;
        private @Nullable Error error;

        private List<List<String>> saying(String word) {
            return messages.stream().filter(words -> words.contains(word)).toList();
        }

        @Override
        public Ended run(
                List<String> words,
                Map<String, String> variables,
                @Nullable Path workingDir,
                byte[] stdin,
                Duration atMost)
                throws IOException {
            command = words;
            environment = variables;
            limit = atMost;
            if (error != null) {
                throw error;
            }
            if (thrown != null) {
                throw thrown;
            }
            messages.add(words.subList(1, words.size()));
            String why = failure == null ? "" : failure;
            return new Ended(why.isEmpty() ? 0 : 1, "".getBytes(StandardCharsets.UTF_8), why, false);
        }
    }
}
