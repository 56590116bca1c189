package dev.fencepost.edge.web;

import static dev.fencepost.edge.web.Client.PATH;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import dev.fencepost.edge.web.Client.Answer;
import dev.fencepost.host.Event;
import dev.fencepost.lease.StoreException.Kind;
import io.quarkus.test.common.http.TestHTTPResource;
import io.quarkus.test.junit.QuarkusTest;
import jakarta.inject.Inject;
import java.io.IOException;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The API over real HTTP, on a queue in memory. */
@QuarkusTest
@SuppressWarnings("NullAway.Init")
class WorkApiTest {

    private static final String SOME_RUN = "123e4567-e89b-42d3-a456-426614174000";

    @Inject
    Api api;

    @TestHTTPResource
    URI base;

    @TempDir
    Path folder;

    private OpenApi open;
    private Client all;

    @BeforeEach
    void open() {
        open = new OpenApi(api, base, folder, List.of());
        all = open.all;
    }

    @AfterEach
    void stop() {
        api.stop();
    }

    private JsonNode claimed(String id) {
        all.post(PATH + "/items", "{'id':'" + id + "'}");
        Answer claim = all.post(PATH + "/items/" + id + "/claim", "{'owner':'me','ttl':'10s'}");
        assertEquals(200, claim.status(), claim::text);
        return claim.json();
    }

    private static String grant(JsonNode item) {
        return "'owner':'" + item.get("owner").asText() + "','fence':" + item.get("fence") + ",'run_id':'"
                + item.get("run_id").asText() + "'";
    }

    private static void assertProblem(Answer answer, int status, String... parts) {
        assertEquals(status, answer.status(), answer::text);
        assertEquals("application/problem+json", answer.header("content-type"));
        JsonNode json = answer.json();
        assertEquals(status, json.get("status").asInt());
        assertFalse(json.get("title").asText().isEmpty());
        for (String part : parts) {
            assertTrue(json.get("detail").asText().contains(part), answer::text);
        }
        for (String leak : List.of("Exception", "java.", "dev.fencepost", "\\tat ", "io.quarkus", "org.")) {
            assertFalse(answer.text().contains(leak), answer::text);
        }
    }

    private static void assertRefused(Answer answer, String reason) {
        assertProblem(answer, reason.equals("UNKNOWN") ? 404 : 409);
        assertEquals(reason, answer.reason());
    }

    // ---- the way of an item

    @Test
    void anItemGoesFromProducerToResult() {
        Answer made = all.post(
                PATH + "/items",
                "{'id':'a','queue':'mail','payload':'héllo','content_type':'text/plain','priority':3}");
        assertEquals(201, made.status());
        Answer again = all.post(PATH + "/items", "{'id':'a','queue':'other','payload':'changed'}");
        assertEquals(200, again.status());
        assertEquals(made.json(), again.json());

        JsonNode item = all.post(PATH + "/claims", "{'queue':'mail','owner':'me','ttl':'10s'}")
                .json()
                .get("items")
                .get(0);
        assertEquals("héllo", item.get("payload").asText());
        assertEquals("text/plain", item.get("content_type").asText());
        assertEquals(1, item.get("fence").asInt());
        assertEquals("CLAIMED", item.get("state").asText());
        assertEquals("2026-03-01T00:00:10Z", item.get("until").asText());

        open.clock.pass(Duration.ofSeconds(9));
        JsonNode renewed = all.post(PATH + "/items/a/renew", "{" + grant(item) + ",'ttl':'1m'}")
                .json();
        assertEquals("2026-03-01T00:01:09Z", renewed.get("until").asText());
        Answer done = all.post(
                PATH + "/items/a/complete", "{" + grant(item) + ",'result_base64':'AP8=','content_type':'a/b'}");
        assertEquals(200, done.status(), done::text);
        JsonNode stored = all.get(PATH + "/items/a").json();
        assertTrue(stored.get("done").asBoolean());
        assertEquals("AP8=", stored.get("result_base64").asText());
        assertFalse(stored.has("result"), "bytes that are no text come as Base64 alone");
        assertEquals("a/b", stored.get("result_type").asText());
        assertTrue(stored.get("owner").isNull());
        assertRefused(all.post(PATH + "/items/a/claim", "{'owner':'me','ttl':'10s'}"), "ALREADY_DONE");
        assertRefused(all.post(PATH + "/items/a/complete", "{" + grant(item) + ",'result':'twice'}"), "ALREADY_DONE");
        assertEquals(
                "AP8=", all.get(PATH + "/items/a").json().get("result_base64").asText());
    }

    @Test
    void anItemThatFailsComesBackOrDies() {
        JsonNode item = claimed("a");
        JsonNode failed = all.post(
                        PATH + "/items/a/fail", "{" + grant(item) + ",'reason':'mail away','retry_after':'5m'}")
                .json();
        assertEquals("READY", failed.get("state").asText());
        assertEquals("2026-03-01T00:05:00Z", failed.get("not_before").asText());
        assertRefused(all.post(PATH + "/items/a/claim", "{'owner':'me','ttl':'10s'}"), "NOT_YET");
        open.clock.pass(Duration.ofMinutes(5));
        JsonNode second =
                all.post(PATH + "/items/a/claim", "{'owner':'me','ttl':'10s'}").json();
        assertEquals(2, second.get("fence").asInt());
        Answer dead = all.post(PATH + "/items/a/fail", "{" + grant(second) + ",'reason':'no such order','dead':true}");
        assertEquals("DEAD", dead.json().get("state").asText());
        assertRefused(all.post(PATH + "/items/a/claim", "{'owner':'me','ttl':'10s'}"), "DEAD");
    }

    @Test
    void aReleasedAttemptDoesNotCount() {
        JsonNode item = claimed("a");
        JsonNode released =
                all.post(PATH + "/items/a/release", "{" + grant(item) + "}").json();
        assertEquals(0, released.get("attempts").asInt());
        assertEquals(1, released.get("fence").asInt());
        assertRefused(all.post(PATH + "/items/a/release", "{" + grant(item) + "}"), "NOT_OWNER");
    }

