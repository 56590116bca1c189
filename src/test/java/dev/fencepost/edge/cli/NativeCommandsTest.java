package dev.fencepost.edge.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Field;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;

/** What picocli reads and writes by reflection is in the metadata that its annotation processor wrote for a native image. */
class NativeCommandsTest {

    private static final String METADATA =
            "/META-INF/native-image/picocli-generated/dev.fencepost/fencepost/reflect-config.json";

    @Test
    void eachCommandAndEachOfItsFieldsIsRegistered() throws IOException {
        Map<String, Set<String>> registered = registered();
        Set<String> missing = new TreeSet<>();
        check(CommandCasesTest.program(), registered, missing);
        assertEquals(Set.of(), missing);
    }

    private static Map<String, Set<String>> registered() throws IOException {
        Map<String, Set<String>> fields = new HashMap<>();
        try (InputStream in = NativeCommandsTest.class.getResourceAsStream(METADATA)) {
            for (JsonNode type : new ObjectMapper().readTree(in)) {
                Set<String> names = new HashSet<>();
                type.path("fields").forEach(field -> names.add(field.get("name").asText()));
                fields.put(type.get("name").asText(), names);
            }
        }
        return fields;
    }

    private static void check(CommandLine command, Map<String, Set<String>> registered, Set<String> missing) {
        check(command.getCommandSpec(), registered, missing);
        command.getSubcommands().values().forEach(below -> check(below, registered, missing));
    }

    private static void check(CommandSpec spec, Map<String, Set<String>> registered, Set<String> missing) {
        for (Class<?> type = spec.userObject().getClass(); type != Object.class; type = type.getSuperclass()) {
            Set<String> names = registered.getOrDefault(type.getName(), Set.of());
            for (Field field : type.getDeclaredFields()) {
                boolean used = field.isAnnotationPresent(CommandLine.Option.class)
                        || field.isAnnotationPresent(CommandLine.Parameters.class)
                        || field.isAnnotationPresent(CommandLine.Mixin.class)
                        || field.isAnnotationPresent(CommandLine.ArgGroup.class)
                        || field.isAnnotationPresent(CommandLine.Spec.class);
                if (used && !names.contains(field.getName())) {
                    missing.add(type.getName() + "." + field.getName());
                }
            }
        }
        spec.mixins().values().forEach(mixin -> check(mixin, registered, missing));
    }
}
