package dev.fencepost.edge.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class OutputPatternTest {

    @Test
    void isLookedForAnywhereInALineAndCaseCounts() {
        OutputPattern pattern = OutputPattern.parse("login (expired|revoked)");
        assertTrue(pattern.isFoundIn("error: login expired, sorry"));
        assertFalse(pattern.isFoundIn("error: Login expired"));
        assertTrue(OutputPattern.parse("(?i)LOGIN").isFoundIn("the login"));
        assertFalse(OutputPattern.parse("^login$").isFoundIn("a login"));
    }

    @Test
    void theGroupUntilIsRead() {
        OutputPattern pattern = OutputPattern.parse("usage limit .* until (?P<until>\\S+)");
        assertEquals(
                Optional.of("2026-03-29T01:00:00Z"), pattern.until("usage limit reached until 2026-03-29T01:00:00Z"));
        assertEquals(Optional.empty(), pattern.until("no limit"));
        assertEquals(Optional.of("5"), OutputPattern.parse("(?<until>[0-9]+)|x").until("at 5"));
        assertEquals(
                Optional.empty(), OutputPattern.parse("(?<until>[0-9]+)|x").until("at x"), "the group took no part");
        assertEquals(Optional.empty(), OutputPattern.parse("limit").until("limit"), "there is no such group");
    }

    @Test
    void anExpressionThatRunsAwayElsewhereTakesTimeInProportionToTheLine() {
        OutputPattern pattern = OutputPattern.parse("^(a+)+$");
        String line = "a".repeat(50_000) + "!";
        assertFalse(assertTimeoutPreemptively(Duration.ofSeconds(20), () -> pattern.isFoundIn(line)));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '~',
            quoteCharacter = '`',
            value = {
                "a(b ~ missing closing ) at its end",
                "a(b)c)d ~ unexpected ) at character 6",
                "ab[c ~ missing closing ] at character 3",
                "(a*|*b) ~ missing argument to repetition operator at character 5",
                "a** ~ invalid nested repetition operator at character 2",
                "abc\\ ~ trailing backslash at end of expression at its end",
                "abc\\q+ ~ invalid escape sequence at character 4",
                "x(?=y) ~ at character 2",
                "a(?<!x)y ~ at character 2",
                "(a)\\1 ~ invalid escape sequence at character 4",
                "[z-a] ~ at character 2",
                "a{1001} ~ at character 2",
                "(?P<n>a)(?P<n>b) ~ duplicate capture group name at character 13"
            })
    void whatIsWrongIsToldWithItsPlace(String text, String message) {
        BadValueException e = assertThrows(BadValueException.class, () -> OutputPattern.parse(text));
        assertTrue(String.valueOf(e.getMessage()).endsWith(message), e.getMessage());
        assertTrue(e.hint().contains("RE2"), e.hint());
    }

    /** Each beginning of it that is tried is compiled. */
    @Test
    void thePlaceOfALateMistakeIsFoundSoon() {
        String text = "(a{100}){100}" + "b".repeat(900) + "[z-a]";
        BadValueException e = assertTimeoutPreemptively(
                Duration.ofSeconds(10), () -> assertThrows(BadValueException.class, () -> OutputPattern.parse(text)));
        assertTrue(String.valueOf(e.getMessage()).endsWith("at character 915"), e.getMessage());
    }

    @Test
    void countsThatLeaveMuchOpenDoNotOverflowTheStack() throws Exception {
        assertThrows(BadValueException.class, () -> OutputPattern.parse("(a{1,1000}|b)*"));
        assertThrows(BadValueException.class, () -> OutputPattern.parse("a{0,200}b{0,101}"));
        assertTrue(OutputPattern.parse("a{1000}").isFoundIn("a".repeat(1000)));
        String deepest = "(?:".repeat(240) + "a{0,300}" + ")".repeat(240);
        AtomicReference<Throwable> failure = new AtomicReference<>();
        Thread small = new Thread(null, () -> OutputPattern.parse(deepest).isFoundIn("aa"), "small", 512 << 10);
        small.setUncaughtExceptionHandler((thread, e) -> failure.set(e));
        small.start();
        small.join();
        assertNull(failure.get());
    }

    @Test
    void fiftyGroupsAreEnough() {
        assertTrue(OutputPattern.parse("(a)".repeat(50)).isFoundIn("a".repeat(50)));
        assertTrue(OutputPattern.parse("(?:a)".repeat(100)).isFoundIn("a".repeat(100)));
        BadValueException e = assertThrows(BadValueException.class, () -> OutputPattern.parse("(a)".repeat(51)));
        assertTrue(String.valueOf(e.getMessage()).contains("51 groups, the limit is 50"), e.getMessage());
    }

    @Test
    void theMemoryOfAnExpressionIsBounded() {
        assertThrows(BadValueException.class, () -> OutputPattern.parse("((a{1000}){1000}){1000}"));
        assertTrue(OutputPattern.parse("(?:\\d{1,3}\\.){3}\\d{1,3}").isFoundIn("at 10.0.0.1"));
        assertThrows(BadValueException.class, () -> OutputPattern.parse("(a{300}){300}"));
        assertTrue(OutputPattern.parse("(a{100}){100}").cost() < 20_000);
        assertThrows(BadValueException.class, () -> OutputPattern.parse("a".repeat(1001)));
    }

    @Test
    void whatCanNeverBeFoundInALineIsRefused() {
        assertThrows(BadValueException.class, () -> OutputPattern.parse("a\nb"));
        assertThrows(BadValueException.class, () -> OutputPattern.parse("\bword\b"));
        assertThrows(BadValueException.class, () -> OutputPattern.parse(""));
        assertTrue(OutputPattern.parse("a b\n").isFoundIn("a b"), "the line end of a YAML block has no meaning");
    }

    @ParameterizedTest
    @CsvSource({".*, true", "a|, true", "x*, true", "^$, false", ".+, false", "\\S, false"})
    void whatIsFoundEverywhereIsKnown(String text, boolean everywhere) {
        assertEquals(everywhere, OutputPattern.parse(text).isFoundEverywhere());
    }
}
