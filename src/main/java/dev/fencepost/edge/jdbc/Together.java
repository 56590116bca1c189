package dev.fencepost.edge.jdbc;

import dev.fencepost.lease.StoreException;
import dev.fencepost.lease.StoreException.Kind;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Makes one call of the database out of many that wait at the same time. Who meets no call under way goes at once; who meets one waits
 * for its end, and then goes together with all the others who wait. So nobody waits for company, and the calls of a thousand threads
 * are a few. A second call is made beside the first one only where that takes long: two of them would be two small ones, and one that
 * stands still is not to hold up all. Each call is made by the thread of one of those whose question is in it. Safe for use by many
 * threads.
 *
 * @param <Q> what is asked
 * @param <A> what is answered
 */
final class Together<Q, A> {

    /** Answers questions, in their order. */
    @FunctionalInterface
    interface Call<Q, A> {
        List<A> make(List<Q> questions);
    }

    private static final int MOST_CALLS = 2;

    private final String operation;
    private final int most;
    private final Duration usual;
    private final Duration patience;
    private final Call<Q, A> call;
    private final Deque<Waiting<Q, A>> queue = new ArrayDeque<>();
    private int calls;

    /**
     * @param operation in words, for what fails
     * @param most how many questions a call has at most
     * @param usual how long a call takes at most, as a rule: whoever has waited so long may make a second one
     * @param patience how long a question waits for its turn after that; and how long, beyond it, for the end of a call that somebody else
     *     makes
     */
    Together(String operation, int most, Duration usual, Duration patience, Call<Q, A> call) {
        this.operation = operation;
        this.most = most;
        this.usual = usual;
        this.patience = patience;
        this.call = call;
    }

    /** Somebody whose question is not in a call yet: it is told the answer, or to make the call itself. */
    private static final class Waiting<Q, A> {
        private final Q question;
        private final CompletableFuture<Turn<A>> turn = new CompletableFuture<>();
        private boolean late;

        private Waiting(Q question) {
            this.question = question;
        }
    }

    private sealed interface Turn<A> {
        record Answered<A>(A answer) implements Turn<A> {}

        record Leads<A>() implements Turn<A> {}
    }

    /** @throws StoreException of the kind {@code UNAVAILABLE} also where the question was never asked */
    A ask(Q question) {
        Waiting<Q, A> mine = new Waiting<>(question);
        synchronized (queue) {
            if (calls == 0) {
                calls++;
                mine.turn.complete(new Turn.Leads<>());
            } else {
                queue.add(mine);
            }
        }
        return switch (await(mine)) {
            case Turn.Answered<A> answered -> answered.answer();
            case Turn.Leads<A> leads -> lead(mine);
        };
    }

    private Turn<A> await(Waiting<Q, A> mine) {
        try {
            try {
                return mine.turn.get(usual.toMillis(), TimeUnit.MILLISECONDS);
            } catch (TimeoutException slow) {
                goBeside(mine);
            }
            try {
                return mine.turn.get(patience.toMillis(), TimeUnit.MILLISECONDS);
            } catch (TimeoutException notYet) {
                if (isTakenBack(mine)) {
                    throw new StoreException(Kind.UNAVAILABLE, operation + ": not asked within " + patience, notYet);
                }
                return mine.turn.get(patience.toMillis(), TimeUnit.MILLISECONDS);
            }
        } catch (TimeoutException hanging) {
            throw new StoreException(Kind.AMBIGUOUS, operation + ": no answer within " + patience, hanging);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            if (isTakenBack(mine)) {
                throw new StoreException(Kind.UNAVAILABLE, operation + ": interrupted while it waited", e);
            }
            if (mine.turn.state() == Future.State.SUCCESS && mine.turn.resultNow() instanceof Turn.Leads<A>) {
                leave(); // a call of an interrupted thread would fail, for all in it
                throw new StoreException(Kind.UNAVAILABLE, operation + ": interrupted before it was asked", e);
            }
            throw new StoreException(Kind.AMBIGUOUS, operation + ": interrupted while it waited", e);
        } catch (ExecutionException e) {
            throw failure(e);
        }
    }

    /** Makes a second call, or at least takes the place of the next one of two that ends. */
    private void goBeside(Waiting<Q, A> mine) {
        synchronized (queue) {
            mine.late = true;
            if (calls < MOST_CALLS && queue.remove(mine)) {
                calls++;
                mine.turn.complete(new Turn.Leads<>());
            }
        }
    }

    private boolean isTakenBack(Waiting<Q, A> mine) {
        synchronized (queue) {
            return queue.remove(mine);
        }
    }

    private StoreException failure(ExecutionException e) {
        return e.getCause() instanceof StoreException known
                ? new StoreException(known.kind(), String.valueOf(known.getMessage()), known)
                : new StoreException(Kind.AMBIGUOUS, operation + ": " + e.getCause(), e); // it may have been committed
    }

    private A lead(Waiting<Q, A> mine) {
        List<Waiting<Q, A>> all = new ArrayList<>(List.of(mine));
        List<A> answers;
        try {
            synchronized (queue) {
                while (all.size() < most && !queue.isEmpty()) {
                    all.add(queue.remove());
                }
            }
            answers = call.make(all.stream().map(each -> each.question).toList());
        } catch (RuntimeException | Error e) {
            all.forEach(each -> each.turn.completeExceptionally(e));
            throw e;
        } finally {
            leave(); // before the others are told their answers, so that the next call is on its way meanwhile
        }
        for (int i = 1; i < all.size(); i++) {
            all.get(i).turn.complete(new Turn.Answered<>(answers.get(i)));
        }
        return answers.getFirst();
    }

    /** The next one takes the place of this call, but for that of a second one which is no longer needed. */
    private void leave() {
        synchronized (queue) {
            Waiting<Q, A> next = queue.peek();
            if (next != null && (calls == 1 || next.late)) {
                queue.remove();
                next.turn.complete(new Turn.Leads<>());
            } else {
                calls--;
            }
        }
    }
}
