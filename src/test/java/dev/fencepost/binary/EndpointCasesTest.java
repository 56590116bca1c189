package dev.fencepost.binary;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaMethod;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import jakarta.ws.rs.HttpMethod;
import jakarta.ws.rs.Path;
import java.lang.annotation.Annotation;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** A new endpoint needs a case with the built program: {@code EndpointsIT}. */
class EndpointCasesTest {

    @Test
    void eachEndpointHasACaseAndNoOther() {
        Set<String> routes = new TreeSet<>();
        for (JavaClass type : new ClassFileImporter()
                .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
                .importPackages("dev.fencepost.edge.web")) {
            if (type.isAnnotatedWith(Path.class)) {
                String folder = type.getAnnotationOfType(Path.class).value();
                type.getMethods().forEach(method -> collect(folder, method, routes));
            }
        }
        Set<String> cases = new TreeSet<>();
        EndpointCases.ALL.stream()
                .map(EndpointCases.Case::route)
                .filter(route -> !route.contains(" /q/"))
                .forEach(cases::add);
        assertEquals(routes, cases);
    }

    private static void collect(String folder, JavaMethod method, Set<String> routes) {
        for (Annotation annotation : method.reflect().getAnnotations()) {
            HttpMethod verb = annotation.annotationType().getAnnotation(HttpMethod.class);
            if (verb != null) {
                String below = method.isAnnotatedWith(Path.class)
                        ? method.getAnnotationOfType(Path.class).value()
                        : "";
                String path = (folder + "/" + below).replaceAll("/+", "/").replaceAll("(?<=.)/$", "");
                routes.add(verb.value() + " " + (path.startsWith("/") ? path : "/" + path));
            }
        }
    }
}
