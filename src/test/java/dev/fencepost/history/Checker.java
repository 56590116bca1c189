package dev.fencepost.history;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** Reads the histories of a folder and tells what in them may not be. */
public final class Checker {

    private static final List<Rule> RULES = List.of(
            LeaseRules::acceptedOnce,
            LeaseRules::staleHolderChangesNothing,
            LeaseRules::tokensRise,
            LeaseRules::ownerIsOneIncarnation,
            ChildRules::deadBeforeTheNext,
            ChildRules::deadWithItsRunner,
            ChildRules::nothingIsLeft,
            TickRules::outcomeIsWrittenOnce,
            TickRules::allOrNone,
            TickRules::oneKeyForASlot,
            TickRules::noSlotIsLost,
            TickRules::reclaimedInTime,
            EffectRules::tokensNeverFallAtASink,
            EffectRules::onceByKey,
            EffectRules::nothingWithoutCompletion,
            EffectRules::noneIsLost);

    private Checker() {}

    public static List<Violation> check(Path folder) {
        return check(History.read(folder));
    }

    public static List<Violation> check(History history) {
        List<Violation> found = new ArrayList<>();
        for (String text : history.unreadable()) {
            found.add(new Violation("HISTORY", "a line that nobody can read: " + text, List.of()));
        }
        for (Rule rule : RULES) {
            rule.check(history, (name, text, evidence) -> found.add(new Violation(name, text, List.of(evidence))));
        }
        return found;
    }

    /** The first ones of them, for a message. */
    public static String words(List<Violation> violations) {
        return violations.size() + " violations\n"
                + violations.stream().limit(20).map(Violation::toString).collect(Collectors.joining("\n"));
    }
}
