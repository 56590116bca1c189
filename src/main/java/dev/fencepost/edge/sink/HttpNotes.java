package dev.fencepost.edge.sink;

import dev.fencepost.edge.sink.HttpTransport.Outcome;
import dev.fencepost.effect.HttpEndpoint;
import dev.fencepost.effect.HttpSender;
import dev.fencepost.host.Spawner;
import dev.fencepost.host.Time;

/** Requests that are no effects, such as pings of monitors, by the same transport and under the same rules. */
public final class HttpNotes implements HttpSender {

    /** Read of an answer that nobody needs, so that the connection ends in good order. */
    private static final int BODY_TO_DRAIN = 16 * 1024;

    private final Time time;
    private final HttpTransport transport;

    public HttpNotes(Time time, Spawner spawner) {
        this.time = time;
        this.transport = new HttpTransport(spawner);
    }

    @Override
    public Answer send(HttpEndpoint endpoint, Note note) throws InterruptedException {
        HttpMessage message;
        try {
            message = HttpMessage.noting(endpoint, note, time.wallClock());
        } catch (HttpMessage.Unusable e) {
            return new Answer(0, String.valueOf(e.getMessage()));
        }
        return switch (transport.send(message, BODY_TO_DRAIN)) {
            case Outcome.Answered answer ->
                new Answer(answer.status(), "HTTP " + answer.status() + " from " + message.place());
            case Outcome.NotSent none -> new Answer(0, none.reason());
            case Outcome.Lost lost -> new Answer(0, lost.reason());
        };
    }
}
