package dev.fencepost.edge.quarkus;

import dev.fencepost.edge.config.JobsFileReader;
import dev.fencepost.edge.config.Reading;
import dev.fencepost.edge.host.SystemTime;
import dev.fencepost.lease.StoreException;
import io.quarkus.runtime.Quarkus;
import io.quarkus.runtime.QuarkusApplication;
import jakarta.inject.Inject;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Path;
import org.jboss.logging.Logger;
import sun.misc.Signal;

/** The life of the service inside Quarkus: start, wait for a signal, drain. */
public final class ServeApplication implements QuarkusApplication {

    private static final Logger LOG = Logger.getLogger("dev.fencepost");

    /** As in sysexits, and as the short commands answer it. */
    private static final int STORE_UNAVAILABLE = 69;

    private final Service service;

    @Inject
    ServeApplication(Service service) {
        this.service = service;
    }

    /** Boots Quarkus and returns when the service has ended; the process ends with the service's exit code. */
    public static void boot(ServeArguments arguments) {
        // Until the service takes them over. Nothing has begun yet; and a JVM that ends in order would wait for a boot
        // that waits for the end of the service.
        Signal.handle(new Signal("TERM"), signal -> Runtime.getRuntime().halt(0));
        Signal.handle(new Signal("INT"), signal -> Runtime.getRuntime().halt(0));
        Signal.handle(
                new Signal("HUP"), signal -> {}); // the jobs file has not been read yet, and a JVM would end by it
        Quarkus.run(
                ServeApplication.class,
                (code, failure) -> {
                    if (failure != null) { // perhaps before there was a log
                        System.err.println("fencepost serve: it could not start: " + reason(failure));
                    }
                    System.exit(failure == null ? code : 1);
                },
                arguments.asArguments());
    }

    private static String reason(Throwable failure) {
        Throwable first = failure;
        while (first.getCause() != null && first.getCause() != first) {
            first = first.getCause();
        }
        if (first instanceof FileSystemException file) { // whose text is mostly the name alone
            return file.getFile() + " cannot be used" + (file.getReason() == null ? "" : ": " + file.getReason());
        }
        return first.getMessage() == null ? first.toString() : first.getMessage();
    }

    @Override
    public int run(String... words) throws Exception {
        ServeArguments arguments = ServeArguments.of(words);
        service.noteReloads();
        Reading reading = new JobsFileReader(
                        System.getenv(), Path.of("").toAbsolutePath(), new SystemTime().wallClock())
                .read(arguments.jobsFile());
        if (!(reading instanceof Reading.Accepted accepted)) {
            throw new IllegalStateException("the jobs file changed while the service started");
        }
        try {
            service.start(arguments, accepted.file());
        } catch (StoreException e) { // not even to be opened; one that only does not answer is waited for
            LOG.error("the store cannot be opened: " + e.getMessage());
            return STORE_UNAVAILABLE;
        } catch (IOException e) { // of the state directory
            LOG.error("the service cannot start: " + e.getMessage());
            return 1;
        }
        return service.awaitEnd();
    }
}
