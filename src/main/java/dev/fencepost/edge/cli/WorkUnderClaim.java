package dev.fencepost.edge.cli;

import dev.fencepost.lease.Leases;
import dev.fencepost.work.Body;
import dev.fencepost.work.Grant;
import java.io.IOException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** What only the holder of a claim may do: renew, complete, fail, release. */
final class WorkUnderClaim {

    private WorkUnderClaim() {}

    static void addTo(CommandLine work, SharedOptions shared) {
        work.addSubcommand("renew", new Renew(shared));
        work.addSubcommand("complete", new Complete(shared));
        work.addSubcommand("fail", new Fail(shared));
        work.addSubcommand("release", new Release(shared));
    }

    @Command(
            description = {
                "Moves the end of a live lease to now + ttl.",
                "Refused with 3 when the token is not the newest, the lease another's, or over: an expired lease is never",
                "revived."
            },
            footer = {
                "",
                "Examples:",
                "  fencepost work renew page-17 --owner worker-a --fence 1 --ttl 10m",
                "  fencepost work renew page-17 --owner worker-a --fence 1 --ttl 10m --json \\",
                "      --run-id 0b86a9d2-4a6e-4a49-9a3b-0d7a55f3b1c4"
            })
    private static final class Renew extends WorkCall {

        @Mixin
        private final Holder holder = new Holder();

        @Option(names = "--ttl", paramLabel = "DURATION", required = true, description = "From now on, such as 10m.")
        @SuppressWarnings("NullAway.Init")
        private String ttl;

        Renew(SharedOptions shared) {
            super(shared);
        }

        @Override
        Question question() {
            Grant grant = holder.grant(this);
            Duration length = ttl(ttl);
            return opened -> tell(
                    opened, grant.id(), opened.queue().renew(grant, length), item -> "renewed until " + item.until());
        }
    }

    @Command(
            description = {
                "Stores the result of an item, for good.",
                "Only under a live lease with the newest token; else it is refused with 3, and the result that is there stays."
            },
            footer = {
                "",
                "Examples:",
                "  fencepost work complete page-17 --owner worker-a --fence 1",
                "  fencepost work complete page-17 --owner worker-a --fence 1 --result @page-17.html",
                "  make-page | fencepost work complete page-17 --owner worker-a --fence 1 --result -"
            })
    private static final class Complete extends WorkCall {

        @Mixin
        private final Holder holder = new Holder();

        @Option(
                names = "--result",
                paramLabel = "TEXT|@FILE|-",
                description = "At most 1 MiB: a text, a file, or what is piped in.")
        private @Nullable String result;

        @Option(names = "--content-type", paramLabel = "T", description = "The media type of the result.")
        private @Nullable String contentType;

        Complete(SharedOptions shared) {
            super(shared);
        }

        @Override
        Question question() throws IOException {
            Grant grant = holder.grant(this);
            if (contentType != null && result == null) {
                throw wrong("--content-type is of a result; there is none");
            }
            Body body = body("--result", result, contentType);
            return opened -> tell(
                    opened,
                    grant.id(),
                    opened.queue().complete(grant, body),
                    item -> "done; its result stays for good");
        }
    }

    @Command(
            description = {
                "Gives an item back as failed.",
                "It may be claimed again, at once or after --retry-after, as long as it has attempts left; with --dead never."
            },
            footer = {
                "",
                "Examples:",
                "  fencepost work fail page-17 --owner worker-a --fence 1 --reason \"no such page\" --dead",
                "  fencepost work fail page-17 --owner worker-a --fence 1 --reason \"429\" --retry-after 5m"
            })
    private static final class Fail extends WorkCall {

        private static final int LONGEST_REASON = 500;

        @Mixin
        private final Holder holder = new Holder();

        @Option(names = "--reason", paramLabel = "TEXT", description = "Kept with the item, 1 to 500 characters.")
        private String reason = "failed";

        @Option(names = "--retry-after", paramLabel = "DURATION", description = "It is not claimed before. Else 0s.")
        private @Nullable String retryAfter;

        @Option(names = "--dead", description = "It is never claimed again.")
        private boolean dead;

        Fail(SharedOptions shared) {
            super(shared);
        }

        @Override
        Question question() {
            Grant grant = holder.grant(this);
            if (reason.isBlank() || reason.length() > LONGEST_REASON) {
                throw wrong("--reason: write 1 to " + LONGEST_REASON + " characters");
            }
            if (dead && retryAfter != null) {
                throw wrong("--retry-after or --dead, not both");
            }
            Duration wait = retryAfter == null
                    ? Duration.ZERO
                    : Bounds.duration("--retry-after", retryAfter, Duration.ZERO, Leases.MAX_TTL);
            return opened -> tell(
                    opened,
                    grant.id(),
                    opened.queue().fail(grant, reason, dead ? null : wait),
                    item -> "failed; it is " + WorkForms.lower(item)
                            + (item.notBefore() == null || dead ? "" : ", not before " + item.notBefore()));
        }
    }

    @Command(
            description = {
                "Gives an item back as not tried, and keeps the token.",
                "Only with the owner and the token that the store has, and the run id where one is given."
            },
            footer = {"", "Examples:", "  fencepost work release page-17 --owner worker-a --fence 1"})
    private static final class Release extends WorkCall {

        @Mixin
        private final Holder holder = new Holder();

        Release(SharedOptions shared) {
            super(shared);
        }

        @Override
        Question question() {
            Grant grant = holder.grant(this);
            return opened -> tell(
                    opened,
                    grant.id(),
                    opened.queue().release(grant),
                    item -> "released; the token stays at " + item.fence());
        }
    }
}