    @Test
    void everyClaimHasARunIdOfItsOwn() {
        Set<String> runs = new HashSet<>();
        for (int i = 0; i < 120; i++) {
            all.post(PATH + "/items", "{'id':'i" + i + "'}");
        }
        JsonNode items = all.post(PATH + "/claims", "{'owner':'me','ttl':'10s','max':1000}")
                .json()
                .get("items");
        items.forEach(item -> runs.add(item.get("run_id").asText()));
        assertEquals(120, runs.size());
        assertEquals("i0", items.get(0).get("id").asText());
        assertEquals(
                0,
                all.post(PATH + "/claims", "{'owner':'me','ttl':'10s'}")
                        .json()
                        .get("items")
                        .size());
    }

    @Test
    void aClaimOfManyLargeItemsEndsBeforeTheMemoryDoes() {
        String payload = "x".repeat(1 << 20);
        for (int i = 0; i < 60; i++) {
            all.post(PATH + "/items", "{'id':'i" + i + "','payload':'" + payload + "'}");
        }
        JsonNode items = all.post(PATH + "/claims", "{'owner':'me','ttl':'10s','max':60}")
                .json()
                .get("items");
        assertEquals(2, items.size(), "two have 2 MiB, which is enough");
        assertEquals(
                58,
                all.get(PATH + "/items?state=ready").json().get("items").size(),
                "what was not handed out was not claimed either");
    }

    @Test
    void listsAreWithoutPayloadAndResult() {
        claimed("a");
        all.post(PATH + "/items", "{'id':'b','queue':'mail','payload':'secret'}");
        Answer list = all.get(PATH + "/items?queue=mail&state=ready&limit=5");
        assertEquals(1, list.json().get("items").size());
        assertFalse(list.text().contains("payload"));
        assertEquals(2, all.get(PATH + "/items").json().get("items").size());
        assertProblem(all.get(PATH + "/items?limit=0"), 400, "limit");
        assertProblem(all.get(PATH + "/items?limit=100000"), 400, "limit");
        assertProblem(all.get(PATH + "/items?state=lost"), 400, "state");
        assertProblem(all.get(PATH + "/items?queue=No%20Queue"), 400, "queue");
    }

    @Test
    void capacityIsSetByWhoMayOperate() {
        assertEquals(200, all.put(PATH + "/queues/default", "{'capacity':1}").status());
        claimed("a");
        all.post(PATH + "/items", "{'id':'b'}");
        assertRefused(all.post(PATH + "/items/b/claim", "{'owner':'me','ttl':'10s'}"), "AT_CAPACITY");
        JsonNode queue = all.get(PATH + "/queues").json().get("queues").get(0);
        assertEquals(1, queue.get("capacity").asInt());
        assertEquals(1, queue.get("ready").asInt());
        assertEquals("2026-03-01T00:00:00Z", queue.get("oldest_ready").asText());
        assertTrue(
                open.events.stream()
                        .anyMatch(event -> event instanceof Event.Note note
                                && note.text().contains("capacity of queue default set to 1, by boss")),
                () -> "" + open.events);
        assertProblem(all.with(OpenApi.WORK).put(PATH + "/queues/default", "{'capacity':2}"), 403, "operate");
        assertProblem(all.put(PATH + "/queues/default", "{}"), 400, "capacity");
        assertProblem(all.put(PATH + "/queues/default", "{'capacity':-1}"), 400, "capacity");
        assertEquals(200, all.put(PATH + "/queues/default", "{'capacity':null}").status());
        assertEquals(
                200,
                all.post(PATH + "/items/b/claim", "{'owner':'me','ttl':'10s'}").status());
    }

    // ---- stale tokens

    @Test
    void whoIsLateChangesNothing() {
        JsonNode old = claimed("a");
        open.clock.pass(Duration.ofSeconds(10)); // now == until is over
        for (String call : List.of("renew", "complete", "fail")) {
            String more = call.equals("renew") ? ",'ttl':'10s'" : call.equals("fail") ? ",'reason':'x'" : "";
            assertRefused(all.post(PATH + "/items/a/" + call, "{" + grant(old) + more + "}"), "EXPIRED");
        }
        JsonNode now =
                all.post(PATH + "/items/a/claim", "{'owner':'you','ttl':'10s'}").json();
        assertRefused(all.post(PATH + "/items/a/claim", "{'owner':'me','ttl':'10s'}"), "HELD");
        assertRefused(all.post(PATH + "/items/a/complete", "{" + grant(old) + ",'result':'old'}"), "STALE_TOKEN");
        assertRefused(all.post(PATH + "/items/a/complete", "{" + grant(now).replace("you", "me") + "}"), "NOT_OWNER");
        String twin = grant(now).replace(now.get("run_id").asText(), SOME_RUN);
        assertRefused(all.post(PATH + "/items/a/complete", "{" + twin + "}"), "NOT_OWNER");
        String future = grant(now).replace("'fence':2", "'fence':3");
        assertRefused(all.post(PATH + "/items/a/complete", "{" + future + "}"), "NOT_OWNER");
        JsonNode other = claimed("b");
        assertRefused(all.post(PATH + "/items/a/complete", "{" + grant(other) + "}"), "STALE_TOKEN");
        assertRefused(all.post(PATH + "/items/nowhere/complete", "{" + grant(other) + "}"), "UNKNOWN");
        JsonNode item = all.get(PATH + "/items/a").json();
        assertEquals("CLAIMED", item.get("state").asText());
        assertTrue(item.get("result").isNull());
        Answer refused = all.post(PATH + "/items/a/complete", "{" + grant(old) + "}");
        assertEquals("you", refused.json().get("item").get("owner").asText());
        assertEquals(
                "urn:fencepost:refused:stale-token", refused.json().get("type").asText());
    }

    // ---- results together

    private static String result(JsonNode item, String more) {
        return "{'id':'" + item.get("id").asText() + "'," + grant(item) + more + "}";
    }

    private Answer complete(String... results) {
        return all.post(PATH + "/completions", "{'results':[" + String.join(",", results) + "]}");
    }

