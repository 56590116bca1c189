package dev.fencepost.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.effect.Announcement;
import dev.fencepost.effect.Content;
import dev.fencepost.effect.Effect;
import dev.fencepost.effect.EffectState;
import dev.fencepost.effect.Outbox.Order;
import dev.fencepost.effect.Pair;
import dev.fencepost.effect.Receipt;
import dev.fencepost.effect.Settlement;
import dev.fencepost.lease.FencingToken;
import dev.fencepost.lease.Lease;
import dev.fencepost.run.Completion;
import dev.fencepost.run.Completion.Deferral;
import dev.fencepost.run.Completion.Further;
import dev.fencepost.run.Job;
import dev.fencepost.run.Outcome;
import dev.fencepost.run.Pause;
import dev.fencepost.schedule.Backlog.OpenTick;
import dev.fencepost.schedule.Plan;
import dev.fencepost.schedule.Plan.NewTick;
import dev.fencepost.schedule.Plan.SlotRange;
import dev.fencepost.schedule.Plan.TakeOver;
import dev.fencepost.schedule.Slot;
import dev.fencepost.work.Artifact;
import dev.fencepost.work.Body;
import dev.fencepost.work.Grant;
import dev.fencepost.work.ItemResult;
import dev.fencepost.work.NewItem;
import dev.fencepost.work.WorkAnswer;
import dev.fencepost.work.WorkItem;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * What is done to one job, lease, effect or item leaves every other one as it is. The others are in all states, and are like the one in
 * everything but its name: the same owner, the same token, the same slots, the same sink.
 */
abstract class BystandersContract extends Contract {

    /** In the names of what is dealt with, and in no other name. */
    private static final String MINE = "mine-";

    private static final String SINK = "sink";
    private static final String QUEUE = "bystanders";

    private Job mine;
    private String item;

    private static Completion successWith(String job, String key) {
        Content content = new Content("text/plain", null, job.getBytes(StandardCharsets.UTF_8));
        return new Completion(
                Outcome.SUCCEEDED,
                true,
                true,
                0,
                null,
                null,
                null,
                null,
                List.of(new Announcement("http", key, SINK, content, content.digest(SINK), Duration.ofDays(9))));
    }

    private static Settlement settlement(EffectState state) {
        Receipt receipt = state == EffectState.CONFIRMED ? new Receipt("201") : null;
        boolean unknown = state == EffectState.UNKNOWN;
        return new Settlement(state, receipt, "said so", null, unknown, unknown || state == EffectState.DEAD, null);
    }

    private static Pair pair(Job job) {
        return new Pair(SINK, job.id());
    }

    private Effect begun(Job job, Lease sender) {
        Effect effect = assertNotNull(store().next(pair(job)));
        store().begin(sender, effect);
        return effect;
    }

    /** As its sender knows it: of what it has read, the key, the pair and the number of tries count. */
    private static Effect begunAnew(Effect read) {
        return new Effect(
                read.key(),
                read.job(),
                read.slotKey(),
                read.name(),
                read.pair(),
                read.fence(),
                read.runId(),
                read.content(),
                read.announcedAt(),
                read.expiresAt(),
                EffectState.PENDING,
                0,
                true,
                false,
                0,
                null,
                read.now());
    }

    private Lease sender(Job job) {
        return granted(pair(job).leaseResource(), ANNA);
    }

    @BeforeEach
    void surround() {
        mine = job(MINE + newName());
        item = MINE + newName();
        List<Job> others = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            others.add(job(newName()));
        }
        List<Job> all = new ArrayList<>(others);
        all.add(mine);
        store().register(all);

        Job dead = others.get(0);
        applied(dead, opening(slot(2).at(), slot(0), slot(1), slot(2)));
        running(dead, slot(0), ANNA);
        String unclaimed = newName();
        store().enqueue(new NewItem(unclaimed, QUEUE, null, 0, null, 1));
        store().claimItem(unclaimed, ANNA, newRun(), TTL);
        pass(TTL);

