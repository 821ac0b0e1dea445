import com.openai.core.http.Headers;
import com.openai.errors.InvalidWebhookSignatureException;
import com.openai.errors.NotFoundException;
import com.openai.errors.OpenAIException;
import com.openai.models.webhooks.UnwrapWebhookEvent;
import com.openai.models.webhooks.WebhookCreateParams;
import com.openai.models.webhooks.WebhookCreateParams.EventType;
import com.openai.models.webhooks.WebhookEndpoint;
import com.openai.models.webhooks.WebhookEndpointWithSecret;
import com.openai.models.webhooks.WebhookListParams;
import com.openai.models.webhooks.WebhookRotateSecretParams;
import com.openai.models.webhooks.WebhookTestParams;
import com.openai.models.webhooks.WebhookUpdateParams;
import com.openai.models.webhooks.WebhookVerificationParams;
import com.openai.services.blocking.WebhookService;
import java.net.URI;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;

final class Webhooks {
    private static final WebhookService HOOKS = Program.CLIENT.webhooks();
    private static final List<String> TYPES = List.of("video.completed", "video.failed");
    /** Where this program is told of its videos. */
    private static final Supplier<WebhookEndpointWithSecret> ENDPOINT =
            Program.lazily(() -> create("films", EventType.VIDEO_COMPLETED, EventType.VIDEO_FAILED));

    private static final Supplier<Delivery> OF_SOURCE = Program.lazily(() -> {
        ENDPOINT.get();
        String id = Program.SOURCE.get().id();
        return Program.until(id + " is told", () -> deliveries().stream()
                .filter(told -> told.body.contains(id))
                .findFirst()
                .orElse(null));
    });

    record Delivery(Map<String, String> headers, String body) {}

    /** Before anything is made. If it can't be, the rows that need it say so. */
    static void register() {
        try {
            ENDPOINT.get();
        } catch (OpenAIException error) {
            // Said by each row that needs it.
        }
    }

    private static WebhookEndpointWithSecret create(String name, EventType... types) {
        return HOOKS.create(WebhookCreateParams.builder()
                .name(name)
                .url(Program.RECEIVER)
                .eventTypes(List.of(types))
                .build());
    }

    private static List<Delivery> deliveries() throws Exception {
        return Arrays.asList(Program.JSON.readValue(URI.create(Program.RECEIVER).toURL(), Delivery[].class));
    }

    private static UnwrapWebhookEvent unwrap(Delivery told, String secret) {
        Headers.Builder headers = Headers.builder();
        told.headers.forEach(headers::put);
        return HOOKS.unwrap(WebhookVerificationParams.builder()
                .payload(told.body)
                .headers(headers.build())
                .secret(secret)
                .build());
    }

    static void check() {
        Program.check("webhooks.eventTypes.list", () -> {
            var types = HOOKS.eventTypes().list().validate();
            Program.equal(types._object_().asStringOrThrow(), "list");
            Program.require(types.data().containsAll(TYPES), types);
        });
        checkEndpoints();
        checkList();
        checkUnwrap();
        checkSecret();
        Program.check("webhooks.delete", () -> {
            String id = ENDPOINT.get().id();
            var deleted = HOOKS.delete(id).validate();
            Program.equal(deleted.id(), id);
            Program.equal(deleted._object_().asStringOrThrow(), "webhook_endpoint.deleted");
            Program.require(deleted.deleted(), deleted);
            Program.checkRefused(() -> HOOKS.retrieve(id), NotFoundException.class, null, null);
        });
    }

    private static void checkEndpoints() {
        Program.check("webhooks.create", () -> {
            var made = ENDPOINT.get().validate();
            Program.equal(made._object_().asStringOrThrow(), "webhook_endpoint");
            Program.equal(List.of(made.name(), made.url()), List.of("films", Program.RECEIVER));
            Program.equal(made.eventTypes(), TYPES);
            Program.require(made.id().matches("\\w+"), made.id());
            Program.isNow(made.createdAt());
            Program.equal(made.updatedAt().orElseThrow(), made.createdAt());
            Program.require(made.signingSecret().matches("whsec_[A-Za-z0-9+/]{32,}={0,2}"), made.signingSecret());
            Program.require(!made.signingSecretHint().orElseThrow().contains(made.signingSecret()), "the hint");
        });
        Program.check("webhooks.retrieve", () -> {
            var made = ENDPOINT.get();
            WebhookEndpoint seen = HOOKS.retrieve(made.id()).validate();
            Program.equal(List.of(seen.id(), seen.name(), seen.url()), List.of(made.id(), made.name(), made.url()));
            Program.equal(seen.eventTypes(), TYPES);
            Program.equal(List.of(seen.createdAt(), seen.updatedAt()), List.of(made.createdAt(), made.updatedAt()));
            Program.equal(seen.signingSecretHint(), made.signingSecretHint());
            // Beside what the SDK knows, it says whether it was switched off.
            Program.equal(seen._additionalProperties().keySet(), Set.of("disabled_at", "disabled_reason"));
        });
        Program.check("webhooks.update", () -> {
            WebhookEndpoint seen = rename("all films");
            Program.equal(List.of(seen.id(), seen.name()), List.of(ENDPOINT.get().id(), "all films"));
            Program.equal(List.of(seen.url(), seen.eventTypes()), List.of(Program.RECEIVER, TYPES));
            Program.require(seen.updatedAt().orElseThrow() >= ENDPOINT.get().createdAt(), seen);
            Program.equal(rename("films").name(), "films");
        });
    }