    @Test
    void resultsTogetherAreEachAnsweredInTheirOrder() {
        JsonNode old = claimed("a");
        open.clock.pass(Duration.ofSeconds(10));
        JsonNode now = claimed("a");
        JsonNode other = claimed("b");
        Answer answer = complete(
                result(old, ",'result':'old'"),
                result(other, ",'result_base64':'AP8=','content_type':'a/b'"),
                result(now, ",'result':'new'"),
                result(other, "").replace("'id':'b'", "'id':'nowhere'"),
                result(now, ",'result':'twice'"));
        assertEquals(200, answer.status(), answer::text);
        JsonNode answers = answer.json().get("answers");
        assertEquals(5, answers.size());
        List<String> reasons = List.of("STALE_TOKEN", "", "", "UNKNOWN", "ALREADY_DONE");
        List<String> ids = List.of("a", "b", "a", "nowhere", "a");
        for (int i = 0; i < 5; i++) {
            JsonNode each = answers.get(i);
            boolean accepted = reasons.get(i).isEmpty();
            assertEquals(ids.get(i), each.get("id").asText());
            assertEquals(accepted, each.get("accepted").asBoolean());
            assertEquals(accepted, each.get("reason").isNull());
            assertEquals(accepted, each.get("detail").isNull());
            assertEquals(i == 3, each.get("item").isNull());
            if (!accepted) {
                assertEquals(reasons.get(i), each.get("reason").asText());
                assertFalse(each.get("detail").asText().isEmpty());
            }
            assertFalse(each.get("item").has("result"), "payloads and results of many would be too much");
        }
        assertEquals("DONE", answers.get(1).get("item").get("state").asText());
        assertEquals("new", all.get(PATH + "/items/a").json().get("result").asText());
        assertEquals(
                "AP8=", all.get(PATH + "/items/b").json().get("result_base64").asText());
        assertEquals("a/b", all.get(PATH + "/items/b").json().get("result_type").asText());
    }

    @Test
    void resultsTogetherThatAreNotWholeAreRefusedWithTheirPlaceAndNoneIsStored() {
        JsonNode a = claimed("a");
        String good = result(a, "");
        String grant = grant(a);
        assertProblem(all.post(PATH + "/completions", "{}"), 400, "results is missing");
        assertProblem(all.post(PATH + "/completions", "{'results':null}"), 400, "results is missing");
        assertProblem(all.post(PATH + "/completions", "{'results':" + good + "}"), 400, "a list of objects");
        assertProblem(all.post(PATH + "/completions", "{'results':[" + good + "],'owner':'me'}"), 400, "owner");
        assertProblem(all.post(PATH + "/completions", "{'results':[" + good), 400, "not JSON");
        assertProblem(all.post(PATH + "/completions", "{'results':[" + good + "]} {}"), 400, "after");
        assertProblem(complete(), 400, "empty list");
        assertProblem(complete(good, "7"), 400, "results[1]", "object");
        assertProblem(complete(good, "[" + good + "]"), 400, "results[1]", "object");
        assertProblem(complete(good, good.replace("}", ",'ttl':'1s'}")), 400, "results[1]", "ttl");
        assertProblem(complete(good, good.replace("}", ",'id':'b'}")), 400, "results[1]", "twice");
        assertProblem(complete(good, "{" + grant + "}"), 400, "results[1]", "id is missing");
        assertProblem(complete(good, "{'id':'a/b'," + grant + "}"), 400, "results[1]", "1 to 200");
        assertProblem(
                complete(good, good.replaceFirst(",'run_id':'[^']*'", "")), 400, "results[1]", "run_id is missing");
        assertProblem(complete(good, good.replaceFirst("'fence':1,", "")), 400, "results[1]", "fence is missing");
        assertProblem(complete(good, good.replaceFirst("'owner':'me',", "")), 400, "results[1]", "owner is missing");
        assertProblem(complete(good, result(a, ",'result':[1]")), 400, "results[1]", "result must be a text");
        assertProblem(complete(good, result(a, ",'content_type':'a/b'")), 400, "results[1]", "no result");
        String half = ",'result':'" + "x".repeat((1 << 19) + 1) + "'";
        assertProblem(complete(result(a, half), result(a, half)), 400, "results", "1048576");
        assertProblem(
                complete(good, result(a, ",'result':'" + "x".repeat((1 << 20) + 1) + "'")),
                413,
                "results[1]",
                "1048576");
        assertProblem(complete(Collections.nCopies(1001, good).toArray(String[]::new)), 400, "more than 1000");
        assertProblem(complete(result(a, ",'result':'" + "x".repeat(4 << 20) + "'")), 413);
        assertEquals("CLAIMED", all.get(PATH + "/items/a").json().get("state").asText());
        assertEquals(200, complete(good).status());
    }

    @Test
    void resultsTogetherWithoutAnAnswerOfTheStoreMayBeSentAgain() {
        String one = result(claimed("a"), ",'result':'x'");
        open.queue.failNext(Kind.AMBIGUOUS, true);
        assertProblem(complete(one), 503, "may have", "same call again", "ALREADY_DONE");
        JsonNode again = complete(one).json().get("answers").get(0);
        assertEquals("ALREADY_DONE", again.get("reason").asText());
        assertEquals(1, again.get("item").get("fence").asInt());
    }

