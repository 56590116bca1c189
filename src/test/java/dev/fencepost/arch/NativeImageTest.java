package dev.fencepost.arch;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.tngtech.archunit.core.domain.JavaAccess;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaCodeUnit;
import com.tngtech.archunit.core.domain.JavaCodeUnitAccess;
import com.tngtech.archunit.core.importer.ImportOption.DoNotIncludeTests;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Properties;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.flywaydb.core.extensibility.Plugin;
import org.junit.jupiter.api.Test;

/** What can be known of a native image without building one: see src/docs/native.md. */
@AnalyzeClasses(packages = "dev.fencepost", importOptions = DoNotIncludeTests.class)
class NativeImageTest {

    private static final Path RESOURCES = Path.of("src/main/resources");
    private static final Path METADATA =
            RESOURCES.resolve("META-INF/native-image/dev.fencepost/fencepost/reachability-metadata.json");

    /** Static initializers run when an image is built: what they read of a host, a clock or dice would be that of the build. */
    private static final Pattern OF_THE_BUILD =
            Pattern.compile("java\\.lang\\.System\\.(getenv|getProperty|nanoTime|currentTimeMillis|console)"
                    + "|java\\.time\\.\\w+\\.now|java\\.time\\.(Clock|InstantSource)\\.system\\w*"
                    + "|java\\.time\\.ZoneId\\.systemDefault|java\\.util\\.TimeZone\\.getDefault"
                    + "|java\\.util\\.UUID\\.randomUUID|java\\.(util|security)\\.\\w*Random\\..*"
                    + "|java\\.net\\.Inet\\w*Address\\..*|java\\.net\\.http\\.HttpClient.*"
                    + "|java\\.lang\\.Thread\\..*|java\\.util\\.concurrent\\.Executors\\..*"
                    + "|java\\.lang\\.(ProcessHandle|Runtime|ProcessBuilder)\\..*"
                    + "|java\\.nio\\.file\\.Files\\..*|java\\.nio\\.file\\.Path\\.toAbsolutePath"
                    + "|java\\.io\\.(File|Random)\\w+\\..*|javax\\.net\\.ssl\\..*");

    @ArchTest
    static void staticInitializersTakeNothingFromTheMachineOfTheBuild(JavaClasses classes) {
        Set<String> found = new TreeSet<>();
        for (JavaClass type : classes) {
            type.getStaticInitializer().ifPresent(first -> follow(type, first, found));
        }
        // The bytes of the page's own files, which are the same everywhere.
        found.removeIf(line -> line.contains(".Assets "));
        assertEquals(Set.of(), found);
    }

    private static void follow(JavaClass type, JavaCodeUnit first, Set<String> found) {
        Deque<JavaCodeUnit> open = new ArrayDeque<>(List.of(first));
        Set<JavaCodeUnit> seen = new HashSet<>(open);
        while (!open.isEmpty()) {
            JavaCodeUnit unit = open.pop();
            for (JavaAccess<?> access : unit.getAccessesFromSelf()) {
                String target = access.getTargetOwner().getName() + "."
                        + access.getTarget().getName();
                if (OF_THE_BUILD.matcher(target).matches()) {
                    found.add(type.getName() + " calls " + target + " in " + unit.getFullName());
                }
                if (access instanceof JavaCodeUnitAccess<?> call) {
                    call.getTarget()
                            .resolveMember()
                            .filter(next -> next.getOwner().getPackageName().startsWith("dev.fencepost"))
                            .filter(seen::add)
                            .ifPresent(open::push);
                }
            }
        }
    }

    @ArchTest
    static final ArchRule NOTHING_IS_LOOKED_UP_BY_NAME = noClasses()
            .should()
            .callMethod(Class.class, "forName", String.class)
            .orShould()
            .callMethod(ClassLoader.class, "loadClass", String.class)
            .orShould()
            .callMethodWhere(com.tngtech.archunit.core.domain.JavaCall.Predicates.target(
                    com.tngtech.archunit.base.DescribedPredicate.describe(
                            "reflection",
                            target -> target.getOwner().isEquivalentTo(Class.class)
                                    && target.getName().matches("get(Declared)?(Constructor|Method|Field)s?"))))
            .orShould()
            .dependOnClassesThat()
            .belongToAnyOf(ServiceLoader.class, Proxy.class);

    @Test
    void pluginsOfFlywayAndDriversAreRegistered() throws IOException {
        Set<String> registered = new TreeSet<>();
        for (JsonNode type : new ObjectMapper().readTree(METADATA.toFile()).get("reflection")) {
            registered.add(type.get("type").asText());
        }
        // Agroal makes these by their names; Flyway copies its plugins with Jackson.
        Set<String> used = new TreeSet<>(Set.of("org.postgresql.Driver", "org.sqlite.JDBC"));
        ServiceLoader.load(Plugin.class).stream()
                .map(provider -> provider.type().getName())
                .filter(name -> !name.startsWith("io.quarkus."))
                .forEach(used::add);
        assertEquals(used, registered);
    }

    @Test
    void eachFileThatIsReadAtRunTimeIsInTheImage() throws IOException {
        Properties settings = new Properties();
        try (var in = Files.newInputStream(RESOURCES.resolve("application.properties"))) {
            settings.load(in);
        }
        List<String> globs = List.of(
                settings.getProperty("quarkus.native.resources.includes").split(","));
        try (Stream<Path> files = Files.walk(RESOURCES)) {
            files.filter(Files::isRegularFile)
                    .map(RESOURCES::relativize)
                    .filter(file -> file.startsWith("db") || file.startsWith("page"))
                    .forEach(file -> assertTrue(
                            globs.stream()
                                    .anyMatch(glob -> FileSystems.getDefault()
                                            .getPathMatcher("glob:" + glob)
                                            .matches(file)),
                            file::toString));
        }
        assertTrue(settings.getProperty("quarkus.native.additional-build-args").contains("-H:-ParseRuntimeOptions"));
    }
}
