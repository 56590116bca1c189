package dev.fencepost.history;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The checker sees what may not be, each kind for itself, and is silent about what may. Quotes in the lines are single ones here. */
class CheckerTest {

    @TempDir
    @SuppressWarnings("NullAway.Init")
    Path folder;

    /**
     * @param rule that is broken by the lines before and {@code wrong}, and by no one else; with {@code right} in its place nothing is
     */
    record Case(String name, String rule, String common, String wrong, String right) {
        @Override
        public String toString() {
            return name;
        }
    }

    private static final String CLOCK = "{'up':0,'what':'clock','wall':1000000}\n";
    private static final String OWNER = "n/b/1/77/5/x";
    private static final String NODE = "{'up':10,'what':'node','node':'a','pid':77}\n";

    private static String row(String table, String columns) {
        return "{'up':9000,'what':'row','store':'main','table':'" + table + "'," + columns + "}\n";
    }

    private static String attempt(String run, int fence, String outcome, long started, long ended) {
        return row(
                "attempt",
                "'run_id':'" + run + "','job':'j','slot_key':'s" + fence + "','number':1,'fence':" + fence
                        + ",'owner':'" + OWNER + "','started_at':" + started + ",'ended_at':" + ended + ",'outcome':'"
                        + outcome + "'");
    }

    private static String tick(String slot, long at, String run, String outcome) {
        return row(
                "tick",
                "'job':'j','slot_key':'" + slot + "','slot_at':" + at + ",'run_id':'" + run + "','outcome':'" + outcome
                        + "'");
    }

    private static String event(int id, int fence, String run, String reason) {
        return row(
                "write_event",
                "'id':" + id + ",'resource':'j','fence':" + fence + ",'run_id':'" + run + "','accepted':true,'reason':'"
                        + reason + "'");
    }

    private static String child(String what, long up, int token, String run) {
        return "{'up':" + up + ",'what':'" + what + "','job':'j','slot':'s" + token + "','key':'j@s" + token
                + "','token':" + token + ",'run':'" + run + "','owner':'" + OWNER + "'}\n";
    }

    private static String request(long up, int token, String run, String key, String body, String answer) {
        return "{'up':" + up + ",'what':'request','sink':'k','checks':true,'resource':'j','token':" + token + ",'run':'"
                + run + "','key':'" + key + "','body':'" + body + "','answer':'" + answer + "'}\n";
    }

    private static String effect(String key, String run, String state) {
        return row(
                "effect",
                "'key':'" + key + "','job':'j','slot_key':'s1','name':'e','sink':'k','run_id':'" + run + "','state':'"
                        + state + "','announced_at':1002000");
    }

    private static String granted(long sent, long up, int token, String run) {
        return "{'up':" + up + ",'what':'granted','resource':'j','token':" + token + ",'run':'" + run
                + "','owner':'w','sent':" + sent + "}\n";
    }

    private static String call(long asked, long answered, int token, String run, boolean accepted) {
        String call = "'operation':'renew','resource':'j','token':" + token + ",'run':'" + run + "'";
        return "{'up':" + asked + ",'what':'try'," + call + "}\n{'up':" + answered + ",'what':'answer'," + call
                + ",'accepted':" + accepted + "}\n";
    }

    /** A success with all that belongs to it. */
    private static final String SUCCESS = attempt("r1", 1, "SUCCEEDED", 1001000, 1002000)
            + tick("s1", 1001000, "r1", "SUCCEEDED")
            + event(1, 1, "r1", "SUCCEEDED");

    private static final String SETTLED = "{'up':8000,'what':'settled','until':1002000}\n";

