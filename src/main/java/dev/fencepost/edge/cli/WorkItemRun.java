package dev.fencepost.edge.cli;

import dev.fencepost.edge.config.DurationText;
import dev.fencepost.edge.remote.RemoteWorkQueue;
import dev.fencepost.host.Entropy;
import dev.fencepost.host.Spawner;
import dev.fencepost.host.Time;
import dev.fencepost.lease.DeadlineWatch;
import dev.fencepost.lease.FencingToken;
import dev.fencepost.lease.Keeper;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.Refusal;
import dev.fencepost.lease.Renewal;
import dev.fencepost.lease.RunId;
import dev.fencepost.lease.StoreException;
import dev.fencepost.lease.Term;
import dev.fencepost.run.ChildProcess;
import dev.fencepost.run.ChildProcess.Exit;
import dev.fencepost.run.ChildProcess.Output;
import dev.fencepost.run.Children;
import dev.fencepost.run.Secrets;
import dev.fencepost.run.StopRequest;
import dev.fencepost.run.Workspace;
import dev.fencepost.run.Workspace.RunFiles;
import dev.fencepost.schedule.Slot;
import dev.fencepost.work.Artifact;
import dev.fencepost.work.Body;
import dev.fencepost.work.Grant;
import dev.fencepost.work.WorkAnswer;
import dev.fencepost.work.WorkItem;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Carries out one claimed item on this host, from the claim's answer to the server's answer to its end; read {@link #run} from top to
 * bottom.
 *
 * <p>keeper and deadline watch → child → its end, or a reason to stop it → files → result. The trust in the lease is counted from before
 * the claim was sent. What is said under the lease is said again, with the same grant, until it has an answer or the lease is over.
 */
final class WorkItemRun {

    private static final long LOG_LIMIT_BYTES = 16L << 20;
    private static final int MOST_FILES = 1_000;
    private static final int LONGEST_REASON = 500;
    private static final Duration FIRST_BACKOFF = Duration.ofMillis(200);
    private static final Duration MAX_BACKOFF = Duration.ofSeconds(5);
    private static final Duration LONGEST_RETRY = Duration.ofHours(1);

    /** How long a worker that stops tries to give an item back. */
    private static final Duration RELEASE_PATIENCE = Duration.ofSeconds(3);

    private static final Duration RENEWAL_LIMIT = Duration.ofSeconds(10);

    /**
     * How items are carried out.
     *
     * @param retryAfter wait after the first failure; doubles with each
     * @param stdin whether the payload is the command's standard input too
     * @param keeps whether the files of an item that is done stay
     * @param secrets what is masked in output and result
     */
    record Plan(
            List<String> command,
            Path workingDir,
            Owner owner,
            Duration ttl,
            @Nullable Duration timeout,
            Duration grace,
            Duration retryAfter,
            boolean stdin,
            boolean keeps,
            Set<String> secrets) {}

    /** What a run stands on. */
    record Ground(
            RemoteWorkQueue queue,
            Children children,
            Workspace workspace,
            KeptFiles kept,
            DeadlineWatch watch,
            Time time,
            Spawner spawner,
            Entropy entropy,
            Consumer<String> say) {}

    /** What became of an item. */
    enum Kind {
        /** Its result is stored. */
        DONE,
        /** It is given back as failed. */
        FAILED,
        /** The lease was lost, or nobody answered before it was over. */
        LOST,
        /** It is given back as not tried, since the worker stops. */
        RELEASED,
        /** It is given back as not tried, since this host could not start the command. */
        NOT_STARTED
    }

    /**
     * @param reason in words; null for what is done
     * @param item as the server told last
     * @param folder of the files that stay, or null
     */
    record End(
            Kind kind,
            @Nullable String reason,
            WorkItem item,
            @Nullable Path folder) {}

    private final Plan plan;
    private final Ground ground;
    private final Time time;
    private final WorkItem item;
    private final Grant grant;
    private final Lease lease;
    private final StopRequest stop;
    private final Keeper keeper;
    private @Nullable Path folder;
    private KeptFiles.@Nullable Held held;

    /**
     * @param claimed with owner, run id and end of its lease
     * @param sentBootMillis boot clock just before the claim was sent
     * @param stop lets others stop this run
     */
    WorkItemRun(Plan plan, Ground ground, WorkItem claimed, long sentBootMillis, StopRequest stop) {
        this.plan = plan;
        this.ground = ground;
        this.time = ground.time();
        this.item = claimed;
        this.stop = stop;
        RunId runId = Objects.requireNonNull(claimed.runId(), "a claimed item has a run id");
        this.grant = new Grant(claimed.id(), plan.owner(), new FencingToken(claimed.fence()), runId);
        this.lease = new Lease(
                claimed.id(),
                plan.owner(),
                grant.fence(),
                runId,
                null,
                claimed.enqueuedAt(),
                Objects.requireNonNull(claimed.until(), "a claimed item has an end"));
        this.keeper = new Keeper(this::renew, time, lease, plan.ttl(), sentBootMillis, new Tidings());
    }

    End run() throws InterruptedException {
        Spawner.Task renewing = ground.spawner().virtualThread("keeper of " + item.id(), keeper);
        try (DeadlineWatch.Handle ignored = ground.watch().watch(keeper, this::stopAtDeadline)) {
            return carryOut();
        } finally {
            keeper.close();
            renewing.interrupt();
            if (held != null) {
                held.close();
            }
        }
    }

    private Renewal renew(Lease of, Duration ttl) {
        // A call that hangs must leave time for others within the lease.
        Duration quarter = ttl.dividedBy(4);
        Duration limit = quarter.compareTo(RENEWAL_LIMIT) < 0 ? quarter : RENEWAL_LIMIT;
        return switch (ground.queue().renew(grant, ttl, limit)) {
            case WorkAnswer.Done done -> new Renewal.Renewed(of);
            case WorkAnswer.Refused refused -> new Renewal.Lost(refused.reason());
        };
    }

    private void stopAtDeadline() {
        stop.request(
                StopRequest.Reason.LEASE_LOST,
                "no renewal before the local deadline",
                keeper.term().grace(plan.grace(), time.bootMillis()));
    }

    /** One line when renewals begin to fail, one when they are answered again. */
    private final class Tidings implements Keeper.Listener {
        private boolean failing;

        @Override
        public synchronized void renewed(Lease of) {
            if (failing) {
                say("renewed again");
            }
            failing = false;
        }

        @Override
        public synchronized void renewFailed(Lease of, StoreException cause) {
            if (!failing) {
                say("a renewal had no answer, it is tried again: " + cause.getMessage());
            }
            failing = true;
        }

        @Override
        public void lost(Lease of, Term term, Refusal reason) {
            stop.request(
                    StopRequest.Reason.LEASE_LOST,
                    "renewal refused: " + reason,
                    term.grace(plan.grace(), time.bootMillis()));
        }
    }

    private End carryOut() throws InterruptedException {
        if (stop.reason() != null) {
            return stopped();
        }
        RunFiles files;
        ChildProcess child;
        String stdin = plan.stdin() && item.payload() != null ? WorkForms.text(item.payload()) : null;
        if (plan.stdin() && item.payload() != null && stdin == null) {
            return failed("the payload is no text, which --stdin needs; read $FENCEPOST_PAYLOAD instead");
        }
        try {
            files = ground.workspace()
                    .prepare(item.queue(), new Slot(item.id(), item.enqueuedAt()), item.attempts(), lease.runId());
            Path made = Objects.requireNonNull(files.log().getParent());
            folder = made;
            held = ground.kept().hold(made);
            Path payload = writePayload(files);
            // The claim's answer may have waited long, the files for the disk, and we may have been frozen.
            if (time.bootMillis() >= keeper.term().deadlineBootMillis()) {
                stopAtDeadline();
            }
            if (stop.reason() != null) {
                deleteFiles();
                return stopped();
            }
            child = ground.children().start(spec(files, payload, stdin));
        } catch (Children.StartFailure | IOException e) {
            deleteFiles();
            return released(Kind.NOT_STARTED, "could not be started: " + e.getMessage());
        }
        Exit exit;
        Output output;
        boolean over = false;
        try {
            stop.attach(child);
            exit = awaitEnd(child);
            stop.ended();
            output = child.finish();
            over = true;
        } finally {
            if (!over) { // nobody watches over the lease from here on, so the child must not go on
                child.stop(Duration.ZERO);
            }
        }
        if (stop.reason() != null) {
            return stopped();
        }
        return exit.code() == 0 ? handIn(files) : failed(words(exit, output));
    }

    private Path writePayload(RunFiles files) throws IOException {
        Path file = files.log().resolveSibling("payload");
        try (OutputStream out = Files.newOutputStream(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
            if (item.payload() != null) {
                out.write(item.payload().bytes());
            }
        }
        return file;
    }

    private Children.Spec spec(RunFiles files, Path payload, @Nullable String stdin) {
        Map<String, String> environment = new HashMap<>();
        environment.put("FENCEPOST_ITEM", item.id());
        environment.put("FENCEPOST_QUEUE", item.queue());
        environment.put("FENCEPOST_ATTEMPT", String.valueOf(item.attempts()));
        environment.put("FENCEPOST_OWNER", plan.owner().text());
        environment.put("FENCEPOST_FENCE", grant.fence().toString());
        environment.put("FENCEPOST_RUN_ID", lease.runId().toString());
        environment.put("FENCEPOST_IDEMPOTENCY_KEY", "work:" + item.id());
        environment.put("FENCEPOST_PAYLOAD", payload.toString());
        environment.put("FENCEPOST_OUTPUT_DIR", files.output().toString());
        environment.put("FENCEPOST_RESULT", files.result().toString());
        return new Children.Spec(
                lease.runId(),
                plan.command(),
                environment,
                plan.workingDir(),
                stdin,
                files.log(),
                LOG_LIMIT_BYTES,
                plan.secrets());
    }

    private Exit awaitEnd(ChildProcess child) throws InterruptedException {
        long timeoutAt = plan.timeout() == null
                ? Long.MAX_VALUE
                : time.bootMillis() + plan.timeout().toMillis();
        while (true) {
            long left = timeoutAt - time.bootMillis();
            if (left <= 0 && stop.reason() == null) {
                stop.request(
                        StopRequest.Reason.TIMEOUT,
                        "timeout of " + DurationText.format(Objects.requireNonNull(plan.timeout())) + " passed",
                        plan.grace());
            }
            Exit exit = child.await(left <= 0 ? Duration.ofSeconds(1) : Duration.ofMillis(Math.min(left, 60_000)));
            if (exit != null) {
                return exit;
            }
        }
    }

    private static String words(Exit exit, Output output) {
        String how = exit.reason() != null
                ? exit.reason()
                : exit.signal() == null ? "exit code " + exit.code() : "signal " + exit.signal();
        return output.leftovers() == 0
                ? how
                : how + "; " + output.leftovers() + " processes outlived the command and were killed";
    }

    /** Of a run that somebody or something stopped. */
    private End stopped() throws InterruptedException {
        return switch (Objects.requireNonNull(stop.reason())) {
            case LEASE_LOST -> lost(stop.text());
            case TIMEOUT -> failed(stop.text());
            case SHUTDOWN, CANCEL, SUPERSEDED -> released(Kind.RELEASED, stop.text());
        };
    }

    private End lost(String reason) {
        return new End(Kind.LOST, reason, item, folder);
    }

    // What is handed in

    private End handIn(RunFiles files) throws InterruptedException {
        byte[] result;
        Map<String, Path> handedIn;
        try {
            result = ground.workspace().result(files);
            handedIn = filesIn(files.output());
        } catch (IOException e) {
            return failed(String.valueOf(e.getMessage()));
        }
        for (Map.Entry<String, Path> each : handedIn.entrySet()) {
            End refused = upload(each.getKey(), each.getValue());
            if (refused != null) {
                return refused;
            }
        }
        return complete(result == null ? null : new Body(new Secrets(plan.secrets()).masked(result), null));
    }

    /**
     * The files of the output folder by the names that they are handed in under: a folder becomes a part of the name.
     *
     * @throws IOException if there is one that cannot be handed in; better to say so than to leave it out
     */
    static Map<String, Path> filesIn(Path output) throws IOException {
        Map<String, Path> files = new TreeMap<>();
        try (Stream<Path> found = Files.walk(output)) {
            for (Path file : (Iterable<Path>) found::iterator) {
                if (Files.isDirectory(file, LinkOption.NOFOLLOW_LINKS)) {
                    continue;
                }
                Path relative = output.relativize(file);
                if (!Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)) {
                    throw new IOException("$FENCEPOST_OUTPUT_DIR holds " + relative + ", which is no plain file");
                }
                String name = relative.toString().replace('/', '_');
                if (!Artifact.NAME.matcher(name).matches()) {
                    throw new IOException("$FENCEPOST_OUTPUT_DIR holds " + relative + ", which is no name to hand in:"
                            + " write 1 to 100 of A-Z a-z 0-9 . _ - and begin with a letter or digit");
                }
                if (files.put(name, file) != null) {
                    throw new IOException("$FENCEPOST_OUTPUT_DIR holds two files that would be handed in as " + name);
                }
                if (files.size() > MOST_FILES) {
                    throw new IOException("$FENCEPOST_OUTPUT_DIR holds more than " + MOST_FILES + " files");
                }
            }
        } catch (UncheckedIOException e) {
            throw new IOException("$FENCEPOST_OUTPUT_DIR cannot be read: " + e.getMessage(), e);
        }
        return files;
    }

    /** Null when the file is stored. */
    private @Nullable End upload(String name, Path file) throws InterruptedException {
        Patience patience = new Patience();
        while (true) {
            try {
                return switch (ground.queue().upload(grant, name, file)) {
                    case RemoteWorkQueue.Upload.Stored stored -> null;
                    case RemoteWorkQueue.Upload.Refused refused -> lost("file refused: " + refused.reason());
                };
            } catch (StoreException e) {
                if (e.kind() == StoreException.Kind.BROKEN) {
                    return failed("the file " + name + " is not taken: " + e.getMessage());
                }
                if (!patience.goesOn()) {
                    return lost("nobody took the file " + name + " before the lease was over: " + e.getMessage());
                }
            } catch (IOException | IllegalArgumentException e) {
                return failed("the file " + name + " is not handed in: " + e.getMessage());
            }
        }
    }

    private End complete(@Nullable Body result) throws InterruptedException {
        Patience patience = new Patience();
        boolean mayBeStored = false;
        while (true) {
            try {
                switch (ground.queue().complete(grant, result)) {
                    case WorkAnswer.Done done -> {
                        return done(done.item());
                    }
                    case WorkAnswer.Refused refused -> {
                        WorkItem now = mayBeStored && refused.reason() == Refusal.ALREADY_DONE
                                ? readBack(refused.item(), result)
                                : null;
                        return now == null ? lost("result refused: " + refused.reason()) : done(now);
                    }
                }
            } catch (StoreException e) {
                mayBeStored |= e.kind() == StoreException.Kind.AMBIGUOUS;
                if (e.kind() == StoreException.Kind.BROKEN || !patience.goesOn()) {
                    return lost("the result could not be stored: " + e.getMessage());
                }
            } catch (IllegalArgumentException e) {
                return failed("the result is not taken: " + e.getMessage());
            }
        }
    }

    /**
     * Whether the item was completed by a try of this run that had no answer.
     *
     * @param brief as the refusal told, without its result; does where the token may not look
     * @return the item if it was, else null
     */
    private @Nullable WorkItem readBack(@Nullable WorkItem brief, @Nullable Body result) {
        WorkItem now;
        boolean isSame = true;
        try {
            now = ground.queue().item(item.id());
            isSame = now != null
                    && Arrays.equals(
                            result == null ? new byte[0] : result.bytes(),
                            now.result() == null ? new byte[0] : now.result().bytes());
        } catch (StoreException e) {
            if (e.kind() != StoreException.Kind.BROKEN) {
                throw e;
            }
            now = brief;
        }
        boolean isOurs = now != null
                && isSame
                && now.isDone()
                && now.fence() == lease.fence().value()
                && (now.runId() == null || now.runId().equals(lease.runId()));
        return isOurs ? now : null;
    }

    private End done(WorkItem now) {
        if (!plan.keeps()) {
            deleteFiles();
        }
        return new End(Kind.DONE, null, now, folder);
    }

    /** Best effort: what cannot be deleted stays. */
    private void deleteFiles() {
        Path tree = folder;
        if (tree == null) {
            return;
        }
        try {
            KeptFiles.deleteTree(tree);
            folder = null;
        } catch (IOException e) {
            say("its files stay in " + tree + ": " + e.getMessage());
        }
    }

    private End failed(String reason) throws InterruptedException {
        String kept = kept(reason);
        Patience patience = new Patience();
        boolean mayBeStored = false;
        while (true) {
            try {
                return switch (ground.queue().fail(grant, kept, retryAfter())) {
                    case WorkAnswer.Done done -> new End(Kind.FAILED, reason, done.item(), folder);
                    case WorkAnswer.Refused refused -> {
                        WorkItem now = refused.item();
                        // An earlier try was heard: the lease is given back, and nobody has claimed it since.
                        yield mayBeStored && now != null && now.fence() == item.fence() && kept.equals(now.reason())
                                ? new End(Kind.FAILED, reason, now, folder)
                                : lost(reason + "; and the end was refused: " + refused.reason());
                    }
                };
            } catch (StoreException e) {
                mayBeStored |= e.kind() == StoreException.Kind.AMBIGUOUS;
                if (e.kind() == StoreException.Kind.BROKEN || !patience.goesOn()) {
                    return lost(reason + "; and nobody heard of it: " + e.getMessage());
                }
            } catch (IllegalArgumentException e) {
                return lost(reason + "; and this is not taken: " + e.getMessage());
            }
        }
    }

    /** The begin of a reason; half of a character at its end would make the server refuse the whole. */
    static String kept(String reason) {
        if (reason.length() <= LONGEST_REASON) {
            return reason;
        }
        boolean cutsAPair = Character.isHighSurrogate(reason.charAt(LONGEST_REASON - 1));
        return reason.substring(0, cutsAPair ? LONGEST_REASON - 1 : LONGEST_REASON);
    }

    private Duration retryAfter() {
        int doublings = Math.clamp(item.attempts() - 1L, 0, 20);
        long millis = Math.min(plan.retryAfter().toMillis() << doublings, LONGEST_RETRY.toMillis());
        return Duration.ofMillis(
                Math.round(millis * (0.8 + 0.4 * ground.entropy().fraction())));
    }

    private End released(Kind kind, String reason) throws InterruptedException {
        long end = time.bootMillis() + RELEASE_PATIENCE.toMillis();
        while (true) {
            try {
                WorkItem now = switch (ground.queue().release(grant)) {
                    case WorkAnswer.Done done -> done.item();
                    case WorkAnswer.Refused refused -> item; // it is not ours any more, which is as good
                };
                return new End(kind, reason, now, folder);
            } catch (StoreException e) {
                if (time.bootMillis() + FIRST_BACKOFF.toMillis() >= end) {
                    return new End(kind, reason + "; its lease ends by itself: " + e.getMessage(), item, folder);
                }
                time.sleep(FIRST_BACKOFF);
            }
        }
    }

    /** How long something is said again: while the lease lives, and not for longer than a ttl, since the keeper goes on renewing it. */
    private final class Patience {
        private final long end = time.bootMillis() + plan.ttl().toMillis();
        private Duration backoff = FIRST_BACKOFF;

        /** Waits a little; false when it is over. */
        boolean goesOn() throws InterruptedException {
            Duration wait = Duration.ofMillis(
                    Math.round(backoff.toMillis() * (0.5 + ground.entropy().fraction())));
            if (time.bootMillis() + wait.toMillis()
                    >= Math.min(end, keeper.term().endBootMillis())) {
                return false;
            }
            time.sleep(wait);
            Duration doubled = backoff.multipliedBy(2);
            backoff = doubled.compareTo(MAX_BACKOFF) > 0 ? MAX_BACKOFF : doubled;
            return true;
        }
    }

    private void say(String text) {
        ground.say().accept(item.id() + ": " + text);
    }
}
