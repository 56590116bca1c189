package dev.fencepost.edge.web.page;

import dev.fencepost.edge.web.Problem;
import io.quarkus.qute.TemplateInstance;
import io.smallrye.common.annotation.RunOnVirtualThread;
import io.vertx.core.http.HttpServerRequest;
import jakarta.ws.rs.Consumes;
import jakarta.ws.rs.FormParam;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.POST;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.QueryParam;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.NewCookie;
import jakarta.ws.rs.core.NewCookie.SameSite;
import jakarta.ws.rs.core.Response;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** In and out. A token is shown once, by POST; from then on a cookie that no script can read stands for it. */
@Path("/")
@RunOnVirtualThread
public class LoginResource {

    static final String LOGIN = "/login";
    static final String LOGOUT = "/logout";

    /** An address of ours: a second slash or a backslash would lead to another host. */
    private static final Pattern OURS = Pattern.compile("/(?![/\\\\])[\\x21-\\x7e&&[^\\\\]]{0,2000}|/");

    private final Page page;

    LoginResource(Page page) {
        this.page = page;
    }

    /** @param next where to go on afterwards */
    record Login(Frame frame, String next, @Nullable String trouble) implements TemplateInstance {}

    static String address(String wanted) {
        return wanted.equals("/") ? LOGIN : LOGIN + "?next=" + URLEncoder.encode(wanted, StandardCharsets.UTF_8);
    }

    private static String ours(@Nullable String next) {
        return next != null && OURS.matcher(next).matches() ? next : "/";
    }

    @GET
    @Path("login")
    public Response login(@QueryParam("next") @Nullable String next) {
        if (page.opened().sessions() == null) {
            return Html.seeOther("/");
        }
        return Html.page(new Login(Frame.bare("Log in"), ours(next), null));
    }

    @POST
    @Path("login")
    @Consumes(MediaType.APPLICATION_FORM_URLENCODED)
    public Response logIn(
            @Context HttpServerRequest request,
            @FormParam("token") @Nullable String token,
            @FormParam("next") @Nullable String next) {
        Page.checkOrigin(request);
        try {
            String id = page.logIn(request, token == null ? "" : token);
            return Response.fromResponse(Html.seeOther(ours(next)))
                    .cookie(cookie(request, id, -1))
                    .build();
        } catch (Problem refused) {
            if (refused.status() == 404 || refused.status() == 503) {
                throw refused;
            }
            Response again = Html.page(refused.status(), new Login(Frame.bare("Log in"), ours(next), refused.detail()));
            return refused.retryAfterSeconds() == 0
                    ? again
                    : Response.fromResponse(again)
                            .header("Retry-After", refused.retryAfterSeconds())
                            .build();
        }
    }

    @POST
    @Path("logout")
    @Consumes(MediaType.APPLICATION_FORM_URLENCODED)
    public Response logOut(@Context HttpServerRequest request, @FormParam("form") @Nullable String form) {
        page.order(request).checkForm(LOGOUT, form);
        page.logOut(request);
        return Response.fromResponse(Html.seeOther(LOGIN))
                .cookie(cookie(request, "", 0))
                .build();
    }

    /** @param maxAgeSeconds -1 for as long as the browser runs */
    private NewCookie cookie(HttpServerRequest request, String value, int maxAgeSeconds) {
        return new NewCookie.Builder(Page.COOKIE)
                .value(value)
                .path("/")
                .maxAge(maxAgeSeconds)
                .httpOnly(true)
                .secure(page.isSecure(request))
                .sameSite(SameSite.STRICT)
                .build();
    }
}