        Job running = others.get(1);
        applied(running, opening(slot(2).at(), slot(0), slot(1), slot(2)));
        running(running, slot(0), ANNA);
        Job waiting = others.get(2);
        applied(waiting, opening(slot(1).at(), slot(0), slot(1)));
        store().trigger(waiting.id(), List.of(slot(1), slot(2)), false, null, "ann");
        Job failed = others.get(3);
        stored(running(failed, slot(0), ANNA), failure("no"));
        stored(running(failed, slot(1), ANNA), notTheLast(Outcome.FAILED));
        stored(running(failed, slot(2), ANNA), failure("no"));
        applied(failed, dropping(failed));
        store().pause(failed.id(), store().now().plusSeconds(30), Pause.Cause.PERSON, null, "ann");
        Job stopped = others.get(4);
        running(stopped, slot(0), ANNA);
        store().cancel(stopped.id(), null, "ann");
        List<EffectState> states = List.of(
                EffectState.PENDING, EffectState.SENDING, EffectState.UNKNOWN, EffectState.CONFIRMED, EffectState.DEAD);
        for (int i = 0; i < states.size(); i++) {
            EffectState state = states.get(i);
            Job job = others.get(5 + i);
            stored(running(job, slot(0), ANNA), successWith(job.id(), newName()));
            Lease sender = sender(job);
            if (state != EffectState.PENDING) {
                Effect effect = begun(job, sender);
                if (state != EffectState.SENDING) {
                    assertTrue(store().sent(sender, effect, settlement(state)));
                }
            }
        }

