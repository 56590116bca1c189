package dev.fencepost.history;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** What happened, in numbers, as a page of Markdown. */
public final class Figures {

    private static final long BUCKET_MILLIS = 500;

    private final History history;
    private final StringBuilder page = new StringBuilder();

    private Figures(History history) {
        this.history = history;
    }

    /** @param title what was done to whom, and how to do it again */
    public static String of(History history, String title, List<Violation> violations) {
        Figures figures = new Figures(history);
        figures.line("### " + title, "");
        figures.slots();
        figures.effects();
        figures.refusals();
        figures.lost();
        figures.reclaims();
        figures.line(
                history.lines().size() + " lines of " + history.files() + " processes and files, " + history.torn()
                        + " torn by kills. Violations: " + violations.size() + ".",
                "");
        violations.forEach(violation -> figures.line(violation.toString(), ""));
        return figures.page.toString();
    }

    private void line(String... lines) {
        for (String line : lines) {
            page.append(line).append('\n');
        }
    }

    private void slots() {
        if (history.all("job").isEmpty()) {
            return;
        }
        long until = history.all("settled").getLast().number("until");
        line(
                "| job | slots due | by outcome | successes (slots with more than one) | attempts | abandoned or lost | longest gap between successes |",
                "|---|---|---|---|---|---|---|");
        for (Line job : history.all("job")) {
            String id = job.text("job");
            TreeMap<Long, Line> ticks = new TreeMap<>();
            rows("tick", "job", id).forEach(tick -> ticks.put(tick.number("slot_at"), tick));
            Map<String, Long> outcomes = new TreeMap<>();
            long due = 0;
            for (long slot = TickRules.firstSlot(job); slot <= until; slot += job.number("interval")) {
                due++;
                Line tick = TickRules.tickOf(ticks, slot);
                outcomes.merge(tick == null || !tick.has("outcome") ? "NONE" : tick.text("outcome"), 1L, Long::sum);
            }
            Set<String> counted = ticks.values().stream()
                    .filter(tick ->
                            tick.number("slot_at") >= TickRules.firstSlot(job) && tick.number("slot_at") <= until)
                    .map(tick -> tick.text("slot_key"))
                    .collect(Collectors.toSet());
            List<Line> attempts = rows("attempt", "job", id).stream()
                    .filter(attempt -> counted.contains(attempt.text("slot_key")))
                    .toList();
            List<Line> successes = attempts.stream()
                    .filter(attempt -> attempt.text("outcome").equals("SUCCEEDED"))
                    .toList();
            Map<String, Long> bySlot = count(successes, "slot_key");
            long broken = attempts.stream()
                    .filter(attempt -> Set.of("ABANDONED", "LEASE_LOST").contains(attempt.text("outcome")))
                    .count();
            line("| " + id + " | " + due + " | " + words(outcomes) + " | " + successes.size() + " ("
                    + bySlot.values().stream().filter(n -> n > 1).count() + ") | " + attempts.size() + " | " + broken
                    + " | " + longestGap(successes) + " |");
        }
        line("");
    }

    private List<Line> rows(String table, String column, String value) {
        return history.rows(table).stream()
                .filter(row -> row.text(column).equals(value))
                .toList();
    }

    private static Map<String, Long> count(List<Line> lines, String name) {
        return lines.stream()
                .collect(Collectors.groupingBy(line -> line.text(name), TreeMap::new, Collectors.counting()));
    }

    private static String words(Map<String, Long> counts) {
        return counts.entrySet().stream()
                .map(entry -> entry.getValue() + " " + entry.getKey())
                .collect(Collectors.joining(", "));
    }

    private static String longestGap(List<Line> successes) {
        List<Long> ends = successes.stream()
                .map(success -> success.number("ended_at"))
                .sorted()
                .toList();
        long longest = 0;
        for (int i = 1; i < ends.size(); i++) {
            longest = Math.max(longest, ends.get(i) - ends.get(i - 1));
        }
        return seconds(longest);
    }

    private static String seconds(long millis) {
        return millis / 1000 + "." + millis % 1000 / 100 + " s";
    }

    private void effects() {
        line(
                "| receiver | requests | keys taken (more than once) | answered again | refused | effects in the store |",
                "|---|---|---|---|---|---|");
        for (Line sink : history.all("sink")) {
            List<Line> requests = history.all("request").stream()
                    .filter(request -> request.text("sink").equals(sink.text("sink")))
                    .toList();
            Map<String, Long> answers = count(requests, "answer");
            List<Line> taken = requests.stream()
                    .filter(request -> request.text("answer").equals("taken"))
                    .toList();
            Map<String, Long> keys = count(taken, "key");
            line("| " + sink.text("sink") + (sink.truth("checks") ? ", checks" : ", checks nothing") + " | "
                    + requests.size() + " | " + keys.size() + " ("
                    + keys.values().stream().filter(n -> n > 1).count() + ") | "
                    + answers.getOrDefault("again", 0L) + " | " + answers.getOrDefault("refused", 0L) + " | "
                    + words(count(rows("effect", "sink", sink.text("sink")), "state")) + " |");
        }
        line("");
    }

