package dev.fencepost.run;

import dev.fencepost.run.Workspace.RunFiles;
import java.util.Map;
import java.util.Set;

/** For jobs that call nothing. */
public final class NoHttpCalls implements HttpCalls {

    @Override
    public ChildProcess start(Action.HttpCall call, Map<String, String> headers, RunFiles files, Set<String> secrets) {
        throw new AssertionError("nothing was to be called");
    }
}