    // ---- bad input

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "{'id':'x','colour':1}                   | colour",
                "{'id':'x','id':'y'}                     | twice",
                "{'id':'x'} {}                           | after",
                "{'id':'x'                               | not JSON",
                "[{'id':'x'}]                            | object",
                "\"x\"                                   | object",
                "{}                                      | id is missing",
                "{'id':null}                             | id is missing",
                "{'id':7}                                | id must be a text",
                "{'id':''}                               | 1 to 200",
                "{'id':'a/b'}                            | 1 to 200",
                "{'id':'..'}                             | 1 to 200",
                "{'id':'a\\u0000'}                       | 1 to 200",
                "{'id':'x','queue':'No'}                 | queue",
                "{'id':'x','payload':{'a':[1]}}          | payload must be a text",
                "{'id':'x','payload':'a','payload_base64':'YQ=='} | not both",
                "{'id':'x','payload_base64':'%%%'}       | Base64",
                "{'id':'x','payload':'\\ud800'}          | surrogate",
                "{'id':'x','content_type':'text/plain'}  | no payload",
                "{'id':'x','priority':1.5}               | whole number",
                "{'id':'x','priority':'1'}               | whole number",
                "{'id':'x','priority':1000001}           | out of range",
                "{'id':'x','priority':99999999999999999999} | whole number",
                "{'id':'x','max_attempts':0}             | out of range",
                "{'id':'x','not_before':'tomorrow'}      | instant",
                "{'id':'x','not_before':'+99999-01-01T00:00:00Z'} | not_before",
            })
    void aBadItemIsRefusedWithTheFieldsName(String json, String part) {
        assertProblem(all.post(PATH + "/items", json), 400, part);
        assertEquals(0, all.get(PATH + "/items").json().get("items").size(), "nothing is half stored");
    }

    @ParameterizedTest
    @CsvSource({"0s", "0ms", "-1s", "-PT1S", "31d", "PT721H", "999999999999d", "10", "ten", "''", "1.5s", "PT0.0000001S"
    })
    void aBadTtlIsRefused(String ttl) {
        all.post(PATH + "/items", "{'id':'a'}");
        String body = "{'owner':'me','ttl':'" + ttl + "'}";
        assertProblem(all.post(PATH + "/items/a/claim", body), 400, "ttl");
        assertProblem(all.post(PATH + "/claims", body), 400, "ttl");
        assertEquals(0, all.get(PATH + "/items/a").json().get("fence").asInt());
        JsonNode item = claimed("a");
        assertProblem(all.post(PATH + "/items/a/renew", "{" + grant(item) + ",'ttl':'" + ttl + "'}"), 400, "ttl");
        assertEquals(item, all.get(PATH + "/items/a").json());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "{'fence':1,'run_id':'123e4567-e89b-42d3-a456-426614174000'}                    | owner",
                "{'owner':' ','fence':1,'run_id':'123e4567-e89b-42d3-a456-426614174000'}        | owner",
                "{'owner':'a\\nb','fence':1,'run_id':'123e4567-e89b-42d3-a456-426614174000'}    | owner",
                "{'owner':'me','run_id':'123e4567-e89b-42d3-a456-426614174000'}                 | fence",
                "{'owner':'me','fence':0,'run_id':'123e4567-e89b-42d3-a456-426614174000'}       | fence",
                "{'owner':'me','fence':'1','run_id':'123e4567-e89b-42d3-a456-426614174000'}     | fence",
                "{'owner':'me','fence':1}                                                       | run_id",
                "{'owner':'me','fence':1,'run_id':'1-1-1-1-1'}                                  | run_id",
            })
    void aGrantThatIsNotWholeIsRefused(String json, String part) {
        claimed("a");
        for (String call : List.of("renew", "complete", "fail", "release")) {
            String more = call.equals("renew") ? ",'ttl':'10s'}" : call.equals("fail") ? ",'reason':'x'}" : "}";
            assertProblem(all.post(PATH + "/items/a/" + call, json.strip().replaceFirst("}$", more)), 400, part);
        }
    }

    @Test
    void whatIsTooMuchIsRefused() {
        assertProblem(
                all.post(PATH + "/items", "{'id':'a','payload':'" + "x".repeat((1 << 20) + 1) + "'}"), 413, "1048576");
        assertProblem(all.post(PATH + "/items", "{'id':'a','payload':'" + "x".repeat(4 << 20) + "'}"), 413);
        assertProblem(all.post(PATH + "/items", "[".repeat(100_000)), 400);
        assertProblem(all.post(PATH + "/claims", "{'owner':'me','ttl':'1s','max':10000}"), 400, "max", "1000");
        assertProblem(all.post(PATH + "/claims?wait=61s", "{'owner':'me','ttl':'1s'}"), 400, "wait");
        String ids = "['i" + "','i".repeat(10_000) + "']";
        assertProblem(all.post(PATH + "/items", "{'id':" + ids + "}"), 400, "id must be a text");
        assertProblem(all.post(PATH + "/claims", "{'owner':'" + "o".repeat(201) + "','ttl':'1s'}"), 400, "owner");
        assertEquals(0, all.get(PATH + "/items").json().get("items").size());
    }

    @Test
    void whatReachesNoMethodIsAProblemToo() {
        assertProblem(all.get("/api/v1/nothing"), 404);
        assertProblem(all.put(PATH + "/items", "{}"), 405);
        assertProblem(
                Client.send(all.request(PATH + "/items")
                        .header("Content-Type", "text/plain")
                        .POST(BodyPublishers.ofString("x"))),
                415);
        assertProblem(
                Client.send(all.request(PATH + "/queues")
                        .header("Accept", "text/html")
                        .GET()),
                406);
        assertProblem(all.post(PATH + "/items", ""), 400, "empty");
        assertProblem(
                Client.send(all.request(PATH + "/items")
                        .header("Content-Type", "application/json")
                        .POST(BodyPublishers.ofByteArray(new byte[] {'{', '"', (byte) 0xc3, '(', '"', '}'}))),
                400,
                "UTF-8");
        assertProblem(all.get(PATH + "/items/a%00b"), 400);
        assertProblem(all.get(PATH + "/items/..%2F..%2Fetc"), 400);
    }

    /** Quarkus refuses what is no URI before anything of ours sees it, and says no more than 400. */
    @ParameterizedTest
    @ValueSource(strings = {"/items/%zz", "/items/%", "/queues?x=%zz"})
    void anAddressThatIsNoUriGetsNoFurther(String path) throws IOException {
        String answer = rawAnswer(PATH + path);
        assertTrue(answer.startsWith("HTTP/1.1 400 ") && answer.endsWith("\r\n\r\n"), answer);
    }

    @Test
    void anAddressThatIsNoUtf8IsABadRequest() throws IOException {
        assertRawProblem(PATH + "/items/%ff", 400);
    }

    @Test
    void anAddressThatIsTooLongIsAProblemToo() throws IOException {
        assertRawProblem(PATH + "/items/" + "a".repeat(4_000), 414);
        assertRawProblem(PATH + "/items?state=" + "a".repeat(60_000), 414);
        assertProblem(all.get(PATH + "/items?state=" + "a".repeat(3_000)), 400, "state");
    }

    private void assertRawProblem(String path, int status) throws IOException {
        String answer = rawAnswer(path);
        assertTrue(answer.startsWith("HTTP/1.1 " + status + " "), answer);
        assertTrue(answer.toLowerCase(Locale.ROOT).contains("\r\ncontent-type: application/problem+json\r\n"), answer);
        String body = answer.substring(answer.indexOf("\r\n\r\n") + 4);
        assertTrue(body.contains("\"status\":" + status) && body.contains("\"detail\":\""), answer);
        assertFalse(answer.contains("Exception"), answer);
    }

    /** As it goes over the wire: a library would not send such an address. */
    private String rawAnswer(String path) throws IOException {
        try (Socket socket = all.socket()) {
            socket.getOutputStream().write(all.head("GET " + path + " HTTP/1.1", "Connection: close"));
            return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    // ---- pruning

    @Test
    void whatEndedLongAgoGoesByHandWithItsFiles() {
        JsonNode item = claimed("a");
        assertEquals(201, Client.send(with(upload(item, "x"), "one")).status());
        assertEquals(
                200,
                all.post(PATH + "/items/a/complete", "{" + grant(item) + "}").status());
        claimed("b");
        open.clock.pass(Duration.ofHours(2));
        assertProblem(all.with(OpenApi.WORK).post(PATH + "/prune", "{'older_than':'1h'}"), 403, "operate");
        assertProblem(all.post(PATH + "/prune", "{}"), 400, "older_than");
        assertProblem(all.post(PATH + "/prune", "{'older_than':'-1s'}"), 400, "older_than");
        assertProblem(all.post(PATH + "/prune", "{'older_than':'1h','queue':'x'}"), 400, "queue");
        assertEquals(
                "{\"items\":0,\"more\":false}",
                all.post(PATH + "/prune", "{'older_than':'3h'}").text());
        assertEquals(1, open.files().size());
        assertEquals(
                "{\"items\":1,\"more\":false}",
                all.post(PATH + "/prune", "{'older_than':'1h'}").text());
        assertEquals(List.of(), open.files());
        assertRefused(all.get(PATH + "/items/a"), "UNKNOWN");
        assertRefused(all.get(PATH + "/items/a/artifacts"), "UNKNOWN");
        assertEquals(200, all.get(PATH + "/items/b").status());
        assertEquals(2, claimed("a").get("fence").asInt(), "the token counts on");
        assertTrue(
                open.events.stream()
                        .anyMatch(event ->
                                event instanceof Event.Note note && note.text().equals("api: 1 items pruned, by boss")),
                () -> "" + open.events);
        open.queue.failNext(Kind.AMBIGUOUS, true);
        assertProblem(all.post(PATH + "/prune", "{'older_than':'1h'}"), 503, "safe");
    }

    @Test
    void manyAtATimeArePrunedInSeveralCalls() {
        for (int i = 0; i < 101; i++) {
            all.post(PATH + "/items/i" + i + "/complete", "{" + grant(claimed("i" + i)) + "}");
        }
        open.clock.pass(Duration.ofSeconds(1));
        assertEquals(
                "{\"items\":100,\"more\":true}",
                all.post(PATH + "/prune", "{'older_than':'0s'}").text());
        assertEquals(
                "{\"items\":1,\"more\":false}",
                all.post(PATH + "/prune", "{'older_than':'0s'}").text());
    }

    @Test
    void aFileThatGoesWhileItIsAskedForIsNotThere() {
        JsonNode item = claimed("a");
        Client.send(with(upload(item, "x"), "one"));
        all.post(PATH + "/items/a/complete", "{" + grant(item) + "}");
        open.clock.pass(Duration.ofHours(1));
        open.queue.afterNext("artifacts", () -> open.artifacts.prune(open.clock.wallClock(), 10));
        assertProblem(all.get(PATH + "/items/a/artifacts/1/x"), 404, "just now");
        assertEquals(List.of(), open.files());
    }

    // ---- the store away

    @Test
    void aStoreThatIsAwayIsToldWithoutItsInnards() {
        open.queue.failNext(Kind.UNAVAILABLE, false);
        Answer away = all.post(PATH + "/items", "{'id':'a'}");
        assertProblem(away, 503, "nothing was written");
        assertEquals("5", away.header("retry-after"));
        open.queue.failNext(Kind.AMBIGUOUS, true);
        assertProblem(all.post(PATH + "/items", "{'id':'a'}"), 503, "may have", "same call again");
        assertEquals(200, all.post(PATH + "/items", "{'id':'a'}").status());
        open.queue.failNext(Kind.BROKEN, false);
        assertProblem(all.post(PATH + "/items", "{'id':'b'}"), 500);
        assertTrue(open.events.stream().anyMatch(Event.Problem.class::isInstance), "the log has the cause");
    }

    @Test
    void aClaimWithoutAnAnswerOfTheStoreIsReadBack() {
        all.post(PATH + "/items", "{'id':'a'}");
        open.queue.failNext(Kind.AMBIGUOUS, true);
        Answer claim = all.post(PATH + "/items/a/claim", "{'owner':'me','ttl':'10s'}");
        assertEquals(200, claim.status(), claim::text);
        assertEquals(
                200,
                all.post(PATH + "/items/a/complete", "{" + grant(claim.json()) + "}")
                        .status());
        all.post(PATH + "/items", "{'id':'b'}");
        open.queue.failNext(Kind.AMBIGUOUS, false);
        assertProblem(all.post(PATH + "/items/b/claim", "{'owner':'me','ttl':'10s'}"), 503, "ttl");
    }

    // ---- tokens

    @Test
    void withoutAGoodTokenNothingIsToldAndNothingIsRead() throws IOException {
        JsonNode item = claimed("a");
        List<HttpRequest.Builder> calls = List.of(
                all.with("").request(PATH + "/items").GET(),
                all.with("").request(PATH + "/items/a").GET(),
                all.with("").request(PATH + "/items/a/artifacts").GET(),
                all.with("").request(PATH + "/items/a/artifacts/1/x").GET(),
                all.with("").request(PATH + "/queues").GET(),
                json(all.with("").request(PATH + "/items")).POST(BodyPublishers.ofString("{}")),
                json(all.with("").request(PATH + "/claims")).POST(BodyPublishers.ofString("{}")),
                json(all.with("").request(PATH + "/items/a/claim")).POST(BodyPublishers.ofString("{}")),
                json(all.with("").request(PATH + "/items/a/renew")).POST(BodyPublishers.ofString("{}")),
                json(all.with("").request(PATH + "/items/a/complete")).POST(BodyPublishers.ofString("{}")),
                json(all.with("").request(PATH + "/items/a/fail")).POST(BodyPublishers.ofString("{}")),
                json(all.with("").request(PATH + "/items/a/release")).POST(BodyPublishers.ofString("{}")),
                json(all.with("").request(PATH + "/queues/default")).PUT(BodyPublishers.ofString("{}")),
                json(all.with("").request(PATH + "/prune")).POST(BodyPublishers.ofString("{}")),
                all.with("").request(PATH + "/items/a/artifacts/x").PUT(BodyPublishers.ofString("x")));
        for (HttpRequest.Builder call : calls) {
            Answer answer = Client.send(call);
            assertProblem(answer, 401);
            assertEquals("Bearer realm=\"fencepost\"", answer.header("www-authenticate"));
        }
        assertProblem(all.with(OpenApi.OLD).get(PATH + "/items/a"), 401, "expired");
        assertProblem(all.with("f".repeat(40)).get(PATH + "/items/a"), 401, "unknown");
        assertProblem(all.with(OpenApi.READ).post(PATH + "/items", "{'id':'b'}"), 403, "viewer", "work");
        assertProblem(all.with(OpenApi.WORK).get(PATH + "/items/a"), 403, "worker", "read");
        assertEquals(item, all.get(PATH + "/items/a").json());
        assertTrue(open.events.stream().noneMatch(event -> event.toString().contains(OpenApi.ALL)));
        try (Socket socket = all.socket()) { // a body announced and never sent: the head alone is answered
            socket.getOutputStream()
                    .write(all.with("")
                            .head(
                                    "POST " + PATH + "/items HTTP/1.1",
                                    "Content-Type: application/json",
                                    "Content-Length: 99"));
            assertTrue(firstLine(socket).contains("401"));
        }
    }

    private static HttpRequest.Builder json(HttpRequest.Builder request) {
        return request.header("Content-Type", "application/json");
    }

    private static String firstLine(Socket socket) throws IOException {
        byte[] bytes = new byte[4096];
        int length = socket.getInputStream().read(bytes);
        return length < 0
                ? "closed"
                : new String(bytes, 0, length, StandardCharsets.ISO_8859_1)
                        .lines()
                        .findFirst()
                        .orElse("");
    }

    @Test
    void afterTooManyFailedLoginsGoodTokensGoOn() {
        Client wrong = all.with("w".repeat(40));
        for (int i = 0; i < FailedLogins.MOST; i++) {
            assertProblem(wrong.get(PATH + "/queues"), 401);
        }
        Answer slowed = wrong.get(PATH + "/queues");
        assertProblem(slowed, 429);
        int seconds = Integer.parseInt(slowed.header("retry-after"));
        assertTrue(seconds >= 1 && seconds <= 60, slowed::text);
        assertEquals(200, all.with(OpenApi.READ).get(PATH + "/queues").status(), "never seen before");
        assertEquals(200, all.get(PATH + "/queues").status());
        assertProblem(all.with(OpenApi.OLD).get(PATH + "/queues"), 429);
        assertEquals(
                1,
                open.events.stream()
                        .filter(event -> event instanceof Event.Note note
                                && note.text().contains("failed logins from 127.0.0.1;"))
                        .count(),
                () -> "" + open.events);
    }

    /** The tests' connections come from 127.0.0.1, which is a trusted proxy here. */
    @Test
    void behindATrustedProxyEachClientIsCountedForItself() {
        Client wrong = all.with("w".repeat(40));
        for (int i = 0; i < FailedLogins.MOST; i++) {
            Answer answer = Client.send(wrong.request(PATH + "/queues")
                    .header("X-Forwarded-For", i + ".6.6.6, 198.51.100.1, 10.9.0.1")
                    .GET());
            assertProblem(answer, 401);
        }
        assertProblem(forwarded(wrong, "9.9.9.9, 198.51.100.1"), 429);
        assertProblem(forwarded(wrong, "198.51.100.2"), 401);
        assertProblem(forwarded(wrong, "2001:db8::1"), 401);
        assertProblem(wrong.get(PATH + "/queues"), 401, "unknown");
        assertEquals(200, forwarded(all, "198.51.100.1").status());
    }

    private static Answer forwarded(Client client, String chain) {
        return Client.send(client.request(PATH + "/queues")
                .header("X-Forwarded-For", chain)
                .GET());
    }

    @Test
    void withoutATokenFileTheApiIsOffAndHealthStays() {
        api.off(event -> {});
        try {
            assertProblem(all.get(PATH + "/queues"), 403, "token-file");
            assertNotEquals(404, all.get("/q/health/live").status());
            assertEquals(200, all.get("/q/metrics").status());
        } finally {
            open();
        }
        assertEquals(200, all.get(PATH + "/queues").status());
    }

    // ---- long poll

    @Test
    void aWaitingClaimIsAnsweredWhenAnItemComes() throws Exception {
        CompletableFuture<Answer> waiting = later("/claims?wait=30s");
        awaitWaiter(waiting);
        all.post(PATH + "/items", "{'id':'a'}");
        Answer answer = waiting.get(10, TimeUnit.SECONDS);
        assertEquals("a", answer.json().get("items").get(0).get("id").asText());
    }

    @Test
    void aWaitEndsEmptyAndEarlyWhenTheServiceStops() throws Exception {
        long begin = System.nanoTime();
        assertEquals(
                0,
                all.post(PATH + "/claims?wait=400ms", "{'owner':'me','ttl':'10s'}")
                        .json()
                        .get("items")
                        .size());
        // The wait is measured on the boot clock, which goes in steps of 10 ms.
        assertTrue(System.nanoTime() - begin >= 390_000_000L);
        CompletableFuture<Answer> waiting = later("/claims?wait=60s");
        awaitWaiter(waiting);
        api.stop();
        assertEquals(0, waiting.get(10, TimeUnit.SECONDS).json().get("items").size());
    }

    @Test
    void whoWentAwayIsGivenNothing() throws Exception {
        try (Socket socket = all.socket()) {
            byte[] body = "{\"owner\":\"gone\",\"ttl\":\"1h\"}".getBytes(StandardCharsets.US_ASCII);
            socket.getOutputStream()
                    .write(all.head(
                            "POST " + PATH + "/claims?wait=30s HTTP/1.1",
                            "Content-Type: application/json",
                            "Content-Length: " + body.length));
            socket.getOutputStream().write(body);
            Thread.sleep(300); // so that it waits when the connection ends
        }
        Thread.sleep(300); // for the end of the connection to be seen
        all.post(PATH + "/items", "{'id':'a'}");
        Thread.sleep(1_000); // longer than the distance of two looks
        assertEquals(0, all.get(PATH + "/items/a").json().get("fence").asInt());
    }

    private CompletableFuture<Answer> later(String path) {
        return CompletableFuture.supplyAsync(() -> all.post(PATH + path, "{'owner':'me','ttl':'10s'}"));
    }

    /** A request that has not been answered after half a second waits. */
    private static void awaitWaiter(CompletableFuture<Answer> waiting) throws InterruptedException, ExecutionException {
        try {
            throw new AssertionError("answered at once: "
                    + waiting.get(500, TimeUnit.MILLISECONDS).text());
        } catch (TimeoutException waits) {
            assertFalse(waiting.isDone());
        }
    }

    // ---- artifacts

    private HttpRequest.Builder upload(JsonNode item, String name) {
        return all.request(PATH + "/items/" + item.get("id").asText() + "/artifacts/" + name)
                .header("Fencepost-Owner", item.get("owner").asText())
                .header("Fencing-Token", item.get("fence").asText())
                .header("Fencepost-Run-Id", item.get("run_id").asText());
    }

    private static HttpRequest.Builder with(HttpRequest.Builder request, String body) {
        return request.PUT(BodyPublishers.ofString(body));
    }

    @Test
    void anArtifactComesBackAsItWas() {
        JsonNode item = claimed("a");
        Answer put = Client.send(with(upload(item, "report.txt").header("Content-Type", "text/plain"), "test"));
        assertEquals(201, put.status(), put::text);
        String sha256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
        assertEquals(sha256, put.json().get("sha256").asText());
        assertEquals(4, put.json().get("size").asInt());
        Answer bytes = all.get(PATH + "/items/a/artifacts/1/report.txt");
        assertEquals("test", bytes.text());
        assertEquals("text/plain", bytes.header("content-type"));
        assertEquals("4", bytes.header("content-length"));
        assertEquals("nosniff", bytes.header("x-content-type-options"));
        assertEquals(sha256, bytes.header("fencepost-sha256"));
        assertEquals(201, Client.send(with(upload(item, "report.txt"), "other")).status(), "the same name replaces");
        assertEquals("other", all.get(PATH + "/items/a/artifacts/1/report.txt").text());
        assertEquals(1, open.files().size(), () -> "" + open.files());
        JsonNode list = all.get(PATH + "/items/a/artifacts").json().get("artifacts");
        assertEquals(1, list.size());
        assertEquals("report.txt", list.get(0).get("name").asText());
        assertProblem(all.get(PATH + "/items/a/artifacts/2/report.txt"), 404);
        assertRefused(all.get(PATH + "/items/b/artifacts"), "UNKNOWN");
        assertEquals(201, Client.send(with(upload(item, "empty"), "")).status());
        assertEquals("", all.get(PATH + "/items/a/artifacts/1/empty").text());
    }

    @Test
    void anUploadUnderAnOldTokenIsRefusedBeforeItsBodyIsRead() throws IOException {
        JsonNode old = claimed("a");
        open.clock.pass(Duration.ofSeconds(10));
        assertRefused(Client.send(with(upload(old, "x"), "late")), "EXPIRED");
        all.post(PATH + "/items/a/claim", "{'owner':'you','ttl':'10s'}");
        assertRefused(Client.send(with(upload(old, "x"), "late")), "STALE_TOKEN");
        try (Socket socket = all.socket()) { // not one byte of the body was sent
            socket.getOutputStream()
                    .write(all.head(
                            "PUT " + PATH + "/items/a/artifacts/x HTTP/1.1",
                            "Fencepost-Owner: me",
                            "Fencing-Token: 1",
                            "Fencepost-Run-Id: " + old.get("run_id").asText(),
                            "Content-Length: 1000"));
            assertTrue(firstLine(socket).contains("409"));
        }
        assertEquals(List.of(), open.files());
    }

    @Test
    void aTokenThatGrowsOldDuringTheUploadKeepsNothing() {
        JsonNode item = claimed("a");
        open.queue.beforeNext("addArtifact", () -> open.clock.pass(Duration.ofSeconds(10)));
        assertRefused(Client.send(with(upload(item, "x"), "late")), "EXPIRED");
        assertEquals(List.of(), open.files());
        assertEquals(
                0, all.get(PATH + "/items/a/artifacts").json().get("artifacts").size());
    }

    @Test
    void anUploadWithoutAnAnswerOfTheStoreIsWholeOrNotThere() {
        JsonNode item = claimed("a");
        open.queue.failNext(Kind.AMBIGUOUS, true);
        assertProblem(Client.send(with(upload(item, "x"), "one")), 503, "same call again");
        assertEquals("one", all.get(PATH + "/items/a/artifacts/1/x").text());
        open.queue.failNext(Kind.AMBIGUOUS, false);
        assertProblem(Client.send(with(upload(item, "y"), "two")), 503);
        assertProblem(all.get(PATH + "/items/a/artifacts/1/y"), 404);
        assertEquals(1, open.files().size(), () -> "" + open.files());
    }

    @ParameterizedTest
    @CsvSource({
        "..",
        ".hidden",
        "..%2Fx",
        "%2Fetc%2Fpasswd",
        "a%00b",
        "a%0Ab",
        "a%5Cb",
        "a%20b",
        "%2e%2e%2fx",
        "caf%C3%A9",
    })
    void aNameThatIsAPathIsRefused(String name) throws IOException {
        JsonNode item = claimed("a");
        try (Socket socket = all.socket()) {
            socket.getOutputStream()
                    .write(all.head(
                            "PUT " + PATH + "/items/a/artifacts/" + name + " HTTP/1.1",
                            "Fencepost-Owner: me",
                            "Fencing-Token: 1",
                            "Fencepost-Run-Id: " + item.get("run_id").asText(),
                            "Connection: close",
                            "Content-Length: 1"));
            socket.getOutputStream().write('x');
            String line = firstLine(socket);
            assertTrue(line.matches("HTTP/1.1 4(00|04|05) .*"), line);
        }
        assertEquals(List.of(), open.files());
        assertProblem(Client.send(with(upload(item, "n".repeat(101)), "x")), 400);
    }

    @Test
    void anUploadThatIsTooLargeIsRefusedByItsHeadOrOnTheWay() throws IOException {
        JsonNode item = claimed("a");
        try (Socket socket = all.socket()) {
            socket.getOutputStream()
                    .write(all.head(
                            "PUT " + PATH + "/items/a/artifacts/x HTTP/1.1",
                            "Fencepost-Owner: me",
                            "Fencing-Token: 1",
                            "Fencepost-Run-Id: " + item.get("run_id").asText(),
                            "Expect: 100-continue",
                            "Content-Length: 4294967296"));
            assertTrue(firstLine(socket).contains("413"));
        }
        byte[] large = new byte[(int) OpenApi.MOST_BYTES + 1];
        HttpRequest.Builder chunked =
                upload(item, "x").PUT(BodyPublishers.fromPublisher(BodyPublishers.ofByteArray(large)));
        assertProblem(Client.send(chunked), 413, "1048576");
        assertEquals(List.of(), open.files());
        byte[] most = new byte[(int) OpenApi.MOST_BYTES];
        assertEquals(
                201,
                Client.send(upload(item, "x").PUT(BodyPublishers.fromPublisher(BodyPublishers.ofByteArray(most))))
                        .status());
    }

    @Test
    void whatIsExpectedIsAskedFor() throws IOException {
        JsonNode item = claimed("a");
        try (Socket socket = all.socket()) {
            socket.getOutputStream()
                    .write(all.head(
                            "PUT " + PATH + "/items/a/artifacts/x HTTP/1.1",
                            "Fencepost-Owner: me",
                            "Fencing-Token: 1",
                            "Fencepost-Run-Id: " + item.get("run_id").asText(),
                            "Expect: 100-continue",
                            "Content-Length: 1"));
            assertTrue(firstLine(socket).contains("100"));
            socket.getOutputStream().write('x');
            assertTrue(firstLine(socket).contains("201"));
        }
    }

    @Test
    void anUploadThatBreaksOffLeavesNothing() throws Exception {
        JsonNode item = claimed("a");
        try (Socket socket = all.socket()) {
            socket.getOutputStream()
                    .write(all.head(
                            "PUT " + PATH + "/items/a/artifacts/x HTTP/1.1",
                            "Fencepost-Owner: me",
                            "Fencing-Token: 1",
                            "Fencepost-Run-Id: " + item.get("run_id").asText(),
                            "Content-Length: 1000"));
            socket.getOutputStream().write(new byte[500]);
            long giveUp = System.nanoTime() + 10_000_000_000L;
            while (open.files().isEmpty() && System.nanoTime() < giveUp) {
                Thread.sleep(20); // until the first half is being taken in
            }
            assertEquals(1, open.files().size());
        }
        long giveUp = System.nanoTime() + 15_000_000_000L;
        while (!open.files().isEmpty() && System.nanoTime() < giveUp) {
            Thread.sleep(20); // until the end of the connection is seen
        }
        assertEquals(List.of(), open.files());
        assertEquals(
                0, all.get(PATH + "/items/a/artifacts").json().get("artifacts").size());
    }

    @Test
    void headersOfAnUploadAreChecked() {
        JsonNode item = claimed("a");
        assertProblem(Client.send(with(all.request(PATH + "/items/a/artifacts/x"), "x")), 400, "Fencepost-Owner");
        assertProblem(Client.send(with(upload(item, "x").setHeader("Fencing-Token", "-1"), "x")), 400, "token");
        assertProblem(Client.send(with(upload(item, "x").setHeader("Fencing-Token", "9".repeat(19)), "x")), 400);
        assertProblem(Client.send(with(upload(item, "x").setHeader("Fencepost-Run-Id", "x"), "x")), 400, "Run-Id");
        assertProblem(Client.send(with(upload(item, "x").header("Fencing-Token", "2"), "x")), 400, "twice");
        String wrong = "0".repeat(64);
        assertProblem(
                Client.send(with(upload(item, "x").header("Fencepost-Sha256", wrong), "x")), 422, "Fencepost-Sha256");
        assertEquals(List.of(), open.files());
        open = new OpenApi(api, base, folder.resolve("../" + folder.getFileName()), List.of("text/plain", "image/*"));
        JsonNode typed = claimed("t");
        assertProblem(Client.send(with(upload(typed, "x"), "x")), 415, "image/*");
        assertProblem(
                Client.send(with(upload(typed, "x").header("Content-Type", "text/html"), "x")), 415, "text/plain");
        assertEquals(
                201,
                Client.send(with(upload(typed, "x").header("Content-Type", "text/plain; charset=utf-8"), "x"))
                        .status());
        assertEquals(
                201,
                Client.send(with(upload(typed, "y").header("Content-Type", "Image/PNG"), "x"))
                        .status());
    }

    @Test
    void theDescriptionIsServed() {
        Answer yaml = all.with("").get("/q/openapi");
        assertEquals(200, yaml.status());
        assertTrue(yaml.text().contains("Fencepost-Run-Id"));
        assertNotNull(
                all.with("").get("/q/openapi?format=json").json().get("paths").get(PATH + "/claims"));
    }
}
