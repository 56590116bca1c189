package dev.fencepost.schedule;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.schedule.Cron.Dialect;
import java.time.Duration;
import java.time.ZoneId;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A refusal comes at once and says which field, which text, and what to write instead. */
class CronRefusalTest {

    private static final ZoneId ZONE = ZoneId.of("Europe/Berlin");

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            */0 * * * *              | minute "*/0"          | write 1 or more
            0 0-12/0 * * *           | hour "0-12/0"         | write 1 or more
            15/00 * * * *            | minute "15/00"        | step 0
            */90 * * * *             | minute "*/90"         | every: 90m
            */60 * * * *             | minute "*/60"         | every: 60m
            0/120 * * * *            | minute "0/120"        | every: 120m
            0 */36 * * *             | hour "*/36"           | every: 36h
            0 */24 * * *             | hour "*/24"           | every: 24h
            */75 * * * * ?           | second "*/75"         | every: 75s
            0 0 */40 * *             | day-of-month "*/40"   | every: 960h
            0 0 1 */13 *             | month "*/13"          | write a step up to 12
            */99999999999999 * * * * | minute                | write a step up to 59
            60 * * * *               | minute "60"           | write 0-59
            99999999999999999 * * * *| minute                | write 0-59
            0 24 * * *               | hour "24"             | write 0-23
            0 0 0 * *                | day-of-month "0"      | write 1-31
            0 0 32 * *               | day-of-month "32"     | write 1-31
            0 0 * 13 *               | month "13"            | write 1-12 or JAN-DEC
            0 0 * * 8                | day-of-week "8"       | write 0-7 or SUN-SAT
            0 0 0 ? * 0              | day-of-week "0"       | write 1-7 or SUN-SAT
            0 0 0 1 * ? 2100         | year "2100"           | write 1970-2099
            0 0 0 1 * ? 26           | year "26"             | write 1970-2099
            0 0 * * 5-0              | day-of-week "5-0"     | write 5-SUN
            0 0 * * FRI-MON          | day-of-week "FRI-MON" | write FRI-SUN,MON
            0 0 * * 5-2              | day-of-week "5-2"     | write 5-SUN,MON-2
            0 0 * * 7-5              | day-of-week "7-5"     | write SUN-5
            0 0 0 ? * 6-1            | day-of-week "6-1"     | write 6-SUN
            0 0 0 ? * FRI-TUE        | day-of-week "FRI-TUE" | write FRI-SUN,MON-TUE
            50-10 * * * *            | minute "50-10"        | write 50-59,0-10
            0 22-6 * * *             | hour "22-6"           | write 22-23,0-6
            0 0 1 NOV-FEB *          | month "NOV-FEB"       | write NOV-12,1-FEB
            5,50-10 * * * *          | minute "5,50-10"      | write 50-59,0-10
            0 0 * * MON12345         | day-of-week           | write MON
            0 0 * * MONDAY           | day-of-week "MONDAY"  | write MON
            0 0 1 APRIL *            | month "APRIL"         | write APR
            0 0 * * TUE,FOO          | day-of-week "TUE,FOO" | "FOO" is no value
            MON * * * *              | minute "MON"          | write 0-59
            H * * * *                | minute "H"            | write 0-59
            1.5 * * * *              | minute "1.5"          | write 0-59
            +5 * * * *               | minute "+5"           | write 0-59
            -5 * * * *               | minute "-5"           | no negative numbers
            ٣ * * * *                | minute "٣"            | digits 0-9
            ５ * * * *               | minute "５"           | digits 0-9
            0 0 * * fr\u0131         | day-of-week           | unexpected
            1,,2 * * * *             | minute "1,,2"         | one comma
            1,2, * * * *             | minute "1,2,"         | one comma
            , * * * *                | minute ","            | one comma
            5-10/2/3 * * * *         | minute "5-10/2/3"     | write one
            /5 * * * *               | minute "/5"           | write */5
            5/ * * * *               | minute "5/"           | whole number after the /
            */x * * * *              | minute "*/x"          | whole number after the /
            1-2-3 * * * *            | minute "1-2-3"        | write two values
            1- * * * *               | minute "1-"           | write two values
            ** * * * *               | minute "**"           | mixes signs
            *5 * * * *               | minute "*5"           | mixes signs
            *-5 * * * *              | minute "*-5"          | mixes signs
            0 0 ? * *                | day-of-month "?"      | write *
            0 0 L * *                | day-of-month "L"      | Quartz dialect
            0 0 15W * *              | day-of-month "15W"    | Quartz dialect
            0 0 * * 5#2              | day-of-week "5#2"     | Quartz dialect
            0 0 * * FRIL             | day-of-week "FRIL"    | Quartz dialect
            ? 0 0 1 * ?              | second "?"            | write *
            0 0 0 ?,5 * ?            | day-of-month "?,5"    | mixes signs
            0 0 0 * * *              | day-of-month "*"      | exactly one of the two is ?
            0 0 0 ? * ?              | day-of-week "?"       | exactly one of the two is ?
            0 30 17 4 1 * 2016       | day-of-month "4"      | exactly one of the two is ?
            0 0 0 L-31 * ?           | day-of-month "L-31"   | L-1 to L-30
            0 0 0 L-3W * ?           | day-of-month "L-3W"   | LW
            0 0 0 32W * ?            | day-of-month "32W"    | write 1-31
            0 0 0 1-L * ?            | day-of-month "1-L"    | write 1-31
            0 0 0 ? * 6#6            | day-of-week "6#6"     | 6L for the last
            0 0 0 ? * 6#0            | day-of-week "6#0"     | #1 to #5
            0 0 0 ? * L-3            | day-of-week "L-3"     | write 1-7
            0 0!10 * * *             | hour "0!10"           | unexpected
            """)
    void aFieldAtFaultIsNamedWithItsTextAndWhatToWrite(String expression, String field, String instead) {
        String message = refusal(expression);
        assertTrue(message.contains(field == null ? "" : field) && message.contains(instead), message);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', ignoreLeadingAndTrailingWhitespace = true, textBlock = """
            @reboot                      | no boot event
            @every 5m                    | every: 5m
            @EVERY                       | every: 5m
            @fortnightly                 | @daily
            @daily 5                     | unknown macro
            TZ=Europe/Berlin 0 9 * * *   | zone: Europe/Berlin
            cron_tz=Asia/Tokyo 0 9 * * * | zone: Asia/Tokyo
            0 9 * * * # mornings         | no comment
            # 0 9 * * *                  | no comment
            0 0 * *                      | 4 fields
            0 9 * * * a b c d            | 9 fields
            0 0 30 2 *                   | never fires
            0 0 31 2,4,6,9,11 *          | at most 30 days
            0 0 31 2 */2                 | never fires
            0 0 0 31W 2,4 ?              | never fires
            0 0 0 29 2 ? 2097-2099       | no date of year "2097-2099"
            0 0 0 L-30 4 ?               | never fires
            0 * 2 29 3 ? 2026            | jumps over
            """)
    void otherFormsAreRefusedByName(String expression, String reason) {
        String message = refusal(expression);
        assertTrue(message.contains(reason), message);
    }

    @Test
    void blanksOfOtherKindsAndLineBreaksSeparateNothing() {
        assertTrue(refusal("0\u00a09 * * *").contains("U+00A0"));
        assertTrue(refusal("0\u30009 * * *").contains("U+3000"));
        assertTrue(refusal("0 9 * * *\n0 10 * * *").contains("U+000A"));
        assertTrue(refusal(" \t ").contains("empty"));
    }

    @Test
    void whatHidesOrTurnsLinesAroundIsNamedInMessages() {
        assertTrue(refusal("@\u2028y").contains("\"@\\u2028y\""));
        String zone = refusal("TZ=a\u202eb 0 9 * * *");
        assertTrue(zone.endsWith("zone: a\\u202eb"), zone);
        String every = refusal("@every 5m\u202e");
        assertTrue(every.endsWith("every: 5m\\u202e"), every);
    }

    @Test
    void aVeryLongExpressionIsRefusedWithAShortMessage() {
        String message = refusal("0,".repeat(100_000) + "0 * * * *");
        assertTrue(message.contains("the limit is 1000") && message.length() < 300, message);
        String field = refusal("0".repeat(900) + "5-3 * * * *");
        assertTrue(field.contains("too long for one value") && field.length() < 500, field);
    }

    @Test
    void theDialectAskedForDecidesTheNumberOfFields() {
        assertTrue(refusal("0 30 6 * * *", Dialect.UNIX).contains("the unix dialect has 5"));
        assertTrue(refusal("30 6 * * *", Dialect.QUARTZ).contains("6 or 7"));
        assertTrue(refusal("0 0 0 1 * ? 2030 x", Dialect.QUARTZ).contains("8 fields"));
        assertTrue(refusal("@daily", Dialect.QUARTZ).contains("unix dialect"));
    }

    private static String refusal(String expression) {
        return message(() -> Cron.parse(expression, ZONE));
    }

    private static String refusal(String expression, Dialect dialect) {
        return message(() -> Cron.parse(expression, dialect, ZONE));
    }

    private static String message(Runnable parse) {
        return assertTimeoutPreemptively(
                Duration.ofSeconds(1),
                () -> String.valueOf(
                        assertThrows(ScheduleException.class, parse::run).getMessage()));
    }
}
