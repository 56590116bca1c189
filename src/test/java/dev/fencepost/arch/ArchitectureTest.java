package dev.fencepost.arch;

import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideOutsideOfPackages;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.fields;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.domain.JavaField;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ImportOption.DoNotIncludeTests;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchCondition;
import com.tngtech.archunit.lang.ArchRule;
import com.tngtech.archunit.lang.ConditionEvents;
import com.tngtech.archunit.lang.SimpleConditionEvent;
import java.time.Clock;
import java.time.Instant;
import java.time.InstantSource;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZonedDateTime;
import java.util.Set;
import java.util.regex.Pattern;
import org.jboss.logging.Logger;

/** The directions and the bans of the code base: data flows one way, the core knows no framework, the world has one door each. */
@AnalyzeClasses(packages = "dev.fencepost", importOptions = DoNotIncludeTests.class)
class ArchitectureTest {

    private static final String ROOT = "dev.fencepost";
    private static final String[] CORE = {
        ROOT, ROOT + ".host", ROOT + ".schedule", ROOT + ".lease", ROOT + ".effect", ROOT + ".work", ROOT + ".run"
    };

    @ArchTest
    static final ArchRule CORE_IS_PLAIN_JAVA = noClasses()
            .that()
            .resideInAnyPackage(CORE)
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage(
                    "java.sql..",
                    "javax.sql..",
                    "jakarta..",
                    "io.quarkus..",
                    "io.smallrye..",
                    "io.micrometer..",
                    "io.agroal..",
                    "org.jboss..",
                    "org.flywaydb..",
                    "picocli..",
                    "org.snakeyaml..");

    @ArchTest
    static final ArchRule CORE_DOES_NOT_KNOW_THE_EDGE = noClasses()
            .that()
            .resideInAnyPackage(CORE)
            .should()
            .dependOnClassesThat()
            .resideInAPackage(ROOT + ".edge..");

    @ArchTest
    static final ArchRule HOST_KNOWS_NOTHING_OF_OURS = onlyKnows(".host");

    @ArchTest
    static final ArchRule SCHEDULE_KNOWS_NOTHING_OF_OURS_BUT_HOST = onlyKnows(".schedule", ".host");

    @ArchTest
    static final ArchRule LEASE_KNOWS_NOTHING_OF_OURS_BUT_HOST = onlyKnows(".lease", ".host");

    @ArchTest
    static final ArchRule RUN_KNOWS_WHAT_COMES_BEFORE_IT = onlyKnows(".run", ".host", ".schedule", ".lease", ".effect");

    @ArchTest
    static final ArchRule EFFECT_KNOWS_WHAT_COMES_BEFORE_IT = onlyKnows(".effect", ".host", ".lease");

    @ArchTest
    static final ArchRule WORK_KNOWS_WHAT_COMES_BEFORE_IT = onlyKnows(".work", ".host", ".lease");

    @ArchTest
    static final ArchRule EDGE_PACKAGES_DO_NOT_SEE_EACH_OTHER = slices().matching(ROOT + ".edge.(*)..")
            .should()
            .notDependOnEachOther()
            .ignoreDependency(
                    resideInAnyPackage(ROOT + ".edge.cli", ROOT + ".edge.quarkus"), resideInAPackage(ROOT + ".edge.."));

    @ArchTest
    static final ArchRule THE_SERVICE_DOES_NOT_KNOW_THE_COMMANDS = noClasses()
            .that()
            .resideInAPackage(ROOT + ".edge.quarkus")
            .should()
            .dependOnClassesThat()
            .resideInAPackage(ROOT + ".edge.cli");

    @ArchTest
    static final ArchRule CRON_LIBRARY_HAS_ONE_DOOR = noClasses()
            .that()
            .resideOutsideOfPackage(ROOT + ".schedule")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("com.cronutils..");

    @ArchTest
    static final ArchRule PROCESSES_ARE_STARTED_IN_ONE_PLACE = noClasses()
            .that(resideOutsideOfPackages(ROOT + ".edge.process"))
            .should()
            .dependOnClassesThat()
            .belongToAnyOf(ProcessBuilder.class)
            .orShould()
            .callMethod(Runtime.class, "exec", String[].class);

