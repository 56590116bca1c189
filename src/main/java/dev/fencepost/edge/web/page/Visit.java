package dev.fencepost.edge.web.page;

import dev.fencepost.edge.web.Problem;
import dev.fencepost.edge.web.Scope;
import dev.fencepost.host.Event;
import org.jspecify.annotations.Nullable;

/**
 * A request of somebody who may look.
 *
 * @param session null where there are no tokens: then nobody may change anything
 * @param said what came of the form that led here, or null
 */
record Visit(
        Page.Open open, @Nullable Session session, @Nullable Said said) {

    boolean mayOperate() {
        return session != null && session.token().scopes().contains(Scope.OPERATE);
    }

    /** Who orders something, as orders tell it. */
    String by() {
        return (session == null ? "somebody" : session.token().name()) + "@page";
    }

    /** For the form that is sent to this address; empty for who may not send it. */
    String formToken(String address) {
        return session == null ? "" : session.formToken(address);
    }

    /**
     * Lets a form in.
     *
     * @param address of the form, from its first slash
     * @param shown token that came with it
     * @throws Problem 403 without the scope operate, or without the right token
     */
    void checkOrder(String address, @Nullable String shown) {
        if (session == null) {
            throw Problem.forbidden("without a token file the page is for looking only; name one in the jobs file:"
                    + " api: { token-file: FILE }");
        }
        if (!mayOperate()) {
            throw Problem.forbidden("the token " + session.token().name() + " lacks the scope " + Scope.OPERATE.word());
        }
        checkForm(address, shown);
    }

    /** Tells that this visitor changed something. */
    void note(@Nullable String job, String text) {
        open.parts().journal().record(new Event.Note(job, "page: " + text + ", by " + by()));
    }

    /** The same for what needs no scope, such as a logout. */
    void checkForm(String address, @Nullable String shown) {
        if (session == null || !session.isFormToken(address, shown)) {
            throw Problem.forbidden("this form is too old, or of another session: go back, load the page again,"
                    + " and press the button once more. Nothing was changed");
        }
    }
}
