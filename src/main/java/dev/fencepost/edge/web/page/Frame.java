package dev.fencepost.edge.web.page;

import dev.fencepost.Node;

/**
 * What is around the content of every page.
 *
 * @param title of the page, before the program's name
 * @param section which of the links at the top is this one: jobs, waiting, queues, or empty
 * @param who is logged in; empty where nobody can
 * @param logoutToken of the form that logs out
 * @param waiting how many things wait for a person
 * @param live where the page's regions come from by server-sent events; empty for a page that stands still
 * @param seen the version of the regions that the page was made of
 * @param now the store's clock in milliseconds since 1970: the script counts from it, since the browser's own clock may be wrong
 * @param refreshed whether a browser without script loads it anew now and then; not where somebody could be writing
 * @param notice what came of the form that led here; empty if none did
 * @param noticeStyle class of the stylesheet
 */
public record Frame(
        String title,
        String section,
        String who,
        String logoutToken,
        long waiting,
        String live,
        long seen,
        long now,
        boolean refreshed,
        String notice,
        String noticeStyle) {

    static Frame of(Visit visit, String title, String section, String live, long seen) {
        Session session = visit.session();
        Said said = visit.said();
        return new Frame(
                title,
                section,
                session == null ? "" : session.token().name(),
                visit.formToken(LoginResource.LOGOUT),
                visit.open().board().waiting(),
                live,
                seen,
                visit.open().board().now().toEpochMilli(),
                !live.isEmpty() && (live.equals("/live") || !visit.mayOperate()),
                said == null ? "" : said.text(),
                said != null && said.isTrouble() ? "trouble" : "notice");
    }

    /** For a page without a visitor. */
    static Frame bare(String title) {
        return new Frame(title, "", "", "", 0, "", 0, 0, false, "", "");
    }

    public boolean isLive() {
        return !live.isEmpty();
    }

    public String version() {
        return Node.VERSION;
    }

    public String styleSheet() {
        return Assets.CSS.address();
    }

    public String script() {
        return Assets.JS.address();
    }

    public String icon() {
        return Assets.ICON.address();
    }
}