    @ArchTest
    static final ArchRule WALL_CLOCKS_ARE_READ_IN_ONE_PLACE = noClasses()
            .that(resideOutsideOfPackages(ROOT + ".edge.host"))
            .should()
            .callMethod(Instant.class, "now")
            .orShould()
            .callMethod(System.class, "currentTimeMillis")
            .orShould()
            .callMethod(ZonedDateTime.class, "now")
            .orShould()
            .callMethod(LocalDateTime.class, "now")
            .orShould()
            .callMethod(InstantSource.class, "system")
            .orShould()
            .callMethod(Clock.class, "systemUTC")
            .orShould()
            .callMethod(Clock.class, "systemDefaultZone");

    @ArchTest
    static final ArchRule THREADS_ARE_STARTED_IN_ONE_PLACE = noClasses()
            .that(resideOutsideOfPackages(ROOT + ".edge.host"))
            .should()
            .callMethod(Thread.class, "sleep", long.class)
            .orShould()
            .callMethod(Thread.class, "sleep", java.time.Duration.class)
            .orShould()
            .callMethod(Thread.class, "ofVirtual")
            .orShould()
            .callMethod(Thread.class, "ofPlatform")
            .orShould()
            .callMethod(Thread.class, "startVirtualThread", Runnable.class)
            .orShould()
            .callConstructor(Thread.class, Runnable.class)
            .orShould()
            .callConstructor(Thread.class, Runnable.class, String.class);

    @ArchTest
    static final ArchRule DICE_ARE_ROLLED_IN_ONE_PLACE = noClasses()
            .that(resideOutsideOfPackages(ROOT + ".edge.host"))
            .should()
            .callMethod(java.util.UUID.class, "randomUUID")
            .orShould()
            .dependOnClassesThat()
            .belongToAnyOf(java.util.Random.class, java.security.SecureRandom.class)
            .orShould()
            .callMethod(Math.class, "random");

    @ArchTest
    static final ArchRule NO_ZONE_OF_THE_HOST = noClasses()
            .should()
            .callMethod(ZoneId.class, "systemDefault")
            .orShould()
            .callMethod(java.util.TimeZone.class, "getDefault");

    @ArchTest
    static final ArchRule NO_FOREIGN_FUNCTIONS =
            noClasses().should().dependOnClassesThat().resideInAPackage("java.lang.foreign..");

    @ArchTest
    static final ArchRule NO_STATIC_MUTABLE_STATE = fields().that()
            .areStatic()
            .and()
            .areNotPrivate()
            .or()
            .areStatic()
            .should(new ArchCondition<JavaField>("be final") {
                @Override
                public void check(JavaField field, ConditionEvents events) {
                    boolean compilers = field.getModifiers().contains(JavaModifier.SYNTHETIC)
                            || field.getName().startsWith("$");
                    if (field.getModifiers().contains(JavaModifier.STATIC)
                            && !compilers
                            && !field.getModifiers().contains(JavaModifier.FINAL)) {
                        events.add(
                                SimpleConditionEvent.violated(field, field.getFullName() + " is static and not final"));
                    }
                }
            });

    private static final Pattern EMPTY_WORDS =
            Pattern.compile(".*(Manager|Helper|Util|Utils|Impl|Processor|Handler)|Abstract.*");

    @ArchTest
    static final ArchRule NAMES_SAY_SOMETHING = classes()
            .should(new ArchCondition<com.tngtech.archunit.core.domain.JavaClass>("have a name that says what it is") {
                @Override
                public void check(com.tngtech.archunit.core.domain.JavaClass type, ConditionEvents events) {
                    if (EMPTY_WORDS.matcher(type.getSimpleName()).matches()) {
                        events.add(
                                SimpleConditionEvent.violated(type, type.getName() + " has a name of the banned kind"));
                    }
                }
            });

    @ArchTest
    static final ArchRule LOGGING_IS_OF_THE_SERVICE = noClasses()
            .that(resideOutsideOfPackages(ROOT + ".edge.quarkus", ROOT + ".edge.cli"))
            .should()
            .dependOnClassesThat()
            .belongToAnyOf(Logger.class, java.util.logging.Logger.class);

    private static ArchRule onlyKnows(String of, String... others) {
        Set<String> known = new java.util.HashSet<>(Set.of(ROOT + of));
        for (String other : others) {
            known.add(ROOT + other);
        }
        return noClasses()
                .that()
                .resideInAPackage(ROOT + of)
                .should()
                .dependOnClassesThat(resideInAPackage(ROOT + "..")
                        .and(com.tngtech.archunit.base.DescribedPredicate.describe(
                                "are not of " + known, type -> !known.contains(type.getPackageName()))));
    }
}