    static List<Case> cases() {
        return List.of(
                new Case(
                        "one token completes twice",
                        "S1",
                        event(1, 1, "r1", "DONE"),
                        event(2, 1, "r1", "DONE"),
                        event(2, 2, "r2", "DONE")),
                new Case(
                        "one token is told twice that it has completed",
                        "S1",
                        "{'up':1,'what':'answer','operation':'complete','resource':'j','token':1,'run':'r1','accepted':true}\n",
                        "{'up':2,'what':'answer','operation':'complete','resource':'j','token':1,'run':'r1','accepted':true}\n",
                        "{'up':2,'what':'answer','operation':'complete','resource':'j','token':1,'run':'r1','accepted':false}\n"),
                new Case(
                        "a slot succeeds twice",
                        "S1",
                        SUCCESS
                                + attempt("r1", 1, "SUCCEEDED", 1001000, 1002000)
                                        .replace("main", "lost"),
                        attempt("r2", 2, "SUCCEEDED", 1003000, 1004000)
                                .replace("s2", "s1")
                                .replace("main", "lost"),
                        attempt("r2", 2, "ABANDONED", 1003000, 1004000)
                                .replace("s2", "s1")
                                .replace("main", "lost")),
                new Case(
                        "a token falls at the sink",
                        "S1",
                        SUCCESS
                                + attempt("r2", 2, "SUCCEEDED", 1003000, 1004000)
                                + tick("s2", 1003000, "r2", "SUCCEEDED")
                                + event(2, 2, "r2", "SUCCEEDED")
                                + effect("j@s1/e", "r1", "CONFIRMED")
                                + effect("j@s2/e", "r2", "CONFIRMED").replace("s1'", "s2'")
                                + request(100, 2, "r2", "j@s2/e", "b2", "taken"),
                        request(200, 1, "r1", "j@s1/e", "b1", "taken"),
                        request(200, 1, "r1", "j@s1/e", "b1", "refused")),
                new Case(
                        "a twin's token is accepted at the sink",
                        "S1",
                        SUCCESS
                                + effect("j@s1/e", "r1", "CONFIRMED")
                                + effect("j@s1/f", "r1", "CONFIRMED").replace("'e'", "'f'")
                                + request(100, 1, "r1", "j@s1/e", "b1", "taken")
                                + attempt("r2", 2, "SUCCEEDED", 1003000, 1004000)
                                + tick("s2", 1003000, "r2", "SUCCEEDED")
                                + event(2, 2, "r2", "SUCCEEDED"),
                        request(200, 1, "r2", "j@s1/f", "b1", "taken"),
                        request(200, 1, "r1", "j@s1/f", "b1", "taken")),
                new Case(
                        "a stale holder renews",
                        "S2",
                        granted(1, 2, 1, "r1") + granted(50, 60, 2, "r2"),
                        call(70, 80, 1, "r1", true),
                        call(70, 80, 1, "r1", false)),
                new Case(
                        "a call that was answered late was accepted in time",
                        "S2",
                        granted(1, 2, 1, "r1") + granted(50, 60, 2, "r2"),
                        call(61, 80, 1, "r1", true),
                        call(40, 80, 1, "r1", true)),
                new Case(
                        "an end comes after that of a newer token",
                        "S2",
                        event(1, 2, "r2", "DONE"),
                        event(2, 1, "r1", "DONE"),
                        event(2, 3, "r3", "DONE")),
                new Case(
                        "a failure is stored although the slot was granted anew",
                        "S2",
                        attempt("r2", 2, "ABANDONED", 1003000, 1009000),
                        attempt("r1", 1, "FAILED", 1001000, 1004000),
                        attempt("r1", 1, "FAILED", 1001000, 1003000)),
                new Case(
                        "a child lives beside its successor",
                        "S3",
                        NODE + child("start", 100, 1, "r1") + child("start", 500, 2, "r2"),
                        child("stamp", 600, 1, "r1"),
                        child("stamp", 500, 1, "r1")),
                new Case(
                        "a child lives on after its runner was woken",
                        "S3",
                        NODE + child("start", 100, 1, "r1") + child("start", 500, 2, "r2")
                                + "{'up':200,'what':'stop','pid':77}\n{'up':700,'what':'cont','pid':77}\n",
                        child("stamp", 1800, 1, "r1"),
                        child("stamp", 650, 1, "r1")),
                new Case(
                        "a child of before a promotion may meet the one after it",
                        "S3",
                        NODE
                                + child("start", 100, 1, "r1")
                                + child("start", 500, 2, "r2")
                                + child("stamp", 600, 1, "r1"),
                        "{'up':50,'what':'promoted'}\n",
                        "{'up':400,'what':'promoted'}\n"),
                new Case(
                        "a child outlives its runner",
                        "S3",
                        NODE + child("start", 100, 1, "r1") + "{'up':200,'what':'kill','pid':77}\n",
                        child("stamp", 1300, 1, "r1"),
                        child("stamp", 250, 1, "r1")),
                new Case(
                        "a process is left",
                        "S4",
                        NODE,
                        "{'up':100,'what':'left','pid':5,'run':'r1','words':'sleep'}\n",
                        child("start", 100, 1, "r1")),
                new Case(
                        "one token is of two runs",
                        "S5",
                        granted(1, 2, 1, "r1"),
                        granted(1, 3, 1, "r2"),
                        granted(1, 3, 2, "r2")),
                new Case(
                        "one run has two tokens",
                        "S5",
                        granted(1, 2, 1, "r1"),
                        granted(1, 3, 2, "r1"),
                        granted(1, 3, 1, "r1")),
                new Case(
                        "a later grant has a lower token",
                        "S5",
                        granted(1, 2, 2, "r1"),
                        granted(3, 4, 1, "r2"),
                        granted(3, 4, 3, "r2")),
                new Case(
                        "the earlier attempt has the higher token",
                        "S5",
                        attempt("r1", 2, "ABANDONED", 1001000, 1002000),
                        attempt("r2", 1, "ABANDONED", 1003000, 1004000),
                        attempt("r2", 3, "ABANDONED", 1003000, 1004000)),
                new Case(
                        "the lease's token has fallen",
                        "S5",
                        granted(1, 2, 7, "r1"),
                        row("lease", "'resource':'j','fence':6"),
                        row("lease", "'resource':'j','fence':7")),
                new Case(
                        "an owner works after its end",
                        "S6",
                        NODE + "{'up':200,'what':'kill','pid':77}\n",
                        child("start", 1500, 1, "r1"),
                        child("start", 150, 1, "r1")),
                new Case(
                        "one owner is two starts of a service",
                        "S6",
                        NODE + child("start", 100, 1, "r1") + "{'up':200,'what':'end','pid':77}\n"
                                + "{'up':300,'what':'node','node':'a','pid':77}\n",
                        child("start", 400, 2, "r2"),
                        child("start", 400, 2, "r2").replace(OWNER, "n/b/1/77/6/y")),
                new Case(
                        "nobody is the owner",
                        "S6",
                        NODE,
                        child("start", 100, 1, "r1").replace("/77/", "/78/"),
                        child("start", 100, 1, "r1")),
                new Case(
                        "a tick is seen with two outcomes",
                        "S8",
                        "{'up':100,'what':'seen','job':'j','slot':'s1','outcome':'SUCCEEDED','run':'r1'}\n" + SUCCESS,
                        "{'up':200,'what':'seen','job':'j','slot':'s1','outcome':'ABANDONED','run':'r1'}\n",
                        "{'up':200,'what':'seen','job':'j','slot':'s1','outcome':'SUCCEEDED','run':'r1'}\n"),
                new Case(
                        "a tick has another outcome at the end",
                        "S8",
                        SUCCESS,
                        "{'up':200,'what':'seen','job':'j','slot':'s1','outcome':'ABANDONED','run':'r1'}\n",
                        "{'up':200,'what':'seen','job':'j','slot':'s1','outcome':'ABANDONED','run':'r1'}\n"
                                + "{'up':300,'what':'promoted'}\n"),
                new Case(
                        "a tick that had an outcome is gone",
                        "S8",
                        SUCCESS,
                        "{'up':200,'what':'seen','job':'j','slot':'s2','outcome':'SUCCEEDED','run':'r2'}\n",
                        "{'up':200,'what':'seen','job':'j','slot':'s1','outcome':'SUCCEEDED','run':'r1'}\n"),
                new Case(
                        "a slot is in a range and has a row",
                        "S8",
                        SUCCESS,
                        tick("s9", 1005000, "", "DROPPED").replace("'run_id'", "'range_first':1001000,'run_id'"),
                        tick("s9", 1005000, "", "DROPPED").replace("'run_id'", "'range_first':1002000,'run_id'")),
                new Case(
                        "a success without its tick",
                        "S9",
                        attempt("r1", 1, "SUCCEEDED", 1001000, 1002000) + event(1, 1, "r1", "SUCCEEDED"),
                        tick("s1", 1001000, "r1", "ABANDONED"),
                        tick("s1", 1001000, "r1", "SUCCEEDED")),
                new Case(
                        "a success without its event",
                        "S9",
                        attempt("r1", 1, "SUCCEEDED", 1001000, 1002000) + tick("s1", 1001000, "r1", "SUCCEEDED"),
                        event(1, 1, "r2", "DONE").replace("'j'", "'work:i'"),
                        event(1, 1, "r1", "SUCCEEDED")),
                new Case(
                        "a tick without its success",
                        "S9",
                        attempt("r1", 1, "ABANDONED", 1001000, 1002000),
                        tick("s1", 1001000, "r1", "SUCCEEDED"),
                        tick("s1", 1001000, "r1", "ABANDONED")),
                new Case(
                        "an accepted end without its attempt",
                        "S9",
                        attempt("r1", 1, "ABANDONED", 1001000, 1002000) + tick("s1", 1001000, "r1", "ABANDONED"),
                        event(1, 1, "r1", "FAILED"),
                        event(1, 1, "r1", "FAILED").replace("true", "false")),
                new Case(
                        "a success without its effect",
                        "S9",
                        SUCCESS + NODE + child("start", 100, 1, "r1"),
                        child("done", 200, 1, "r1").replace("'token'", "'effects':'e','token'"),
                        child("done", 200, 1, "r1")),
                new Case(
                        "a success whose command never came to its end",
                        "S9",
                        SUCCESS + NODE + child("start", 100, 1, "r1"),
                        child("stamp", 200, 1, "r1"),
                        child("done", 200, 1, "r1")),
                new Case(
                        "an effect without its success",
                        "S9",
                        SUCCESS,
                        effect("j@s1/e", "r9", "PENDING"),
                        effect("j@s1/e", "r1", "PENDING")),
                new Case(
                        "a tick beyond the cursor",
                        "S9",
                        SUCCESS,
                        row("job", "'id':'j','cursor_at':1000999"),
                        row("job", "'id':'j','cursor_at':1001000")),
                new Case(
                        "an effect of a run that did not succeed arrives",
                        "S9",
                        SUCCESS + attempt("r2", 2, "ABANDONED", 1003000, 1004000) + effect("j@s1/e", "r1", "CONFIRMED"),
                        request(100, 2, "r2", "j@s1/e", "b", "taken"),
                        request(100, 2, "r1", "j@s1/e", "b", "taken")),
                new Case(
                        "an effect takes place twice",
                        "S15",
                        SUCCESS + effect("j@s1/e", "r1", "CONFIRMED") + request(100, 1, "r1", "j@s1/e", "b", "taken"),
                        request(200, 1, "r1", "j@s1/e", "b", "taken"),
                        request(200, 1, "r1", "j@s1/e", "b", "again")),
                new Case(
                        "an effect arrives twice where nobody checks",
                        "S15",
                        SUCCESS
                                + effect("j@s1/e", "r1", "CONFIRMED")
                                + (request(100, 1, "r1", "j@s1/e", "b", "taken")
                                                + request(200, 1, "r1", "j@s1/e", "b", "taken"))
                                        .replace("true", "false"),
                        "{'up':50,'what':'promoted'}\n",
                        "{'up':150,'what':'promoted'}\n"),
                new Case(
                        "one key has two contents",
                        "S15",
                        SUCCESS + effect("j@s1/e", "r1", "CONFIRMED") + request(100, 1, "r1", "j@s1/e", "b", "taken"),
                        request(200, 1, "r1", "j@s1/e", "c", "again"),
                        request(200, 1, "r1", "j@s1/e", "b", "again")),
                new Case(
                        "a receipt is of what never arrived",
                        "S15",
                        SUCCESS + "{'up':1,'what':'sink','sink':'k','checks':true}\n",
                        effect("j@s1/e", "r1", "CONFIRMED"),
                        effect("j@s1/e", "r1", "UNKNOWN")),
                new Case(
                        "one slot has two keys",
                        "S17",
                        NODE + child("start", 100, 1, "r1"),
                        child("start", 200, 2, "r2").replace("'slot':'s2'", "'slot':'s1'"),
                        child("start", 200, 2, "r2")),
                new Case(
                        "two slots have one key",
                        "S17",
                        NODE + child("start", 100, 1, "r1"),
                        child("start", 200, 2, "r2").replace("j@s2", "j@s1"),
                        child("start", 200, 2, "r2")),
                new Case(
                        "an effect has a key that is not its slot's",
                        "S17",
                        SUCCESS,
                        effect("j@s7/e", "r1", "PENDING"),
                        effect("j@s1/e", "r1", "PENDING")),
                new Case(
                        "a slot is lost",
                        "LOSS",
                        "{'up':1,'what':'job','job':'j','ttl':3000,'interval':1000,'from':1000500}\n" + SETTLED
                                + SUCCESS,
                        tick("s3", 1003000, "", "SKIPPED_OVERLAP"),
                        tick("s2", 1002000, "", "SKIPPED_OVERLAP")),
                new Case(
                        "an effect is lost",
                        "LOSS",
                        "{'up':1,'what':'sink','sink':'k','checks':true}\n" + SETTLED + SUCCESS
                                + effect("j@s1/e", "r1", "REFUSED"),
                        request(100, 1, "r1", "j@s1/e", "b", "refused"),
                        request(100, 1, "r1", "j@s1/e", "b", "taken")),
                new Case(
                        "an effect waits for ever",
                        "LOSS",
                        "{'up':1,'what':'sink','sink':'k','checks':false}\n" + SETTLED + SUCCESS,
                        effect("j@s1/e", "r1", "PENDING"),
                        effect("j@s1/e", "r1", "UNKNOWN")),
                new Case(
                        "a dead holder's slot is taken late",
                        "L1",
                        CLOCK + "{'up':1,'what':'job','job':'j','ttl':3000,'interval':1000,'from':1000500}\n" + NODE
                                + "{'up':1500,'what':'kill','pid':77}\n"
                                + attempt("r1", 1, "ABANDONED", 1001000, 1007100),
                        attempt("r2", 2, "ABANDONED", 1007100, 1008000)
                                .replace("s2", "s1")
                                .replace("'number':1", "'number':2"),
                        attempt("r2", 2, "ABANDONED", 1006900, 1008000)
                                .replace("s2", "s1")
                                .replace("'number':1", "'number':2")),
                new Case(
                        "a late take-over is no fault while the database is away",
                        "L1",
                        CLOCK + "{'up':1,'what':'job','job':'j','ttl':3000,'interval':1000,'from':1000500}\n" + NODE
                                + "{'up':1500,'what':'kill','pid':77}\n"
                                + attempt("r1", 1, "ABANDONED", 1001000, 1009100)
                                + attempt("r2", 2, "ABANDONED", 1009100, 1009900)
                                        .replace("s2", "s1")
                                        .replace("'number':1", "'number':2"),
                        "{'up':9500,'what':'database','state':'down'}\n",
                        "{'up':2500,'what':'database','state':'down'}\n"));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("cases")
    void isSeenAndItsRightTwinIsNot(Case each) throws IOException {
        List<Violation> wrong = check(each.common() + each.wrong());
        assertEquals(Set.of(each.rule()), rules(wrong), () -> Checker.words(wrong));
        assertTrue(
                wrong.stream().allMatch(violation -> violation.toString().contains("h.jsonl:")),
                () -> "the evidence: " + Checker.words(wrong));
        List<Violation> right = check(each.common() + each.right());
        assertEquals(List.of(), right, () -> Checker.words(right));
    }

    private List<Violation> check(String lines) throws IOException {
        Files.writeString(folder.resolve("h.jsonl"), lines.replace('\'', '"'));
        return Checker.check(folder);
    }

    private static Set<String> rules(List<Violation> violations) {
        return violations.stream().map(Violation::rule).collect(Collectors.toSet());
    }

    @Test
    void aTornLastLineIsCountedAndAnyOtherOneIsTold() throws IOException {
        assertEquals(List.of(), check(NODE + "{'up':30,'what':'no"));
        assertEquals(1, History.read(folder).torn());
        assertEquals(1, History.read(folder).lines().size());

        List<Violation> violations = check("{'up':30,'what':'no\n" + NODE + "{'what':'kill','pid':1}\n");
        assertEquals(Set.of("HISTORY"), rules(violations));
        assertEquals(2, violations.size());
    }

    @Test
    void linesOfAllFilesAreReadInTheOrderOfTheirTimes() throws IOException {
        try (HistoryFile one = new HistoryFile(folder, "one");
                HistoryFile two = new HistoryFile(folder, "two")) {
            one.write("stop", "pid", 7);
            two.write("cont", "pid", 7, "why", null);
        }
        Files.writeString(folder.resolve("zero.jsonl"), "{\"up\":1,\"what\":\"node\",\"pid\":7}\n");
        Files.writeString(folder.resolve("other.txt"), "not a history");
        History history = History.read(folder);
        assertEquals(3, history.files());
        assertEquals(
                List.of("node", "stop", "cont"),
                history.lines().stream().map(line -> line.text("what")).toList());
        assertTrue(history.lines().getLast().up() >= history.lines().get(1).up());
        assertFalse(history.lines().getLast().has("why"));
    }
}
