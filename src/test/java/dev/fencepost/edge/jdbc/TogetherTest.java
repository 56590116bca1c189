package dev.fencepost.edge.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.lease.StoreException;
import dev.fencepost.lease.StoreException.Kind;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

/** Calls that end when the test says so. */
class TogetherTest {

    private static final int LIMIT_SECONDS = 10;
    private static final int CALLERS = 50;
    private static final int QUESTIONS = 200;
    private static final int LAST = CALLERS * QUESTIONS + 1;
    private static final Duration SHORT = Duration.ofMillis(10);
    private static final Duration NEVER = Duration.ofHours(1);
    private static final Duration LONG = Duration.ofSeconds(LIMIT_SECONDS);

    private final LinkedBlockingQueue<List<String>> begun = new LinkedBlockingQueue<>();
    private final SynchronousQueue<RuntimeException> ends = new SynchronousQueue<>();
    private final List<Thread> threads = new ArrayList<>();

    /** Tells a call to end well. */
    private static final class Well extends RuntimeException {}

    private Together<String, String> together(int most, Duration usual, Duration patience) {
        return new Together<>("call", most, usual, patience, questions -> {
            begun.add(questions);
            try {
                RuntimeException end = ends.take();
                if (end instanceof Well) {
                    return questions.stream().map(question -> question + "!").toList();
                }
                throw end;
            } catch (InterruptedException e) {
                throw new StoreException(Kind.AMBIGUOUS, "interrupted", e);
            }
        });
    }

    /** Asks, and comes back once the question waits, in a call or before it. */
    private CompletableFuture<String> ask(Together<String, String> together, String question) {
        CompletableFuture<String> answer = new CompletableFuture<>();
        Thread thread = Thread.ofPlatform().daemon().start(() -> {
            try {
                answer.complete(together.ask(question));
            } catch (RuntimeException e) {
                answer.completeExceptionally(e);
            }
        });
        threads.add(thread);
        while (thread.getState() != Thread.State.WAITING && thread.getState() != Thread.State.TIMED_WAITING) {
            Thread.onSpinWait();
        }
        return answer;
    }

    private List<String> nextCall() throws InterruptedException {
        return assertInstanceOf(List.class, begun.poll(LIMIT_SECONDS, TimeUnit.SECONDS));
    }

    private void end(RuntimeException how) throws InterruptedException {
        assertTrue(ends.offer(how, LIMIT_SECONDS, TimeUnit.SECONDS));
    }

    private static String answer(CompletableFuture<String> future) throws Exception {
        return future.get(LIMIT_SECONDS, TimeUnit.SECONDS);
    }

    private static Kind failure(CompletableFuture<String> future) {
        ExecutionException e =
                assertThrows(ExecutionException.class, () -> future.get(LIMIT_SECONDS, TimeUnit.SECONDS));
        return assertInstanceOf(StoreException.class, e.getCause()).kind();
    }

    @Test
    void whoMeetsNobodyGoesAloneAndAtOnce() throws Exception {
        Together<String, String> together = together(3, NEVER, LONG);
        CompletableFuture<String> a = ask(together, "a");
        assertEquals(List.of("a"), nextCall());
        end(new Well());
        assertEquals("a!", answer(a));
    }

    @Test
    void besideACallThatTakesLongASecondOneIsMadeAndNoThird() throws Exception {
        Together<String, String> together = together(1, SHORT, LONG);
        CompletableFuture<String> a = ask(together, "a");
        assertEquals(List.of("a"), nextCall());
        CompletableFuture<String> b = ask(together, "b");
        assertEquals(List.of("b"), nextCall());
        CompletableFuture<String> c = ask(together, "c");
        assertNull(begun.poll(SHORT.multipliedBy(10).toMillis(), TimeUnit.MILLISECONDS), "a third one");
        end(new Well());
        assertEquals(List.of("c"), nextCall());
        end(new Well());
        end(new Well());
        assertEquals(List.of("a!", "b!", "c!"), List.of(answer(a), answer(b), answer(c)));
    }

    @Test
    void whoHasNotWaitedLongDoesNotTakeThePlaceOfOneOfTwo() throws Exception {
        Together<String, String> together = together(2, Duration.ofSeconds(2), LONG);
        CompletableFuture<String> a = ask(together, "a");
        CompletableFuture<String> b = ask(together, "b");
        assertEquals(List.of("a"), nextCall());
        assertEquals(List.of("b"), nextCall());
        CompletableFuture<String> c = ask(together, "c");
        CompletableFuture<String> d = ask(together, "d");
        end(new Well());
        CompletableFuture.anyOf(a, b).get(LIMIT_SECONDS, TimeUnit.SECONDS);
        assertNull(begun.poll(200, TimeUnit.MILLISECONDS), "another small call beside the one under way");
        end(new Well());
        assertEquals(List.of("c", "d"), nextCall());
        end(new Well());
        assertEquals(List.of("a!", "b!", "c!", "d!"), List.of(answer(a), answer(b), answer(c), answer(d)));
    }

    @Test
    void thoseWhoWaitGoTogetherInTheirOrder() throws Exception {
        Together<String, String> together = together(3, NEVER, LONG);
        List<CompletableFuture<String>> answers = new ArrayList<>();
        for (String question : List.of("a", "b", "c", "d", "e")) {
            answers.add(ask(together, question));
        }
        assertEquals(List.of("a"), nextCall());
        end(new Well());
        assertEquals(List.of("b", "c", "d"), nextCall());
        end(new Well());
        assertEquals(List.of("e"), nextCall());
        end(new Well());
        for (int i = 0; i < answers.size(); i++) {
            assertEquals("abcde".charAt(i) + "!", answer(answers.get(i)));
        }
        CompletableFuture<String> later = ask(together, "f");
        assertEquals(List.of("f"), nextCall());
        end(new Well());
        assertEquals("f!", answer(later));
    }

