import com.openai.errors.BadRequestException;
import com.openai.errors.NotFoundException;
import com.openai.errors.UnauthorizedException;
import com.openai.errors.UnprocessableEntityException;
import com.openai.models.videos.ImageInputReferenceParam;
import com.openai.models.videos.Video;
import com.openai.models.videos.VideoCreateParams;
import com.openai.models.videos.VideoDownloadContentParams.Variant;
import com.openai.models.videos.VideoModel;
import com.openai.models.videos.VideoSeconds;
import com.openai.models.videos.VideoSize;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

final class Videos {
    private static final Path IMAGE = Path.of(Program.IMAGE);

    static void check() {
        checkCreate();
        checkIdempotency();
        for (String row : List.of("create and poll", "poll")) {
            Program.report(row, Map.of("none", "the SDK has no such helper"));
        }
        checkRetrieve();
        checkContent();
    }

    private static Video createFrom(String url) {
        return Program.create(Program.film()
                .inputReference(ImageInputReferenceParam.builder().imageUrl(url).build()));
    }

    private static void checkCreate() {
        Program.check("videos.create, text", () -> {
            Program.checkVideo(Program.create(Program.film()), Map.of());
            // With nothing but values that the SDK has names for, all of it is valid in its eyes.
            var large = Program.film().model(VideoModel.SORA_2).seconds(VideoSeconds._4).size(VideoSize._1280X720);
            Video video = Program.CLIENT.videos().create(large.build()).validate();
            // Too large to wait for.
            Program.CLIENT.videos().delete(video.id());
            Program.checkVideo(video, Map.of("model", "sora-2", "seconds", "4", "size", "1280x720"));
        });
        Program.check("videos.create, file", () -> {
            // As bare bytes, which go without a name and a type, and as a file.
            for (var params : List.of(
                    Program.film().inputReference(Files.readAllBytes(IMAGE)), Program.film().inputReference(IMAGE))) {
                Video video = Program.create(params);
                Program.checkVideo(video, Map.of());
                Program.equal(Program.finish(video).status(), Video.Status.COMPLETED);
            }
        });
        Program.check("videos.create, object", () -> {
            String data = Base64.getEncoder().encodeToString(Files.readAllBytes(IMAGE));
            Video video = createFrom("data:image/png;base64," + data);
            Program.checkVideo(video, Map.of());
            Program.equal(Program.finish(video).status(), Video.Status.COMPLETED);
        });
        Program.check("videos.create, a wrong length", () -> {
            var params = Program.film().seconds(VideoSeconds.of("99"));
            Program.checkRefused(
                    () -> Program.create(params), BadRequestException.class, "invalid_value", "seconds");
        });
        Program.check("videos.create, a wrong key", () -> {
            var wrong = Program.connect("wrong").videos();
            Program.checkRefused(
                    () -> wrong.create(Program.film().build()), UnauthorizedException.class, "invalid_api_key", null);
        });
    }

    private static VideoCreateParams.Builder keyed(String key) {
        return Program.film().putAdditionalHeader("Idempotency-Key", key);
    }

    private static void checkIdempotency() {
        String once = "once and only once";
        Program.check("videos.create, same Idempotency-Key", () -> {
            String first = Program.create(keyed(once)).id();
            Program.equal(Program.create(keyed(once)).id(), first);
            Program.require(!Program.create(keyed("another")).id().equals(first), "another key gave the same video");
        });
        Program.check(
                "videos.create, same key for another video",
                () -> Program.checkRefused(
                        () -> Program.create(keyed(once).prompt("a harbour")),
                        UnprocessableEntityException.class,
                        "idempotency_key_reused",
                        "Idempotency-Key"));
    }

    private static void checkRetrieve() {
        Program.check("videos.retrieve, completed", () -> {
            Video video = Program.CLIENT.videos().retrieve(Program.SOURCE.get().id());
            long completedAt = video.completedAt().orElseThrow();
            long expiresAt = video.expiresAt().orElseThrow();
            Map<String, Object> end = new HashMap<>(Map.of("status", "completed", "progress", 100L));
            end.putAll(Map.of("completed_at", completedAt, "expires_at", expiresAt));
            Program.checkVideo(video, end);
            Program.require(video.createdAt() <= completedAt && completedAt < expiresAt, end);
        });
        Program.check("videos.retrieve, failed", () -> {
            Video video = Program.finish(createFrom("http://127.0.0.1:1/missing.png"));
            var error = video.error().orElseThrow();
            Map<String, Object> end = Map.of("status", "failed", "progress", video.progress(), "error", error);
            Program.checkVideo(video, end);
            Program.require(video.progress() < 100, video.progress());
            Program.equal(error.validate().code(), "image_unavailable");
            Program.require(error.message().length() >= 10, error);
        });
        Program.check(
                "videos.retrieve, unknown",
                () -> Program.checkRefused(
                        () -> Program.CLIENT.videos().retrieve("video_none"),
                        NotFoundException.class,
                        "video_not_found",
                        "video_id"));
    }

    private static void checkContent(String row, Variant variant, String type, String pattern) {
        Program.check(row, () -> {
            var content = Program.download(Program.SOURCE.get().id(), variant);
            Program.equal(content.type(), type);
            String start = new String(content.bytes(), 0, 12, StandardCharsets.ISO_8859_1);
            Program.require(start.matches("(?s)" + pattern), start);
        });
    }

    private static void checkContent() {
        checkContent("videos.downloadContent", null, "video/mp4", ".{4}ftyp.{4}");
        checkContent("videos.downloadContent, thumbnail", Variant.THUMBNAIL, "image/webp", "RIFF.{4}WEBP");
        checkContent("videos.downloadContent, spritesheet", Variant.SPRITESHEET, "image/jpeg", "\u00ff\u00d8\u00ff.*");
    }
}
