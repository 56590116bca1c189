package dev.fencepost.edge.web.page;

/** Nobody is logged in: the browser is shown the way to the login, and back. */
final class LoginNeeded extends RuntimeException {

    private static final long serialVersionUID = 1L;

    private final String wanted;

    /** @param wanted the address that was asked for, from its first slash */
    LoginNeeded(String wanted) {
        super("login needed", null, false, false);
        this.wanted = wanted;
    }

    String wanted() {
        return wanted;
    }
}