        store().enqueue(new NewItem(newName(), QUEUE, null, 0, null, 3));
        store().enqueue(new NewItem(newName(), QUEUE, null, 0, store().now().plusSeconds(60), 3));
        for (int i = 0; i < 4; i++) {
            String id = newName();
            store().enqueue(new NewItem(id, QUEUE, null, 0, null, 3));
            Grant grant = claimed(id);
            store().addArtifact(grant, artifact(grant));
            switch (i) {
                case 0 -> store().complete(grant, null);
                case 1 -> store().fail(grant, "no", null);
                case 2 -> store().fail(grant, "no", Duration.ofSeconds(30));
                default -> {}
            }
        }
        store().setCapacity(QUEUE, 100);
    }

    private Plan dropping(Job job) {
        SlotRange range = new SlotRange(2, slot(2).at(), slot(3).at());
        return new Plan(cursor(job), null, range, null, List.of(), List.of(), List.of(), 0, List.of());
    }

    private Grant claimed(String id) {
        WorkItem claimed = assertInstanceOf(WorkAnswer.Done.class, store().claimItem(id, ANNA, newRun(), TTL))
                .item();
        return new Grant(claimed.id(), claimed.owner(), new FencingToken(claimed.fence()), claimed.runId());
    }

    private static Artifact artifact(Grant grant) {
        return new Artifact(grant.id(), grant.fence().value(), "a.txt", null, 1, "00", Instant.EPOCH);
    }

    /** All that the store holds of others. */
    private String others() {
        StringBuilder all = new StringBuilder();
        for (String each : List.of(
                "lease resource",
                "job id",
                "tick job",
                "attempt job",
                "effect job",
                "effect_content content",
                "sink_fence resource",
                "work_item id",
                "work_artifact item",
                "work_fence id",
                "work_queue queue")) {
            String table = each.split(" ")[0];
            String name = each.split(" ")[1];
            String condition = table.equals("effect_content")
                    ? "key in (select key from effect where job not like '%" + MINE + "%')"
                    : name + " not like '%" + MINE + "%'";
            site().rows("select * from " + table + " where " + condition).stream()
                    .map(row -> table + row)
                    .sorted()
                    .forEach(row -> all.append(row).append('\n'));
        }
        all.append(site().count("write_event where resource not like '%" + MINE + "%'"));
        all.append(site().count("job_event where job not like '%" + MINE + "%'"));
        return all.toString();
    }

    private String whatIsMine() {
        return everything(mine.id())
                + site().rows("select * from lease where resource like '%" + MINE + "%'")
                + site().rows("select * from work_item where id = '" + item + "'")
                + site().rows("select * from work_artifact where item = '" + item + "'")
                + site().rows("select * from work_queue where queue like '%" + MINE + "%'");
    }

    private void aside(String what, Runnable done) {
        String before = others();
        String mineBefore = whatIsMine();
        done.run();
        assertNotEquals(mineBefore, whatIsMine(), what + " has done nothing");
        assertEquals(before, others(), what);
    }

    @Test
    void ofALease() {
        String resource = mine.id();
        aside("claim", () -> granted(resource, ANNA));
        Lease lease = view(resource).lease();
        pass(Duration.ofSeconds(1));
        aside("renew", () -> renewed(lease, TTL));
        aside("release", () -> assertTrue(store().release(lease).isEmpty()));
        aside("claim again", () -> granted(resource, ANNA));
        aside("break", () -> store().breakLease(resource, "test"));
        granted(resource, ANNA);
        pass(TTL);
        aside("claim what is over", () -> granted(resource, ANNA));
    }

    @Test
    void ofARun() {
        aside("start", () -> running(mine, slot(0), ANNA));
        aside("complete", () -> stored(view(mine.id()).lease(), successWith(mine.id(), MINE + newName())));
        Lease further = running(mine, slot(1), ANNA);
        aside(
                "complete and wait",
                () -> stored(
                        further,
                        new Completion(
                                Outcome.FAILED,
                                false,
                                false,
                                1,
                                null,
                                "no",
                                null,
                                null,
                                List.of(),
                                new Further(null, Duration.ofSeconds(5), new Deferral(null, Duration.ofSeconds(5))))));
        pass(Duration.ofSeconds(5));
        Lease lost = running(mine, slot(1), ANNA);
        aside("end as lost", () -> assertTrue(store().endAsLost(lost, "lost", List.of())));
        Lease abandoned = running(mine, slot(2), ANNA);
        aside("abandon", () -> assertEquals(1, store().abandon(abandoned, true).size()));
        running(mine, slot(2), ANNA);
        aside("break", () -> store().breakLease(mine.id(), "test"));
        aside("reopen", () -> store().start(mine, slot(2), ANNA, newRun(), true));
        store().cancel(mine.id(), null, "ann");
        pass(TTL);
        aside("start after the dead", () -> running(mine, slot(3), ANNA));
    }

    /** Slots of the same job are others too. */
    @Test
    void ofASlot() {
        applied(mine, opening(slot(3).at(), slot(0), slot(1), slot(2), slot(3)));
        stored(running(mine, slot(0), ANNA), success());
        stored(running(mine, slot(1), ANNA), failure("no"));
        for (int i = 0; i < 3; i++) {
            stored(
                    running(mine, slot(2), ANNA),
                    new Completion(Outcome.TIMED_OUT, false, false, 1, null, "no", null, null));
        }
        applied(
                mine,
                new Plan(
                        slot(5).at(),
                        null,
                        new SlotRange(1, slot(4).at(), slot(4).at()),
                        null,
                        List.of(slot(5)),
                        List.of(),
                        List.of(),
                        0,
                        List.of()));
        store().trigger(mine.id(), List.of(Slot.manual(store().now(), MINE + newName())), false, null, "ann");

        Slot slot = slot(6);
        asideFrom(slot, "open", () -> applied(mine, opening(slot.at(), slot)));
        asideFrom(slot, "start", () -> running(mine, slot, ANNA));
        asideFrom(slot, "complete", () -> stored(view(mine.id()).lease(), notTheLast(Outcome.ABANDONED)));
        asideFrom(slot, "end as lost", () -> store().endAsLost(running(mine, slot, ANNA), "lost", List.of()));
        asideFrom(
                slot,
                "close",
                () -> applied(mine, closing(cursor(mine), List.of(new OpenTick(slot, true, 2, 2, false)))));
        assertEquals(Outcome.LEASE_LOST, outcome(mine, slot));
        asideFrom(slot, "reopen", () -> store().start(mine, slot, ANNA, newRun(), true));
        asideFrom(slot, "fail", () -> stored(view(mine.id()).lease(), failure("no")));
        asideFrom(slot, "trigger", () -> store().trigger(mine.id(), List.of(slot), true, null, "ann"));
        asideFrom(slot, "start again", () -> running(mine, slot, ANNA));
        asideFrom(slot, "abandon", () -> store().abandon(view(mine.id()).lease(), true));

        Slot next = slot(7);
        applied(mine, opening(next.at(), next));
        running(mine, slot, ANNA);
        applied(mine, closing(cursor(mine), List.of(new OpenTick(next, true, 0, 1, false))));
        assertNull(outcome(mine, next), "tries at other slots are not its own");
        asideFrom(
                next,
                "close beside a run",
                () -> applied(mine, closing(cursor(mine), List.of(new OpenTick(next, true, 0, 0, false)))));
        assertEquals(Outcome.DROPPED, outcome(mine, next));
        Slot last = slot(8);
        applied(mine, opening(last.at(), last));
        asideFrom(
                last,
                "displace",
                () -> applied(
                        mine,
                        new Plan(
                                last.at(),
                                null,
                                null,
                                null,
                                List.of(),
                                List.of(),
                                List.of(),
                                0,
                                List.of(),
                                List.of(new OpenTick(last, true, 0, 0, false)),
                                null,
                                null)));
    }

    private void asideFrom(Slot slot, String what, Runnable done) {
        String before = besides(slot);
        aside(what, done);
        assertEquals(before, besides(slot), what + " at another slot");
    }

    private String besides(Slot slot) {
        String others = " where job = '" + mine.id() + "' and slot_key <> '" + slot.key() + "' order by slot_key";
        return site().rows("select * from tick" + others) + "\n"
                + site().rows("select * from attempt" + others + ", number");
    }

    @Test
    void ofAPlan() {
        aside("open", () -> applied(mine, opening(slot(3).at(), slot(0), slot(1), slot(2), slot(3))));
        aside("drop", () -> applied(mine, dropping(mine)));
        Lease lease = running(mine, slot(0), ANNA);
        OpenTick next = new OpenTick(slot(1), true, 0, 0, false);
        OpenTick over = new OpenTick(slot(2), true, 0, 0, false);
        aside(
                "skip, displace, close and take over",
                () -> applied(
                        mine,
                        new Plan(
                                slot(6).at(),
                                null,
                                null,
                                new SlotRange(2, slot(7).at(), slot(8).at()),
                                List.of(slot(4)),
                                List.of(new NewTick(slot(5), true)),
                                List.of(over),
                                0,
                                List.of(slot(5)),
                                List.of(next),
                                new TakeOver(lease.fence().value(), slot(5)),
                                null)));
        aside("cut a range", () -> applied(mine, cutBack(slot(2))));
        aside("cut a range away", () -> applied(mine, cutBack(slot(1))));
    }

    private static Plan cutBack(Slot to) {
        return new Plan(to.at(), to.at(), null, null, List.of(), List.of(), List.of(), 0, List.of());
    }

    @Test
    void ofAnOrder() {
        Slot manual = Slot.manual(store().now(), MINE + newName());
        aside("pause", () -> store().pause(mine.id(), store().now().plusSeconds(30), Pause.Cause.PERSON, null, "ann"));
        aside("resume", () -> store().resume(mine.id(), null, "ann"));
        store().pause(mine.id(), store().now().plusSeconds(30), Pause.Cause.PERSON, null, "ann");
        pass(Duration.ofSeconds(30));
        aside("end a pause", () -> assertTrue(store().endPause(mine.id())));
        aside("trigger", () -> store().trigger(mine.id(), List.of(slot(0), slot(1), manual), false, null, "ann"));
        running(mine, slot(0), ANNA);
        aside("cancel", () -> store().cancel(mine.id(), null, "ann"));
        stored(view(mine.id()).lease(), failure("no"));
        aside("tell", () -> assertEquals(1, store().change(mine.id()).now()));
        aside("trigger again", () -> store().trigger(mine.id(), List.of(slot(0)), false, null, "ann"));
    }

    @Test
    void ofAnEffect() {
        String key = MINE + newName();
        stored(running(mine, slot(0), ANNA), successWith(mine.id(), key));
        Lease dead = sender(mine);
        begun(mine, dead);
        store().release(dead);
        Lease sender = sender(mine);
        aside(
                "adopt",
                () -> assertEquals(1, store().adopt(sender, pair(mine), TTL).size()));
        Effect unknown = assertNotNull(store().next(pair(mine)));
        aside("check", () -> assertTrue(store().checked(sender, unknown, settlement(EffectState.PENDING))));
        aside(
                "say that it is wanted no more",
                () -> assertTrue(
                        store().resolve(key, Order.GIVE_UP, "test", false).isEmpty()));
        aside(
                "send again",
                () -> assertTrue(
                        store().resolve(key, Order.RETRY, "test", false).isEmpty()));
        pass(TTL);
        Lease again = sender(mine);
        aside("begin", () -> begun(mine, again));
        Effect effect = begunAnew(unknown);
        aside("settle", () -> assertTrue(store().sent(again, effect, settlement(EffectState.DEAD))));
        aside(
                "confirm",
                () -> assertTrue(
                        store().resolve(key, Order.CONFIRMED, "test", false).isEmpty()));
    }

    /** Effects of the same pair are others too. */
    @Test
    void ofOneOfSeveralEffects() {
        String first = MINE + newName();
        stored(running(mine, slot(0), ANNA), successWith(mine.id(), first));
        for (int i = 1; i < 3; i++) {
            stored(running(mine, slot(i), ANNA), successWith(mine.id(), MINE + newName()));
        }
        Lease sender = sender(mine);
        Effect begun = assertNotNull(store().next(pair(mine)));
        asideFrom(first, "begin", () -> store().begin(sender, begun));
        asideFrom(first, "settle", () -> assertTrue(store().sent(sender, begun, settlement(EffectState.UNKNOWN))));
        store().release(sender);
        asideFrom(
                first,
                "confirm",
                () -> assertTrue(
                        store().resolve(first, Order.CONFIRMED, "test", false).isEmpty()));
        Lease again = sender(mine);
        Effect second = begun(mine, again);
        asideFrom(
                second.key(),
                "settle the second",
                () -> assertTrue(store().sent(again, second, settlement(EffectState.DEAD))));
        asideFrom(
                second.key(),
                "send the second again",
                () -> assertTrue(store().resolve(second.key(), Order.RETRY, "test", false)
                        .isEmpty()));
    }

    private void asideFrom(String key, String what, Runnable done) {
        String others = "select * from effect where job = '" + mine.id() + "' and key <> '" + key + "' order by key";
        String before = site().rows(others).toString();
        aside(what, done);
        assertEquals(before, site().rows(others).toString(), what + " beside another effect");
    }

    @Test
    void ofACleanUp() {
        for (int i = 0; i < 4; i++) {
            stored(running(mine, slot(i), ANNA), failure("no"));
            pass(Duration.ofSeconds(1));
        }
        aside("prune", () -> assertTrue(store().pruneTicks(mine.id(), store().now(), 1, 100) > 0));
    }

    @Test
    void ofAnItem() {
        aside("enqueue", () -> store().enqueue(new NewItem(item, QUEUE, null, 0, null, 9)));
        aside("claim", () -> claimed(item));
        Grant grant = shown();
        pass(Duration.ofSeconds(1));
        aside("renew", () -> assertInstanceOf(WorkAnswer.Done.class, store().renew(grant, TTL)));
        aside("artifact", () -> assertInstanceOf(WorkAnswer.Done.class, store().addArtifact(grant, artifact(grant))));
        aside("release", () -> assertInstanceOf(WorkAnswer.Done.class, store().release(grant)));
        Grant failing = claimed(item);
        aside("fail", () -> assertInstanceOf(WorkAnswer.Done.class, store().fail(failing, "no", Duration.ZERO)));
        claimed(item);
        pass(TTL);
        aside("claim what is over", () -> claimed(item));
        Grant last = shown();
        aside(
                "complete together",
                () -> assertInstanceOf(
                        WorkAnswer.Done.class,
                        store().completeAll(List.of(new ItemResult(last, null))).getFirst()));
    }

    @Test
    void ofTheEndOfAnItem() {
        store().enqueue(new NewItem(item, QUEUE, null, 0, null, 1));
        Grant grant = claimed(item);
        Body result = new Body(new byte[] {1}, null);
        aside("complete", () -> assertInstanceOf(WorkAnswer.Done.class, store().complete(grant, result)));
    }

    @Test
    void ofADeadItem() {
        store().enqueue(new NewItem(item, QUEUE, null, 0, null, 1));
        claimed(item);
        pass(TTL);
        aside("bury", () -> assertInstanceOf(WorkAnswer.Refused.class, store().claimItem(item, ANNA, newRun(), TTL)));
    }

    @Test
    void ofAQueue() {
        String queue = MINE + newName();
        store().enqueue(new NewItem(item, queue, null, 0, null, 3));
        aside("capacity", () -> store().setCapacity(queue, 5));
        aside(
                "claim any",
                () -> assertEquals(
                        1, store().claimAny(queue, ANNA, List.of(newRun()), TTL).size()));
        pass(TTL);
        aside(
                "claim any again",
                () -> assertEquals(
                        1, store().claimAny(queue, ANNA, List.of(newRun()), TTL).size()));
        aside("no capacity", () -> store().setCapacity(queue, null));
    }

    private Grant shown() {
        WorkItem now = assertNotNull(store().item(item));
        return new Grant(item, now.owner(), new FencingToken(now.fence()), now.runId());
    }
}
