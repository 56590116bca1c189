package dev.fencepost.edge.sink;

import dev.fencepost.edge.sink.HttpTransport.Outcome;
import dev.fencepost.host.Spawner;
import dev.fencepost.host.Time;
import dev.fencepost.run.Action;
import dev.fencepost.run.ChildProcess;
import dev.fencepost.run.Children;
import dev.fencepost.run.Completion;
import dev.fencepost.run.HttpCalls;
import dev.fencepost.run.Secrets;
import dev.fencepost.run.Workspace.RunFiles;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * HTTP calls in the place of child processes. Each has a virtual thread that waits for the answer.
 *
 * <p>The call is bounded by the endpoint's own time limit; a job's timeout stops it earlier. Whether a call that was stopped, timed out or
 * broke off has arrived is not known: the agent is told {@code Idempotency-Key} and {@code Fencing-Token} for that.
 *
 * <p>What needs no network is checked before the start. That a host does not exist, or has a private address, shows later, as exit code 1
 * with that reason.
 */
public final class HttpActions implements HttpCalls {

    private static final int MAX_TAIL_BYTES = 64 * 1024;
    private static final byte[] NOTHING = {};

    private final Time time;
    private final Spawner spawner;
    private final HttpTransport transport;

    public HttpActions(Time time, Spawner spawner) {
        this.time = time;
        this.spawner = spawner;
        this.transport = new HttpTransport(spawner);
    }

    @Override
    public ChildProcess start(Action.HttpCall call, Map<String, String> headers, RunFiles files, Set<String> secrets)
            throws Children.StartFailure {
        HttpMessage message;
        HttpCallLog log;
        try {
            String body = call.body();
            message = HttpMessage.sending(
                    call.endpoint(),
                    headers,
                    body == null ? null : call.endpoint().contentType(),
                    body == null ? NOTHING : body.getBytes(StandardCharsets.UTF_8),
                    time.wallClock());
            String forbidden = message.forbiddenHost();
            if (forbidden != null) {
                throw new Children.StartFailure(message.forPeople(forbidden, Integer.MAX_VALUE), null);
            }
            log = HttpCallLog.open(files.log(), time);
            log.remark(message.toString());
        } catch (HttpMessage.Unusable e) {
            throw new Children.StartFailure(String.valueOf(e.getMessage()), null);
        } catch (IOException e) {
            throw new Children.StartFailure(files.log() + " cannot be written: " + FileFailure.words(e), e);
        }
        Call started = new Call(message, new Secrets(secrets), files, log);
        started.task = spawner.virtualThread("http call", started);
        return started;
    }

    private final class Call implements ChildProcess, Runnable {
        private final HttpMessage message;
        private final Secrets ofJob;
        private final RunFiles files;
        private final HttpCallLog log;
        private final long sentBootMillis = time.bootMillis();
        private final CompletableFuture<Ended> ended = new CompletableFuture<>();
        private volatile Spawner.@Nullable Task task;

        private record Ended(Exit exit, Output output) {}

        Call(HttpMessage message, Secrets ofJob, RunFiles files, HttpCallLog log) {
            this.message = message;
            this.ofJob = ofJob;
            this.files = files;
            this.log = log;
        }

        @Override
        public void run() {
            try {
                ended.complete(outcome());
            } catch (RuntimeException | Error ours) {
                ended.complete(new Ended(
                        exit(1, "an error of ours: " + ours.getClass().getSimpleName()), new Output("", 0, false, 0)));
                throw ours;
            }
        }

        private Ended outcome() {
            try {
                return switch (transport.send(message, Completion.MAX_RESULT_BYTES)) {
                    case Outcome.Answered answer -> answered(answer);
                    case Outcome.NotSent none -> ended(exit(1, none.reason()), NOTHING, false);
                    case Outcome.Lost lost -> ended(exit(1, lost.reason()), NOTHING, false);
                };
            } catch (InterruptedException stopped) {
                return ended(exit(1, "stopped: the connection was cut, the call may have arrived"), NOTHING, false);
            }
        }

        private Ended answered(Outcome.Answered answer) {
            byte[] body = ofJob.masked(message.secrets().masked(answer.body()));
            String status = "HTTP " + answer.status();
            Exit exit;
            if (!answer.isFine()) {
                exit = exit(1, status);
            } else if (answer.isCut()) {
                exit = exit(1, status + ", but the answer is larger than " + Completion.MAX_RESULT_BYTES + " bytes");
            } else if (!answer.isWhole()) {
                exit = exit(1, status + ", but the answer broke off or took too long");
            } else {
                exit = keep(body, status);
            }
            return ended(exit, body, !answer.isWhole());
        }

        private Exit keep(byte[] result, String status) {
            try {
                Files.write(files.result(), result);
                return exit(0, null);
            } catch (IOException e) {
                return exit(1, status + ", but the answer cannot be stored: " + FileFailure.words(e));
            }
        }

        private Ended ended(Exit exit, byte[] body, boolean isCut) {
            String text = new String(body, StandardCharsets.UTF_8).replace('\0', '\u2400');
            String tail = lastOf(text);
            try {
                log.output(text);
                log.remark(exit.reason() == null ? "answered" : exit.reason());
            } catch (IOException e) {
                tail = lastOf(tail + "\n[fencepost] the log cannot be written: " + FileFailure.words(e) + "\n");
            }
            return new Ended(exit, new Output(tail, body.length, isCut, 0));
        }

        private static String lastOf(String text) {
            byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
            if (bytes.length <= MAX_TAIL_BYTES) {
                return text;
            }
            int from = bytes.length - MAX_TAIL_BYTES;
            while ((bytes[from] & 0xc0) == 0x80) { // inside a character
                from++;
            }
            return new String(bytes, from, bytes.length - from, StandardCharsets.UTF_8);
        }

        private static Exit exit(int code, @Nullable String reason) {
            return new Exit(code, null, reason);
        }

        /** None: there is no process. */
        @Override
        public long pid() {
            return 0;
        }

        @Override
        public @Nullable Exit await(Duration limit) throws InterruptedException {
            try {
                return ended.get(Math.max(0, limit.toMillis()), TimeUnit.MILLISECONDS)
                        .exit();
            } catch (TimeoutException goesOn) {
                return null;
            } catch (ExecutionException e) {
                throw new IllegalStateException(e.getCause());
            }
        }

        @Override
        public long lastOutputBootMillis() {
            return sentBootMillis;
        }

        /** Cuts the connection at once: there is nothing on the other side that a grace would be for. */
        @Override
        public void stop(Duration grace) {
            Objects.requireNonNull(task).interrupt();
        }

        @Override
        public Output finish() throws InterruptedException {
            try {
                return ended.get().output();
            } catch (ExecutionException e) {
                throw new IllegalStateException(e.getCause());
            }
        }
    }
}
