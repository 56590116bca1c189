package dev.fencepost.edge.web.page;

import dev.fencepost.edge.web.Problem;
import io.smallrye.common.annotation.RunOnVirtualThread;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import jakarta.ws.rs.core.Response;

/** What every page needs besides itself; the login page too, so nobody is asked who he is. */
@Path(AssetResource.ADDRESS)
@RunOnVirtualThread
public class AssetResource {

    static final String ADDRESS = "/assets";

    private static final String FOR_GOOD = "public, max-age=31536000, immutable";

    @GET
    @Path("{digest}/{name}")
    public Response asset(@PathParam("digest") String digest, @PathParam("name") String name) {
        for (Assets asset : Assets.values()) {
            if (asset.fileName().equals(name)) {
                return Response.ok(asset.text(), asset.type())
                        .header("Cache-Control", asset.digest().equals(digest) ? FOR_GOOD : "no-store")
                        .build();
            }
        }
        throw Problem.notFound("there is no such file");
    }
}
