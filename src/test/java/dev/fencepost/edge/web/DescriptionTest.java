package dev.fencepost.edge.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jakarta.ws.rs.GET;
import jakarta.ws.rs.POST;
import jakarta.ws.rs.PUT;
import jakarta.ws.rs.Path;
import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;

/** The description of the API says what the code does: each address, each status, with examples. */
@SuppressWarnings("unchecked")
class DescriptionTest {

    private static final List<Class<?>> RESOURCES = List.of(
            ItemResource.class,
            ClaimResource.class,
            CompletionResource.class,
            QueueResource.class,
            ArtifactResource.class,
            PruneResource.class);
    private static final Set<String> METHODS = Set.of("get", "post", "put");

    private final Map<String, Object> document = read();

    private static Map<String, Object> read() {
        try {
            String yaml = Files.readString(java.nio.file.Path.of("src/main/resources/META-INF/openapi.yaml"));
            return (Map<String, Object>)
                    new Load(LoadSettings.builder().setAllowDuplicateKeys(false).build()).loadFromString(yaml);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Map<String, Object> map(Map<String, Object> in, String name) {
        Object value = in.get(name);
        assertNotNull(value, () -> name + " is missing in " + in.keySet());
        return (Map<String, Object>) value;
    }

    private Set<String> described() {
        Set<String> operations = new TreeSet<>();
        map(document, "paths")
                .forEach((path, item) ->
                        ((Map<String, Object>) item).keySet().forEach(method -> operations.add(method + " " + path)));
        return operations;
    }

    @Test
    void eachMethodIsDescribedAndNothingElse() {
        Set<String> served = new TreeSet<>();
        for (Class<?> resource : RESOURCES) {
            String root = resource.getAnnotation(Path.class).value();
            for (Method method : resource.getDeclaredMethods()) {
                String verb = method.isAnnotationPresent(GET.class)
                        ? "get"
                        : method.isAnnotationPresent(POST.class)
                                ? "post"
                                : method.isAnnotationPresent(PUT.class) ? "put" : "";
                if (!verb.isEmpty()) {
                    Path path = method.getAnnotation(Path.class);
                    served.add(verb + " " + root + (path == null ? "" : "/" + path.value()));
                }
            }
        }
        assertEquals(served, described());
        assertEquals(16, served.size());
    }

    @Test
    void eachOperationSaysWhatItNeedsAndWhatMayGoWrong() {
        map(document, "paths")
                .forEach((path, item) -> ((Map<String, Object>) item).forEach((method, operation) -> {
                    assertTrue(METHODS.contains(method));
                    Map<String, Object> described = (Map<String, Object>) operation;
                    String where = method + " " + path;
                    assertTrue(String.valueOf(described.get("description")).contains("scope"), where);
                    Set<String> codes = map(described, "responses").keySet();
                    Set<String> needed = new LinkedHashSet<>(List.of("401", "403", "429", "500", "503"));
                    if (described.containsKey("requestBody")) {
                        needed.addAll(List.of("400", "408", "413", "415"));
                    }
                    if (path.contains("/{id}/") && !method.equals("get")) {
                        needed.addAll(List.of("404", "409"));
                    }
                    if (path.endsWith("/artifacts/{name}")) {
                        needed.addAll(List.of("201", "422", "507"));
                    }
                    if (path.endsWith("/items") && method.equals("post")) {
                        needed.addAll(List.of("200", "201"));
                    }
                    assertTrue(codes.containsAll(needed), () -> where + " has " + codes + ", needs " + needed);
                }));
    }

    @Test
    void eachAnswerHasAnExampleAndEachReferenceItsTarget() {
        Map<String, Object> components = map(document, "components");
        map(components, "responses").forEach((name, response) -> {
            Map<String, Object> problem =
                    map(map((Map<String, Object>) response, "content"), "application/problem+json");
            Map<String, Object> example = map(problem, "example");
            assertTrue(example.keySet().containsAll(List.of("type", "title", "status", "detail")), name);
        });
        map(components, "examples")
                .forEach((name, example) -> assertNotNull(((Map<String, Object>) example).get("value")));
        assertTrue(map(components, "securitySchemes").containsKey("bearer"));
        assertTrue(references(document) > 100);
    }

    /** Follows all references, and counts them. */
    private int references(Object node) {
        int count = 0;
        if (node instanceof Map<?, ?> map) {
            if (map.get("$ref") instanceof String reference) {
                Map<String, Object> at = document;
                for (String step : reference.substring(2).split("/")) {
                    at = map(at, step);
                }
                assertFalse(at.isEmpty());
                count++;
            }
            for (Object value : map.values()) {
                count += references(value);
            }
        } else if (node instanceof List<?> list) {
            for (Object value : list) {
                count += references(value);
            }
        }
        return count;
    }
}
