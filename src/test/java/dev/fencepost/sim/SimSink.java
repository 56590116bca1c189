package dev.fencepost.sim;

import dev.fencepost.effect.Delivery;
import dev.fencepost.effect.Effect;
import dev.fencepost.effect.ReadBack;
import dev.fencepost.effect.Receipt;
import dev.fencepost.effect.Sink;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * A receiver with a memory of what it accepted. One that checks knows keys and tokens; one that does not takes what comes, and can say
 * afterwards only what it has, never what it will not get.
 */
final class SimSink implements Sink {

    private static final Duration LIMIT = Duration.ofSeconds(10);

    private static final Delivery UNKNOWN = new Delivery.Unknown("no answer, says the seed");

    private final World world;
    private final String name;
    private final boolean checks;
    private final boolean answers;
    private final Map<String, Integer> acceptedByKey = new LinkedHashMap<>();
    private final Map<String, Long> highest = new LinkedHashMap<>();
    private final Map<String, String> highestRun = new LinkedHashMap<>();

    /** @param answers whether it tells what it has: else one that knows keys is sent the same again */
    SimSink(World world, String name, boolean checks, boolean answers) {
        this.world = world;
        this.name = name;
        this.checks = checks;
        this.answers = answers;
    }

    Map<String, Integer> accepted() {
        return acceptedByKey;
    }

    @Override
    public Duration timeLimit() {
        return LIMIT;
    }

    @Override
    public Duration lockDelay() {
        return checks ? Duration.ZERO : LIMIT.multipliedBy(2);
    }

    @Override
    public boolean isIdempotent() {
        return checks;
    }

    @Override
    public int maxTries() {
        return 0;
    }

    /** What is on its way arrives whatever becomes of who sent it. */
    @Override
    public Delivery deliver(Effect effect) throws InterruptedException {
        if (world.trouble(0.05)) {
            world.happened("a sink is busy");
            world.sleep(Duration.ofMillis(world.random().nextInt(300)));
            return new Delivery.NotNow("busy, says the seed", null);
        }
        boolean lostThere = world.trouble(0.05);
        boolean lostBack = world.trouble(0.08);
        if (lostThere) {
            world.happened("an effect does not arrive");
        } else if (lostBack) {
            world.happened("an answer of a sink is lost");
        }
        Delivery[] answer = new Delivery[1];
        long arrival = world.scheduler().now() + world.random().nextInt(world.trouble(0.3) ? 8_000 : 300);
        world.scheduler().at(arrival, () -> answer[0] = lostThere ? UNKNOWN : accept(effect));
        world.await(LIMIT, () -> answer[0] != null, () -> Long.MAX_VALUE);
        world.sleep(Duration.ofMillis(world.random().nextInt(300)));
        return answer[0] == null || lostBack ? UNKNOWN : answer[0];
    }

    private Delivery accept(Effect effect) {
        Receipt receipt = new Receipt(name + " has " + effect.key());
        if (checks) {
            if (acceptedByKey.containsKey(effect.key())) {
                world.happened("an effect comes again");
                return new Delivery.Confirmed(receipt);
            }
            String resource = effect.pair().resource();
            long known = highest.getOrDefault(resource, 0L);
            long shown = effect.fence().value();
            String run = effect.runId().toString();
            if (shown < known || (shown == known && !run.equals(highestRun.get(resource)))) {
                return new Delivery.Refused("knows a newer token", known);
            }
            highest.put(resource, shown);
            highestRun.put(resource, run);
        }
        int times = acceptedByKey.merge(effect.key(), 1, Integer::sum);
        world.witness().effectAccepted(name, checks, effect, times);
        return new Delivery.Confirmed(receipt);
    }

    @Override
    public ReadBack readBack(Effect effect) throws InterruptedException {
        world.sleep(Duration.ofMillis(world.random().nextInt(200)));
        if (world.trouble(0.1)) {
            return new ReadBack.NoAnswer("no answer, says the seed");
        }
        if (answers && acceptedByKey.containsKey(effect.key())) {
            return new ReadBack.Found(new Receipt(name + " has " + effect.key()));
        }
        return new ReadBack.CannotTell("it is not there, and may still come", false);
    }
}
