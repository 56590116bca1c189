package dev.fencepost.history;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/** What arrives outside. */
final class EffectRules {

    private EffectRules() {}

    /** S1: at a receiver that checks them, accepted tokens never fall. */
    static void tokensNeverFallAtASink(History history, Rule.Report report) {
        Map<String, Line> highest = new HashMap<>();
        for (Line request : history.all("request")) {
            if (!request.truth("checks") || !request.text("answer").equals("taken")) {
                continue;
            }
            String place = request.text("sink") + " " + request.text("resource");
            Line before = highest.put(place, request);
            if (before != null && request.number("token") < before.number("token")) {
                report.violated("S1", "an accepted token has fallen at the sink", before, request);
            }
            if (before != null
                    && request.number("token") == before.number("token")
                    && !request.text("run").equals(before.text("run"))) {
                report.violated("S1", "one token of two runs was accepted at the sink", before, request);
            }
        }
    }

    /**
     * S15: a key always has the same content. It takes effect once at a receiver that checks; at another it arrives once, but for what a
     * promotion made the store forget.
     */
    static void onceByKey(History history, Rule.Report report) {
        Map<String, Line> taken = new HashMap<>();
        Map<String, Line> contents = new HashMap<>();
        for (Line request : history.all("request")) {
            if (request.text("answer").equals("refused")) {
                continue;
            }
            Line same = contents.putIfAbsent(request.text("key"), request);
            if (same != null && !same.text("body").equals(request.text("body"))) {
                report.violated("S15", "one key with two contents", same, request);
            }
            if (!request.text("answer").equals("taken")) {
                continue;
            }
            Line before = taken.put(request.text("sink") + " " + request.text("key"), request);
            if (before != null && (request.truth("checks") || !history.promotedBetween(before.up(), request.up()))) {
                report.violated("S15", "an effect took place twice", before, request);
            }
        }
    }

    /** S9: nothing is sent before the completion that announced it is stored. */
    static void nothingWithoutCompletion(History history, Rule.Report report) {
        Set<String> succeeded = history.rowsOfAll("attempt").stream()
                .filter(attempt -> attempt.text("outcome").equals("SUCCEEDED"))
                .map(attempt -> attempt.text("run_id"))
                .collect(Collectors.toSet());
        Map<String, Line> effects = TickRules.index(history.rowsOfAll("effect"), "key");
        for (Line request : history.all("request")) {
            if (request.text("answer").equals("refused")) {
                continue;
            }
            if (!effects.containsKey(request.text("key"))) {
                report.violated("S9", "an effect that no store knows arrived", request);
            } else if (!succeeded.contains(request.text("run"))) {
                report.violated("S9", "an effect arrived whose run has not succeeded", request);
            }
        }
    }

    /** S15: a receipt is of something that arrived; and at the end nothing is lost at a receiver that checks, and nothing still waits. */
    static void noneIsLost(History history, Rule.Report report) {
        Set<String> arrived = history.all("request").stream()
                .filter(request -> !request.text("answer").equals("refused"))
                .map(request -> request.text("sink") + " " + request.text("key"))
                .collect(Collectors.toSet());
        Map<String, Line> sinks = TickRules.index(history.all("sink"), "sink");
        for (Line effect : history.rows("effect")) {
            String state = effect.text("state");
            Line sink = sinks.get(effect.text("sink"));
            boolean there = arrived.contains(effect.text("sink") + " " + effect.text("key"));
            if (state.equals("CONFIRMED") && sink != null && !there) {
                report.violated("S15", "a receipt of what never arrived", effect);
            }
            boolean old = history.all("settled").stream()
                    .anyMatch(settled -> effect.number("announced_at") <= settled.number("until"));
            if (sink == null || !old) {
                continue;
            }
            if (state.equals("PENDING") || state.equals("SENDING")) {
                report.violated("LOSS", "an effect still waits", effect);
            } else if (sink.truth("checks") && !there) {
                report.violated("LOSS", "an effect never arrived", effect);
            }
        }
    }
}
