package dev.fencepost.mutants;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import java.lang.reflect.Method;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.LongStream;
import org.junit.jupiter.engine.JupiterTestEngine;
import org.junit.platform.engine.FilterResult;
import org.junit.platform.engine.TestDescriptor;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.PostDiscoveryFilter;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherConfig;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/** Looks at a program, to see whether something is wrong with it. */
sealed interface Catcher {

    int LONGEST_LINE = 160;

    /**
     * @param seen what is wrong, in one line each, by the seed or the test that saw it
     * @param blind seeds and tests that saw nothing
     */
    record Looks(Map<String, String> seen, Set<String> blind) {}

    Looks look(MutatedProgram program) throws ReflectiveOperationException;

    /**
     * Stories from seeds, until one of them shows it.
     *
     * @param knownSeed the first
     * @param seeds how many others follow it
     */
    record Simulation(long knownSeed, int seeds) implements Catcher {

        @Override
        public Looks look(MutatedProgram program) throws ReflectiveOperationException {
            Method tell = program.loadClass("dev.fencepost.sim.Stories").getMethod("tell", long.class);
            LongStream others = LongStream.rangeClosed(1, seeds).filter(seed -> seed != knownSeed);
            for (long seed : LongStream.concat(LongStream.of(knownSeed), others).toArray()) {
                String said = (String) tell.invoke(null, seed);
                if (said != null) {
                    return new Looks(Map.of("simulation, seed " + seed, firstLine(said)), Set.of());
                }
            }
            return new Looks(Map.of(), Set.of("simulation, " + seeds + " seeds"));
        }
    }

    /**
     * Tests of one class, each of which has to see it.
     *
     * @param testClass below the program's package
     */
    record Tests(String testClass, List<String> methods) implements Catcher {

        @Override
        public Looks look(MutatedProgram program) throws ReflectiveOperationException {
            Class<?> loaded = program.loadClass("dev.fencepost." + testClass);
            LauncherDiscoveryRequest request = LauncherDiscoveryRequestBuilder.request()
                    .selectors(selectClass(loaded))
                    .filters((PostDiscoveryFilter) this::isWanted)
                    .enableImplicitConfigurationParameters(false)
                    .build();
            // What others register there wants to know the program that they have started.
            LauncherConfig nothingFromTheClassPath = LauncherConfig.builder()
                    .enableTestEngineAutoRegistration(false)
                    .enableLauncherSessionListenerAutoRegistration(false)
                    .enableLauncherDiscoveryListenerAutoRegistration(false)
                    .enablePostDiscoveryFilterAutoRegistration(false)
                    .enableTestExecutionListenerAutoRegistration(false)
                    .addTestEngines(new JupiterTestEngine())
                    .build();
            Run run = new Run();
            ClassLoader before = Thread.currentThread().getContextClassLoader();
            Thread.currentThread().setContextClassLoader(program);
            try {
                LauncherFactory.create(nothingFromTheClassPath).execute(request, run);
            } finally {
                Thread.currentThread().setContextClassLoader(before);
            }
            return run.looks();
        }

        private FilterResult isWanted(TestDescriptor test) {
            return FilterResult.includedIf(!(test.getSource().orElse(null) instanceof MethodSource method)
                    || methods.contains(method.getMethodName()));
        }

        private String named(String method) {
            return testClass.substring(testClass.lastIndexOf('.') + 1) + "." + method;
        }

        private final class Run implements TestExecutionListener {
            private final Map<String, Throwable> failed = new LinkedHashMap<>();
            private final Set<String> ended = new LinkedHashSet<>();
            private final List<String> skipped = new ArrayList<>();

            @Override
            public void executionSkipped(TestIdentifier test, String reason) {
                skipped.add(test.getDisplayName() + ": " + reason);
            }

            @Override
            public void executionFinished(TestIdentifier test, TestExecutionResult result) {
                String method = test.getSource()
                        .map(source -> source instanceof MethodSource one ? one.getMethodName() : "")
                        .orElse("the class");
                switch (result.getStatus()) {
                    case SUCCESSFUL -> ended.add(method);
                    case FAILED -> {
                        ended.add(method);
                        failed.putIfAbsent(method, result.getThrowable().orElseThrow());
                    }
                    case ABORTED -> skipped.add(test.getDisplayName() + ": " + result);
                }
            }

            Looks looks() {
                failed.values().forEach(Tests::checkThatItTellsOfTheBug);
                Map<String, String> seen = new LinkedHashMap<>();
                failed.forEach((method, failure) -> seen.put(named(method), firstLine(failure.toString())));
                Set<String> blind = new LinkedHashSet<>();
                for (String method : methods) {
                    if (!ended.contains(method) && failed.isEmpty()) {
                        throw new AssertionError(named(method) + " was not run; skipped: " + skipped);
                    }
                    if (!failed.containsKey(method)) {
                        blind.add(named(method));
                    }
                }
                return new Looks(seen, blind);
            }
        }

        /**
         * A statement that the database does not understand is no bug that could have been shipped, and a database that is not there, or
         * takes no more connections, shows none.
         */
        private static void checkThatItTellsOfTheBug(Throwable failure) {
            for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
                if (cause instanceof SQLException sql) {
                    String state = String.valueOf(sql.getSQLState());
                    boolean noSql = state.startsWith("42")
                            || String.valueOf(sql.getMessage()).startsWith("[SQLITE_ERROR]");
                    if (noSql || state.equals("08001") || state.equals("53300")) {
                        throw new AssertionError("this tells nothing of the mutant: " + sql.getMessage(), sql);
                    }
                }
            }
        }
    }

    /** Of what was said, as much as a table has room for. */
    private static String firstLine(String text) {
        String line = text.lines()
                .map(String::strip)
                .filter(each -> !each.isEmpty())
                .findFirst()
                .orElse("");
        String plain = line.replaceFirst("^[\\w.]+\\.(\\w+): ", "$1: ").replace("AssertionFailedError: ", "");
        return plain.length() <= LONGEST_LINE ? plain : plain.substring(0, LONGEST_LINE - 1) + "…";
    }
}
