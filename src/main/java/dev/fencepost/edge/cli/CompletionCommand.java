package dev.fencepost.edge.cli;

import java.util.concurrent.Callable;
import picocli.AutoComplete;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Prints what a shell needs to complete commands and options. The script is static: completing starts no program. */
@Command(
        description = "Prints a script by which a shell completes commands and options.",
        footer = {
            "",
            "Examples:",
            "  fencepost completion bash > /etc/bash_completion.d/fencepost",
            "  source <(fencepost completion zsh)      # in ~/.zshrc, after compinit",
            "  fencepost completion fish > ~/.config/fish/completions/fencepost.fish"
        })
final class CompletionCommand implements Callable<Integer> {

    /** The shells that are known. */
    enum Shell {
        BASH,
        ZSH,
        FISH
    }

    @Parameters(paramLabel = "bash|zsh|fish", description = "The shell.")
    @SuppressWarnings("NullAway.Init")
    private Shell shell;

    @Spec
    @SuppressWarnings("NullAway.Init")
    private CommandSpec spec;

    private final SharedOptions shared;

    CompletionCommand(SharedOptions shared) {
        this.shared = shared;
    }

    @Override
    public Integer call() {
        CommandLine root = spec.root().commandLine();
        shared.surroundings()
                .out()
                .print(
                        switch (shell) {
                            case BASH -> AutoComplete.bash(root.getCommandName(), root);
                            case ZSH -> zsh(AutoComplete.bash(root.getCommandName(), root));
                            case FISH -> new FishCompletion(root.getCommandSpec()).script();
                        });
        return ExitCode.FINE;
    }

    /** The script of bash works in zsh once its completion has been told of bash's. */
    private static String zsh(String bash) {
        return """
                # zsh completion of fencepost, by zsh's own bashcompinit.
                if ! whence -w compdef >/dev/null; then autoload -U +X compinit && compinit; fi
                autoload -U +X bashcompinit && bashcompinit
                """ + bash;
    }
}
