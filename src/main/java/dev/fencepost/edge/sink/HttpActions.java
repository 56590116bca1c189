package dev.fencepost.edge.sink;

import dev.fencepost.run.Action;
import dev.fencepost.run.ChildProcess;
import dev.fencepost.run.Children;
import dev.fencepost.run.HttpCalls;
import dev.fencepost.run.Workspace.RunFiles;
import java.util.Map;
import java.util.Set;

public final class HttpActions implements HttpCalls {

    @Override
    public ChildProcess start(Action.HttpCall call, Map<String, String> headers, RunFiles files, Set<String> secrets)
            throws Children.StartFailure {
        throw new Children.StartFailure("not there yet", null);
    }
}
