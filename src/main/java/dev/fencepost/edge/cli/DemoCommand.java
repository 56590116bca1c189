package dev.fencepost.edge.cli;

import dev.fencepost.Store;
import dev.fencepost.edge.Assembly;
import dev.fencepost.host.Time;
import dev.fencepost.lease.Claim;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.RunId;
import dev.fencepost.lease.StoreException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** Experiments on the chosen store, with real leases under names of their own. */
@Command(
        description = "Shows on the chosen store what the fencing token is for.",
        synopsisSubcommandLabel = "COMMAND",
        footer = {
            "",
            "Examples:",
            "  fencepost demo fencing",
            "  fencepost demo reclaim --jobs 10 --ttl 3s",
            "",
            "The rows of a demonstration are deleted at its end, its leases given back. The names of the leases",
            "stay, since a token must never fall. Items at a server stay until it prunes them."
        })
final class DemoCommand implements Runnable {

    static final Owner WORKER_A = new Owner("worker-a");
    static final Owner WORKER_B = new Owner("worker-b");

    @Spec
    @SuppressWarnings("NullAway.Init")
    private CommandSpec spec;

    private final SharedOptions shared;

    DemoCommand(SharedOptions shared) {
        this.shared = shared;
    }

    /** With its own commands. */
    static CommandLine line(SharedOptions shared) {
        CommandLine demo = new CommandLine(new DemoCommand(shared));
        demo.addSubcommand("fencing", new FencingDemo(shared));
        demo.addSubcommand("reclaim", new ReclaimDemo(shared));
        return demo;
    }

    @Override
    public void run() {
        spec.commandLine().usage(shared.surroundings().out());
    }

    /** The leases of one demonstration. */
    static final class Workers {

        /** Claims between two looks at the clock are cheap, but a store is not to be asked without a pause. */
        private static final Duration BETWEEN_TRIES = Duration.ofMillis(15);

        /** A store that is slow, or whose clock stands, does not hold the command for ever. */
        private static final Duration PATIENCE = Duration.ofSeconds(30);

        private final Store store;
        private final Assembly assembly;
        private final String prefix;

        Workers(OpenedStore opened) {
            this.store = opened.store();
            this.assembly = opened.assembly();
            this.prefix = "demo-" + uuid().substring(0, 8) + "-";
        }

        private String uuid() {
            return assembly.entropy().uuid().toString();
        }

        /** The names of so many resources that nobody else has: {@code demo-1f2e3d4c-1}. */
        List<String> resources(int count) {
            List<String> names = new ArrayList<>();
            for (int i = 1; i <= count; i++) {
                names.add(prefix + i);
            }
            return names;
        }

        /** The first claim of a resource. */
        Lease claimFree(String resource, Owner owner, Duration ttl) {
            Lease lease = claim(resource, owner, ttl);
            if (lease == null) {
                throw new IllegalStateException(resource + " is held, though its name is new");
            }
            return lease;
        }

        private @Nullable Lease claim(String resource, Owner owner, Duration ttl) {
            return store.claim(resource, owner, new RunId(assembly.entropy().uuid()), ttl)
                            instanceof Claim.Granted granted
                    ? granted.lease()
                    : null;
        }

        /**
         * Takes each of these over once it has expired by the store's clock: sleeps until then, and tries until it is granted.
         *
         * @return in the order in which they were granted
         */
        List<Lease> takeOver(List<Lease> from, Owner owner, Duration ttl) throws InterruptedException {
            Time time = assembly.time();
            Instant firstEnd =
                    from.stream().map(Lease::expiresAt).min(Instant::compareTo).orElseThrow();
            Instant lastEnd = lastEnd(from);
            Instant now = store.now();
            long giveUp = time.bootMillis()
                    + Duration.between(now, lastEnd).plus(PATIENCE).toMillis();
            time.sleep(Duration.between(now, firstEnd));
            List<Lease> left = new ArrayList<>(from);
            List<Lease> taken = new ArrayList<>();
            while (true) {
                left.removeIf(old -> {
                    Lease lease = claim(old.resource(), owner, ttl);
                    if (lease == null) {
                        return false;
                    }
                    taken.add(lease);
                    return true;
                });
                if (left.isEmpty()) {
                    return taken;
                }
                if (time.bootMillis() > giveUp) {
                    throw new CommandFailure(
                            ExitCode.FAILED,
                            left.size() + " leases of " + from.size() + " were not free " + PATIENCE.toSeconds()
                                    + " s after their end");
                }
                time.sleep(BETWEEN_TRIES);
            }
        }

        static Instant lastEnd(List<Lease> leases) {
            return leases.stream().map(Lease::expiresAt).max(Instant::compareTo).orElseThrow();
        }

        /** Who holds these now; several names if they are not the same everywhere. */
        String holders(List<String> resources) {
            return distinct(resources.stream()
                    .map(store::inspect)
                    .map(view -> view == null || view.owner() == null
                            ? "nobody"
                            : view.owner().text())
                    .toList());
        }

        static String distinct(List<String> names) {
            return String.join(",", names.stream().distinct().sorted().toList());
        }

        /** Gives back what is held; what cannot be given back expires by itself. */
        void giveBack(List<Lease> leases) {
            cleanUp(leases, store::release);
        }

        /** Ends quietly where the store has gone: that is told by whatever failed before. */
        static <T> void cleanUp(List<T> of, Consumer<T> by) {
            try {
                of.forEach(by);
            } catch (StoreException gone) {
                // the next demonstration has other names
            }
        }
    }
}
