package dev.fencepost.edge.cli;

import dev.fencepost.edge.Assembly;
import dev.fencepost.edge.config.JobsFile;
import dev.fencepost.edge.config.StoreUrl;
import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.edge.jdbc.SchemaTooNewException;
import dev.fencepost.host.Journal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * The store that a command works on, open until the command ends. A command that looks, or that changes what is there, never makes a
 * store; one that runs something does.
 */
record OpenedStore(Assembly assembly, JdbcStore store) implements AutoCloseable {

    /** Of the libraries' loggers, which belong to nobody here. Kept, since the JVM forgets the level of a logger that is not. */
    private static final Logger LIBRARIES = Logger.getLogger("");

    /** Opens a store that is there; one that is not ends the command with {@link ExitCode#STORE_UNAVAILABLE}. */
    static OpenedStore existing(SharedOptions shared, @Nullable JobsFile file) {
        StoreUrl url = shared.store(file);
        Path path = url.file();
        if (path != null && !Files.exists(path)) {
            throw new CommandFailure(
                    ExitCode.STORE_UNAVAILABLE,
                    "there is no store " + url.display() + " yet\n    fencepost serve and fencepost run make it;"
                            + " another one is named with --store or --config");
        }
        OpenedStore opened = open(shared, url);
        try {
            if (!opened.store.isPrepared()) {
                throw new CommandFailure(
                        ExitCode.STORE_UNAVAILABLE,
                        url.display() + " is no store of this version of Fencepost\n    fencepost serve and fencepost"
                                + " run bring it up to date");
            }
            return opened;
        } catch (RuntimeException e) {
            opened.close();
            throw named(url, e);
        }
    }

    private static RuntimeException named(StoreUrl url, RuntimeException e) {
        return e instanceof SchemaTooNewException
                ? new CommandFailure(ExitCode.STORE_UNAVAILABLE, url.display() + ": " + e.getMessage())
                : e;
    }

    /** Opens it whatever its schema is, and leaves that as it is. A file that is not there is made: look before. */
    static OpenedStore asItIs(SharedOptions shared, StoreUrl url) {
        return open(shared, url);
    }

    /** Opens the store and brings its schema up to date. */
    static OpenedStore prepared(SharedOptions shared, @Nullable JobsFile file, Journal journal) {
        return prepared(shared.store(file), journal);
    }

    /** The same with this store. */
    static OpenedStore prepared(StoreUrl url, Journal journal) {
        OpenedStore opened = open(url, journal);
        try {
            opened.store.prepare();
            return opened;
        } catch (RuntimeException e) {
            opened.close();
            throw named(url, e);
        }
    }

    private static OpenedStore open(SharedOptions shared, StoreUrl url) {
        return open(url, new TerseJournal(shared.surroundings().err()));
    }

    private static OpenedStore open(StoreUrl url, Journal journal) {
        LIBRARIES.setLevel(Level.OFF);
        Assembly assembly = new Assembly(journal);
        return new OpenedStore(assembly, assembly.store(url));
    }

    @Override
    public void close() {
        store.close();
    }
}