    @Test
    void aCallThatFailsFailsForAllInItAndForNobodyElse() throws Exception {
        Together<String, String> together = together(2, NEVER, LONG);
        CompletableFuture<String> a = ask(together, "a");
        CompletableFuture<String> b = ask(together, "b");
        CompletableFuture<String> c = ask(together, "c");
        CompletableFuture<String> d = ask(together, "d");
        nextCall();
        end(new Well());
        nextCall();
        end(new StoreException(Kind.AMBIGUOUS, "cut off", null));
        assertEquals(List.of("d"), nextCall());
        end(new IllegalStateException("of ours"));
        assertEquals("a!", answer(a));
        assertEquals(Kind.AMBIGUOUS, failure(b));
        assertEquals(Kind.AMBIGUOUS, failure(c));
        assertThrows(ExecutionException.class, () -> answer(d));
        assertInstanceOf(IllegalStateException.class, d.exceptionNow());
    }

    @Test
    void whoseTurnDoesNotComeHasAskedNothing() throws Exception {
        Together<String, String> together = together(1, SHORT, SHORT.multipliedBy(5));
        CompletableFuture<String> a = ask(together, "a");
        nextCall();
        CompletableFuture<String> b = ask(together, "b");
        nextCall();
        CompletableFuture<String> late = ask(together, "late");
        assertEquals(Kind.UNAVAILABLE, failure(late));
        end(new Well());
        end(new Well());
        assertEquals("a!", answer(a));
        assertEquals("b!", answer(b));
        assertTrue(begun.isEmpty(), "the question is in no call");
    }

    @Test
    void whoIsInterruptedBeforeItsTurnHasAskedNothing() throws Exception {
        Together<String, String> together = together(2, NEVER, LONG);
        CompletableFuture<String> a = ask(together, "a");
        CompletableFuture<String> b = ask(together, "b");
        threads.getLast().interrupt();
        assertEquals(Kind.UNAVAILABLE, failure(b));
        CompletableFuture<String> c = ask(together, "c");
        nextCall();
        end(new Well());
        assertEquals(List.of("c"), nextCall());
        end(new Well());
        assertEquals("a!", answer(a));
        assertEquals("c!", answer(c));
    }

    @Test
    void whoIsInterruptedInTheCallOfAnotherDoesNotKnow() throws Exception {
        Together<String, String> together = together(3, NEVER, LONG);
        CompletableFuture<String> a = ask(together, "a");
        CompletableFuture<String> b = ask(together, "b");
        CompletableFuture<String> c = ask(together, "c");
        nextCall();
        end(new Well());
        assertEquals(List.of("b", "c"), nextCall());
        threads.getLast().interrupt();
        assertEquals(Kind.AMBIGUOUS, failure(c));
        end(new Well());
        assertEquals("a!", answer(a));
        assertEquals("b!", answer(b));
    }

    /** Calls that take some time or fail, and threads that are interrupted, by chance. */
    @Test
    void whateverHappensEachQuestionIsAskedOnceAndAnsweredByItsOwnAnswer() throws Exception {
        AtomicInteger underWay = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        Map<Integer, Integer> asked = new ConcurrentHashMap<>();
        Together<Integer, Integer> together =
                new Together<>("call", 7, Duration.ofMillis(1), Duration.ofMillis(20), questions -> {
                    most.accumulateAndGet(underWay.incrementAndGet(), Math::max);
                    try {
                        questions.forEach(question -> asked.merge(question, 1, Integer::sum));
                        ThreadLocalRandom chance = ThreadLocalRandom.current();
                        LockSupport.parkNanos(chance.nextInt(20) == 0 ? 30_000_000 : chance.nextInt(2_000_000));
                        if (!questions.contains(LAST) && chance.nextInt(10) == 0) {
                            throw new StoreException(Kind.AMBIGUOUS, "cut off", null);
                        }
                        return questions.stream().map(question -> -question).toList();
                    } finally {
                        underWay.decrementAndGet();
                    }
                });
        Map<Integer, Object> told = new ConcurrentHashMap<>();
        try (ExecutorService callers = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int caller = 0; caller < CALLERS; caller++) {
                int first = 1 + caller * QUESTIONS;
                callers.submit(() -> {
                    for (int question = first; question < first + QUESTIONS; question++) {
                        if (ThreadLocalRandom.current().nextInt(20) == 0) {
                            Thread.currentThread().interrupt();
                        }
                        try {
                            told.put(question, together.ask(question));
                        } catch (StoreException e) {
                            told.put(question, e.kind());
                        }
                        Thread.interrupted();
                    }
                });
            }
        }
        assertEquals(CALLERS * QUESTIONS, told.size());
        told.forEach((question, answer) -> {
            int times = asked.getOrDefault(question, 0);
            if (answer == Kind.UNAVAILABLE) {
                assertEquals(0, times, "of " + question + " it is said that it was not asked");
            } else {
                assertEquals(1, times, "times that " + question + " was asked, which was told " + answer);
                assertTrue(answer == Kind.AMBIGUOUS || answer.equals(-question), question + " was told " + answer);
            }
        });
        assertEquals(
                3,
                told.values().stream()
                        .map(answer -> answer instanceof Kind ? answer : "answer")
                        .distinct()
                        .count());
        assertEquals(2, most.get());
        assertEquals(-LAST, together.ask(LAST));
    }
}
