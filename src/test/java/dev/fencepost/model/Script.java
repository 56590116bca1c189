package dev.fencepost.model;

import dev.fencepost.model.Step.Verb;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Collectors;

/** Steps to be taken one after the other. The same text is the same script. */
record Script(List<Step> steps) {

    private static final int SHORTEST = 10;
    private static final int LONGEST = 60;
    private static final int NUMBERS = 12;

    Script {
        steps = List.copyOf(steps);
    }

    /** The script of a seed. @param weights how often each verb comes, beside the others */
    static Script of(long seed, Map<Verb, Integer> weights) {
        Random random = new Random(seed * 0x9E3779B97F4A7C15L);
        List<Verb> urn = weights.entrySet().stream()
                .sorted(Map.Entry.comparingByKey())
                .flatMap(entry -> java.util.Collections.nCopies(entry.getValue(), entry.getKey()).stream())
                .toList();
        List<Step> steps = new ArrayList<>();
        int length = random.nextInt(SHORTEST, LONGEST + 1);
        for (int i = 0; i < length; i++) {
            steps.add(new Step(urn.get(random.nextInt(urn.size())), number(random), number(random), number(random)));
        }
        return new Script(steps);
    }

    /** Rather a small one: those choose what is newest, and what is plain. */
    private static int number(Random random) {
        return Math.min(random.nextInt(NUMBERS), random.nextInt(NUMBERS));
    }

    static Script parse(String text) {
        return new Script(Arrays.stream(text.split(";"))
                .filter(step -> !step.isBlank())
                .map(Step::parse)
                .toList());
    }

    Script without(int from, int to) {
        List<Step> rest = new ArrayList<>(steps.subList(0, from));
        rest.addAll(steps.subList(to, steps.size()));
        return new Script(rest);
    }

    Script with(int index, Step step) {
        List<Step> changed = new ArrayList<>(steps);
        changed.set(index, step);
        return new Script(changed);
    }

    @Override
    public String toString() {
        return steps.stream().map(Step::toString).collect(Collectors.joining("; "));
    }
}
