import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.openai.client.OpenAIClient;
import com.openai.client.okhttp.OpenAIOkHttpClient;
import com.openai.core.JsonField;
import com.openai.errors.OpenAIServiceException;
import com.openai.models.videos.Video;
import com.openai.models.videos.VideoCreateParams;
import com.openai.models.videos.VideoDownloadContentParams;
import com.openai.models.videos.VideoSeconds;
import com.openai.models.videos.VideoSize;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Supplier;

/** What all parts of this program share: the client, the verdicts, and the video that many rows start from. */
final class Program {
    static final String RECEIVER = System.getenv("RECEIVER");
    static final String IMAGE = System.getenv("IMAGE");
    static final ObjectMapper JSON = new ObjectMapper();
    static final OpenAIClient CLIENT = connect(System.getenv("TOKEN"));
    /** Every video that was made and not deleted. */
    static final TreeSet<String> MADE = new TreeSet<>();
    /** A completed video that many rows start from. */
    static final Supplier<Video> SOURCE = lazily(() -> {
        Video video = finish(create(film()));
        equal(video.status(), Video.Status.COMPLETED);
        return video;
    });

    interface Act {
        void run() throws Exception;
    }

    interface Look<T> {
        T at() throws Exception;
    }

    record Content(byte[] bytes, String type) {}

    /** Without retries: a row that needs a second try has failed. */
    static OpenAIClient connect(String key) {
        return OpenAIOkHttpClient.builder().apiKey(key).baseUrl(System.getenv("BASE_URL")).maxRetries(0).build();
    }

    static void report(String row, Map<String, String> verdict) {
        Map<String, String> line = new LinkedHashMap<>(Map.of("row", row));
        line.putAll(verdict);
        try {
            System.out.println(JSON.writeValueAsString(line));
        } catch (JsonProcessingException error) {
            throw new IllegalStateException(error);
        }
    }

    /** Runs it at once, and says how it went. */
    static void check(String row, Act act) {
        try {
            act.run();
            report(row, Map.of());
        } catch (Exception | AssertionError error) {
            report(row, Map.of("failure", error.toString()));
        }
    }

    static void require(boolean holds, Object what) {
        if (!holds) throw new AssertionError(what);
    }

    static void equal(Object seen, Object expected) {
        require(Objects.equals(seen, expected), seen + " is not " + expected);
    }

    static void isNow(long unix) {
        require(Math.abs(unix - System.currentTimeMillis() / 1000) < 120, unix + " is not now");
    }

    /** The first use of what it makes pays for it; if it fails, it fails for all who need it. */
    static <T> Supplier<T> lazily(Supplier<T> make) {
        return new Supplier<>() {
            private T made;
            private RuntimeException failure;

            @Override
            public T get() {
                if (failure != null) throw failure;
                try {
                    if (made == null) made = make.get();
                } catch (RuntimeException error) {
                    failure = error;
                    throw error;
                }
                return made;
            }
        };
    }

    static <T> T until(String what, Look<T> look) {
        try {
            for (long end = System.currentTimeMillis() + 60_000; System.currentTimeMillis() < end; Thread.sleep(100)) {
                T seen = look.at();
                if (seen != null) return seen;
            }
        } catch (RuntimeException error) {
            throw error;
        } catch (Exception error) {
            throw new IllegalStateException(error);
        }
        throw new IllegalStateException("timed out: " + what);
    }

    /** Small and short, which the SDK's own values know nothing of. */
    static VideoCreateParams.Builder film() {
        return VideoCreateParams.builder()
                .prompt("a lighthouse")
                .model("studio")
                .seconds(VideoSeconds.of("1"))
                .size(VideoSize.of("256x256"));
    }

    static Video create(VideoCreateParams.Builder params) {
        return keep(CLIENT.videos().create(params.build()));
    }

    static Video keep(Video video) {
        MADE.add(video.id());
        return video;
    }

    static Video finish(Video video) {
        return until(video.id() + " ends", () -> {
            Video now = CLIENT.videos().retrieve(video.id());
            boolean ended = now.status().equals(Video.Status.COMPLETED) || now.status().equals(Video.Status.FAILED);
            return ended ? now : null;
        });
    }

    static Content download(String id, VideoDownloadContentParams.Variant variant) throws Exception {
        VideoDownloadContentParams.Builder params = VideoDownloadContentParams.builder().videoId(id);
        if (variant != null) params.variant(variant);
        try (var response = CLIENT.videos().downloadContent(params.build())) {
            byte[] bytes = response.body().readAllBytes();
            equal(response.headers().values("content-length").get(0), String.valueOf(bytes.length));
            return new Content(bytes, response.headers().values("content-type").get(0));
        }
    }

    /** The plain value of a field as it came: null for null, and a word of its own for one that did not come. */
    private static Object plain(JsonField<?> field) {
        if (field.isMissing()) return "missing";
        if (field.isNull()) return null;
        Object known = field.asKnown().map(value -> (Object) value).orElseGet(() -> field.asUnknown().get());
        return known instanceof Number || known instanceof com.openai.models.videos.VideoCreateError
                ? known
                : known.toString();
    }

    /** All of it, and nothing else but what Filmgate adds: what does not apply is null. */
    static void checkVideo(Video video, Map<String, Object> expected) {
        require(video.id().matches("video_[0-9a-f]{48}"), video.id());
        isNow(video.createdAt());
        equal(video._object_().asStringOrThrow(), "video");
        Set<String> added = Set.of("eta", "queue_position", "output", "warnings", "metadata", "usage", "status_detail");
        require(added.containsAll(video._additionalProperties().keySet()), video);
        Map<String, Object> seen = new HashMap<>();
        seen.put("model", plain(video._model()));
        seen.put("prompt", plain(video._prompt()));
        seen.put("seconds", plain(video._seconds()));
        seen.put("size", plain(video._size()));
        seen.put("status", plain(video._status()));
        seen.put("progress", plain(video._progress()));
        seen.put("completed_at", plain(video._completedAt()));
        seen.put("expires_at", plain(video._expiresAt()));
        seen.put("error", plain(video._error()));
        seen.put("remixed_from_video_id", plain(video._remixedFromVideoId()));
        Map<String, Object> whole = new HashMap<>(Map.of("model", "studio", "prompt", "a lighthouse", "seconds", "1"));
        whole.putAll(Map.of("size", "256x256", "status", "queued", "progress", 0L));
        for (String name : new String[] {"completed_at", "expires_at", "error", "remixed_from_video_id"}) {
            whole.put(name, null);
        }
        whole.putAll(expected);
        equal(seen, whole);
    }

    /** It is refused, by the SDK's own class for that, with words for a reader. */
    static void checkRefused(Act act, Class<? extends OpenAIServiceException> kind, String code, String param)
            throws Exception {
        try {
            act.run();
        } catch (OpenAIServiceException error) {
            equal(error.getClass(), kind);
            if (code != null) {
                equal(error.code().orElse(null), code);
                equal(error.param().orElse(null), param);
            }
            require(error.headers().values("x-request-id").get(0).startsWith("req_"), error.headers());
            require(error.getMessage().length() >= 10, error.getMessage());
            return;
        }
        throw new AssertionError("it was not refused");
    }
}
