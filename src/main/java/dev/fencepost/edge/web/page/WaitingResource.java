package dev.fencepost.edge.web.page;

import dev.fencepost.edge.web.Problem;
import dev.fencepost.effect.EffectState;
import dev.fencepost.effect.EffectView;
import dev.fencepost.effect.Outbox.Order;
import dev.fencepost.lease.StoreException;
import dev.fencepost.run.Orders;
import io.quarkus.qute.RawString;
import io.quarkus.qute.TemplateInstance;
import io.smallrye.common.annotation.RunOnVirtualThread;
import io.vertx.core.http.HttpServerRequest;
import jakarta.ws.rs.Consumes;
import jakarta.ws.rs.FormParam;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.POST;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** What waits for a person, and the buttons by which one decides; as {@code fencepost effects} does. */
@Path("/waiting")
@RunOnVirtualThread
public class WaitingResource {

    static final String ADDRESS = "/waiting";

    private static final String RESOLVE = ADDRESS + "/resolve";

    private final Page page;

    WaitingResource(Page page) {
        this.page = page;
    }

    record Overview(
            Frame frame,
            Region state,
            List<Decision> effects,
            List<Resumption> paused,
            List<Decision> refused,
            Region notes,
            boolean more,
            int shown,
            boolean mayOperate,
            int longestReason)
            implements TemplateInstance {}

    /**
     * An effect with what a person may say of it.
     *
     * @param token of its form; empty for a visitor who may only look
     * @param maySend whether one of the choices sends it, perhaps over a newer token
     */
    public record Decision(
            String key, String title, Region facts, String token, List<Choice> choices, boolean maySend) {}

    /** @param words on the button; {@code means} beside it */
    public record Choice(String value, String words, String means) {}

    /** A paused job with the form that resumes it. */
    public record Resumption(String job, RawString link, Region facts, Buttons.@Nullable Form form) {}

    @GET
    public Response waiting(@Context HttpServerRequest request) {
        Visit visit = page.visit(request);
        Waiting.Seen seen = visit.open().waiting().seen();
        Frame frame = Frame.of(
                visit,
                "Waiting for you",
                "waiting",
                "/live/waiting",
                seen.regions().version());
        return Html.page(new Overview(
                frame,
                seen.region(Waiting.STATE),
                seen.effects().stream().map(each -> decision(visit, seen, each)).toList(),
                seen.paused().stream()
                        .map(job -> new Resumption(
                                job.id(),
                                new RawString(Links.job(job.id())),
                                seen.region(Waiting.id(job)),
                                visit.mayOperate() ? Buttons.form(visit, job.id(), "resume") : null))
                        .toList(),
                seen.refused().stream().map(each -> decision(visit, seen, each)).toList(),
                seen.region(Waiting.NOTES),
                seen.more(),
                Waiting.MOST,
                visit.mayOperate(),
                Orders.LONGEST_REASON));
    }

    private static Decision decision(Visit visit, Waiting.Seen seen, EffectView effect) {
        List<Choice> choices = visit.mayOperate()
                ? Stream.of(Order.values())
                        .filter(order -> order.suits(effect.state(), effect.waits()))
                        .map(order -> choice(order, effect.state()))
                        .toList()
                : List.of();
        boolean sends = Stream.of(Order.values())
                .anyMatch(order -> order.sends() && order.suits(effect.state(), effect.waits()));
        return new Decision(
                effect.key(),
                effect.key(),
                seen.region(Waiting.id(effect)),
                visit.mayOperate() ? visit.formToken(formAddress(effect.key())) : "",
                choices,
                sends);
    }

    /** Each effect has a form of its own, with a token that is good for no other. */
    private static String formAddress(String key) {
        return RESOLVE + "#" + key;
    }

    private static Choice choice(Order order, EffectState state) {
        String value = order.name().toLowerCase(Locale.ROOT);
        return switch (order) {
            case CONFIRMED -> new Choice(value, "It took place", "Nothing more is sent.");
            case ABSENT -> new Choice(value, "It did not take place", "You are sure of it. It is sent again.");
            case GIVE_UP ->
                new Choice(
                        value,
                        "Give it up",
                        state == EffectState.UNKNOWN
                                ? "Nothing more is sent, whatever became of it."
                                : "It is not sent.");
            case RETRY -> new Choice(value, "Send it again", "Its age counts anew.");
        };
    }

    @POST
    @Path("resolve")
    @Consumes(MediaType.APPLICATION_FORM_URLENCODED)
    public Response resolve(
            @Context HttpServerRequest request,
            @FormParam("form") @Nullable String form,
            @FormParam("key") @Nullable String key,
            @FormParam("order") @Nullable String written,
            @FormParam("reason") @Nullable String reason,
            @FormParam("override") @Nullable String override) {
        Visit visit = page.order(request);
        String effect = key == null ? "" : key;
        visit.checkOrder(formAddress(effect), form);
        Order order = Stream.of(Order.values())
                .filter(each -> each.name().toLowerCase(Locale.ROOT).equals(written))
                .findFirst()
                .orElseThrow(() -> Problem.badRequest("say what became of it by one of the form's buttons"));
        if (reason == null || reason.isBlank() || !Orders.isReason(reason.strip())) {
            throw Problem.badRequest("say how you know, in 1 to " + Orders.LONGEST_REASON
                    + " characters, and no NUL: it is kept with the effect. Nothing was changed");
        }
        boolean overrides = override != null;
        if (overrides && !order.sends()) {
            throw Problem.badRequest(
                    "to send it over a newer one belongs to the buttons that send it. Nothing was changed");
        }
        // The events of an effect have no name of a person, so the reason says who it was.
        String why = reason.strip() + " (" + visit.by() + ")";
        Optional<String> refusal;
        try {
            refusal = visit.open().store().resolve(effect, order, why, overrides);
        } catch (StoreException e) {
            if (e.kind() != StoreException.Kind.AMBIGUOUS) {
                throw e;
            }
            return Html.seeOther(Said.UNSURE.on(ADDRESS));
        } finally {
            visit.open().waiting().forget();
        }
        if (refusal.isPresent()) {
            throw Problem.of(409, "Refused", refusal.get() + ". Nothing was changed");
        }
        Said said = said(order);
        visit.note(null, "effect " + effect + " " + said.order() + (overrides ? ", over a newer token" : ""));
        return Html.seeOther(said.on(ADDRESS));
    }

    private static Said said(Order order) {
        return switch (order) {
            case CONFIRMED -> Said.CONFIRMED;
            case ABSENT -> Said.ABSENT;
            case GIVE_UP -> Said.GIVEN_UP;
            case RETRY -> Said.RETRIED;
        };
    }
}
