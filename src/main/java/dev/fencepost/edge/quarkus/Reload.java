package dev.fencepost.edge.quarkus;

import dev.fencepost.edge.config.Finding;
import dev.fencepost.edge.config.JobsFile;
import dev.fencepost.edge.config.JobsFileReader;
import dev.fencepost.edge.config.Reading;
import dev.fencepost.edge.config.StoreUrl;
import dev.fencepost.host.Spawner;
import dev.fencepost.host.Time;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * Reads the jobs file anew while the service runs. A broken file is refused whole, and the one in force stays; so is one that names another
 * store, since what runs and what waits lies in the old one.
 */
final class Reload {

    /** Takes a file that was found good. */
    interface Adoption {
        void adopt(JobsFile file) throws InterruptedException;
    }

    private static final Logger LOG = Logger.getLogger("dev.fencepost");

    private static final Duration LOOK = Duration.ofSeconds(2);

    private final ServeArguments arguments;
    private final Map<String, String> environment;
    private final Path workingDir;
    private final Time time;
    private final Spawner spawner;
    private final Adoption adoption;
    private final Runnable before;
    private final Runnable afterwards;
    private final AtomicBoolean wanted = new AtomicBoolean();
    private final Object turn = new Object();
    private JobsFile inForce;
    private volatile @Nullable String error;

    /**
     * @param before called before each try
     * @param afterwards called after each try, whatever came of it
     */
    Reload(
            ServeArguments arguments,
            Map<String, String> environment,
            Path workingDir,
            Time time,
            Spawner spawner,
            JobsFile inForce,
            Adoption adoption,
            Runnable before,
            Runnable afterwards) {
        this.arguments = arguments;
        this.environment = Map.copyOf(environment);
        this.workingDir = workingDir;
        this.time = time;
        this.spawner = spawner;
        this.inForce = inForce;
        this.adoption = adoption;
        this.before = before;
        this.afterwards = afterwards;
    }

    /** Why the file, as it was at the last try, is not in force; null where it is. In one line. */
    @Nullable
    String error() {
        return error;
    }

    /**
     * Reads the file on a thread of its own; wishes that come while one waits are one.
     *
     * @param why in words, for the log: a signal, an order, a change of the file
     */
    void soon(String why) {
        if (!wanted.compareAndSet(false, true)) {
            return;
        }
        boolean begun = false;
        try {
            spawner.virtualThread("reload", () -> {
                synchronized (turn) {
                    wanted.set(false);
                    now(why);
                }
            });
            begun = true;
        } finally {
            if (!begun) {
                wanted.set(false);
            }
        }
    }

    /**
     * Reads the file when it has changed and then stayed as it is for one look: an editor writes it in several steps. For a thread of its
     * own.
     *
     * @param wanted whether the file in force says so; it may change its mind
     */
    void watch(BooleanSupplier wanted) {
        try {
            String read = stamp();
            String before = read;
            while (true) {
                time.sleep(LOOK);
                String now = stamp();
                if (wanted.getAsBoolean() && !now.equals(read) && now.equals(before)) {
                    read = now;
                    soon("the file has changed");
                }
                before = now;
            }
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
        }
    }

    private String stamp() {
        try {
            BasicFileAttributes file = Files.readAttributes(arguments.jobsFile(), BasicFileAttributes.class);
            return file.lastModifiedTime() + " " + file.size() + " " + file.fileKey();
        } catch (IOException gone) {
            return "gone";
        }
    }

    private void now(String why) {
        before.run();
        try {
            Reading reading = new JobsFileReader(environment, workingDir, time.wallClock()).read(arguments.jobsFile());
            switch (reading) {
                case Reading.Refused refused -> refuse(why, refused.errors());
                case Reading.Accepted accepted -> accept(why, accepted.file());
            }
        } finally {
            afterwards.run();
        }
    }

    private void refuse(String why, List<Finding> errors) {
        error = errors.getFirst().text().replace('\n', ' ').replaceAll(" +", " ")
                + (errors.size() == 1 ? "" : " (and " + (errors.size() - 1) + " more)");
        LOG.errorf(
                "%s: the jobs file is refused, the one before stays in force; %d errors:", why, (Object) errors.size());
        errors.forEach(each -> LOG.error(each.text()));
    }

    private void accept(String why, JobsFile file) {
        StoreUrl before = arguments.storeUrl(inForce);
        if (!before.equals(arguments.storeUrl(file))) {
            error = file.path() + ": names another store than the one in use; that takes a restart";
            LOG.errorf("%s: refused: %s", why, error);
            return;
        }
        if (!Objects.equals(inForce.api(), file.api()) || !Objects.equals(inForce.workKeep(), file.workKeep())) {
            LOG.warn("the settings under api or work are other ones now; they take effect at the next start");
        }
        try {
            adoption.adopt(file);
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
            return;
        }
        inForce = file;
        error = null;
        file.warnings().forEach(warning -> LOG.warn(warning.text()));
        LOG.infof("%s: %d jobs of %s are in force", why, file.jobs().size(), file.path());
    }
}