    private void refusals() {
        List<Line> refused = history.rows("write_event").stream()
                .filter(event -> !event.truth("accepted"))
                .toList();
        line("Writes refused by the store: " + refused.size() + " (" + words(count(refused, "reason")) + ").", "");
        List<Line> answers = history.all("answer").stream()
                .filter(answer -> answer.truth("stale"))
                .toList();
        if (!answers.isEmpty()) {
            line("| tried by a stale holder | times | accepted | refused |", "|---|---|---|---|");
            new TreeMap<>(LeaseRules.by(answers, "operation")).forEach((operation, all) -> {
                long accepted =
                        all.stream().filter(answer -> answer.truth("accepted")).count();
                Map<String, Long> reasons = count(
                        all.stream().filter(answer -> !answer.truth("accepted")).toList(), "reason");
                line("| " + operation + " | " + all.size() + " | " + accepted + " | " + words(reasons) + " |");
            });
            line("");
        }
    }

    /** Ends that were acknowledged and that a promotion took away. */
    private void lost() {
        int promotions = history.all("promoted").size();
        if (promotions == 0) {
            return;
        }
        List<Line> lost = lostSuccesses(history);
        Map<String, List<Line>> again = new HashMap<>();
        for (Line attempt : history.rows("attempt")) {
            again.computeIfAbsent(attempt.text("job") + "@" + attempt.text("slot_key"), none -> new ArrayList<>())
                    .add(attempt);
        }
        line("Promotions: " + promotions + ". Successes that a lost primary alone had: " + lost.size() + ".", "");
        if (!lost.isEmpty()) {
            line("| slot | token of the success that was lost | then |", "|---|---|---|");
        }
        for (Line attempt : lost) {
            String slot = attempt.text("job") + "@" + attempt.text("slot_key");
            String then = again.getOrDefault(slot, List.of()).stream()
                    .map(next -> next.text("outcome") + " under " + next.number("fence"))
                    .collect(Collectors.joining(", "));
            line("| " + slot + " | " + attempt.number("fence") + " | "
                    + (then.isEmpty() ? "no further attempt: " + outcome(slot) : then) + " |");
        }
        line("");
    }

    /** Attempts whose success only a lost primary has. */
    public static List<Line> lostSuccesses(History history) {
        Map<String, Line> kept = TickRules.index(history.rows("attempt"), "run_id");
        return history.rowsOfAll("attempt").stream()
                .filter(attempt -> !attempt.text("store").equals(History.MAIN)
                        && attempt.text("outcome").equals("SUCCEEDED")
                        && !isSuccess(kept.get(attempt.text("run_id"))))
                .toList();
    }

    private static boolean isSuccess(@Nullable Line attempt) {
        return attempt != null && attempt.text("outcome").equals("SUCCEEDED");
    }

    private String outcome(String slot) {
        return history.rows("tick").stream()
                .filter(tick -> slot.equals(tick.text("job") + "@" + tick.text("slot_key")))
                .map(tick -> tick.text("outcome"))
                .findFirst()
                .orElse("in a range, or not planned");
    }

    private void reclaims() {
        List<Reclaim> reclaims = Reclaim.all(history);
        if (reclaims.isEmpty()) {
            return;
        }
        long bound = reclaims.stream().mapToLong(Reclaim::ttlMillis).max().orElseThrow() + TickRules.POLL_MILLIS;
        TreeMap<Long, Integer> buckets = new TreeMap<>();
        reclaims.forEach(reclaim -> buckets.merge(reclaim.millis() / BUCKET_MILLIS, 1, Integer::sum));
        List<Long> sorted = reclaims.stream().map(Reclaim::millis).sorted().toList();
        line(
                "Slots of dead holders that were tried again: " + reclaims.size()
                        + "; from the holder's end to the next"
                        + " grant: median " + seconds(sorted.get(sorted.size() / 2)) + ", longest "
                        + seconds(sorted.getLast()) + "; ttl + poll is " + seconds(bound) + ".",
                "",
                "| after | slots | |",
                "|---|---|---|");
        for (long bucket = buckets.firstKey(); bucket <= buckets.lastKey(); bucket++) {
            int n = buckets.getOrDefault(bucket, 0);
            line("| " + seconds(bucket * BUCKET_MILLIS) + " | " + n + " | " + "#".repeat(Math.min(n, 60)) + " |");
        }
        line("");
    }
}