    private static WebhookEndpoint rename(String name) {
        return HOOKS.update(
                ENDPOINT.get().id(), WebhookUpdateParams.builder().name(name).build());
    }

    private static void checkList() {
        Program.check("webhooks.list", () -> {
            List<String> ids = new ArrayList<>(List.of(ENDPOINT.get().id()));
            for (String name : List.of("second", "third")) ids.add(0, create(name, EventType.VIDEO_FAILED).id());
            List<String> seen = new ArrayList<>();
            var params = WebhookListParams.builder().limit(2).build();
            for (WebhookEndpoint each : HOOKS.list(params).autoPager()) seen.add(each.id());
            Program.equal(seen, ids);
            for (String id : ids.subList(0, 2)) HOOKS.delete(id);
        });
    }

    private static void checkUnwrap() {
        Program.check("webhooks.unwrap", () -> {
            var event = unwrap(OF_SOURCE.get(), ENDPOINT.get().signingSecret());
            // The SDK has no class for events of videos, and hands them over as they came.
            Map<?, ?> seen = event._json().orElseThrow().convert(Map.class);
            Program.isNow(((Number) seen.get("created_at")).longValue());
            Program.equal(seen.keySet().size(), 5);
            Program.require(seen.get("id").toString().startsWith("evt_"), seen);
            Program.equal(List.of(seen.get("object"), seen.get("type")), List.of("event", "video.completed"));
            Program.equal(seen.get("data"), Map.of("id", Program.SOURCE.get().id()));
        });
        Program.check("webhooks.unwrap, a changed body", () -> {
            Delivery told = OF_SOURCE.get();
            String changed = told.body.replace("video.completed", "video.failed");
            checkUnreadable(new Delivery(told.headers, changed), ENDPOINT.get().signingSecret());
        });
    }

    private static void checkUnreadable(Delivery told, String secret) {
        try {
            unwrap(told, secret);
        } catch (InvalidWebhookSignatureException error) {
            return;
        }
        throw new AssertionError("it was taken for genuine");
    }

    private static void checkSecret() {
        Program.check("webhooks.test", () -> {
            for (Delivery told : test()) unwrap(told, ENDPOINT.get().signingSecret());
        });
        Program.check("webhooks.rotateSecret", () -> {
            String id = ENDPOINT.get().id();
            String old = ENDPOINT.get().signingSecret();
            var keep = WebhookRotateSecretParams.builder().keepOldSecretActiveFor24Hours(true);
            var rotated = HOOKS.rotateSecret(id, keep.build()).validate();
            Program.equal(rotated.id(), id);
            Program.require(!rotated.signingSecret().equals(old), "the secret is the same");
            // While both are good, what is sent can be read with either.
            for (Delivery told : test()) {
                unwrap(told, old);
                unwrap(told, rotated.signingSecret());
            }
            String newest = HOOKS.rotateSecret(id).signingSecret();
            for (Delivery told : test()) {
                unwrap(told, newest);
                checkUnreadable(told, old);
            }
        });
    }

    private static List<Delivery> test() throws Exception {
        String id = ENDPOINT.get().id();
        int before = deliveries().size();
        var sample = WebhookTestParams.builder().eventType(WebhookTestParams.EventType.VIDEO_COMPLETED);
        var result = HOOKS.test(id, sample.build()).validate();
        Program.equal(result._object_().asStringOrThrow(), "webhook_endpoint.test");
        Program.equal(List.of(result.eventType(), result.statusCode()), List.of("video.completed", 200L));
        Program.equal(result._success().asBoolean().orElseThrow(), true);
        Program.equal(result.webhookEndpointId(), id);
        List<Delivery> fresh = deliveries().subList(before, deliveries().size());
        Program.require(!fresh.isEmpty(), "nothing came");
        return fresh;
    }
}
