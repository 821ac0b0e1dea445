import com.openai.errors.BadRequestException;
import com.openai.models.videos.Video;
import com.openai.models.videos.VideoCreateCharacterParams;
import com.openai.models.videos.VideoEditParams;
import com.openai.models.videos.VideoExtendParams;
import com.openai.models.videos.VideoRemixParams;
import com.openai.models.videos.VideoSeconds;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/** Videos that are made of videos. */
final class Derived {
    static void check() {
        var videos = Program.CLIENT.videos();
        Program.check("videos.remix", () -> {
            String id = Program.SOURCE.get().id();
            var params = VideoRemixParams.builder().prompt("a lighthouse at night").build();
            Video video = Program.keep(videos.remix(id, params));
            Map<String, Object> asked = Map.of("prompt", "a lighthouse at night", "remixed_from_video_id", id);
            Program.checkVideo(video, asked);
            checkFilm(video);
        });
        Program.check("videos.edit, by id", () -> {
            String id = Program.SOURCE.get().id();
            var reference = VideoEditParams.Video.VideoReferenceInputParam.builder().id(id).build();
            var params = VideoEditParams.builder().prompt("in the rain").video(reference).build();
            Video video = Program.keep(videos.edit(params));
            Program.checkVideo(video, Map.of("prompt", "in the rain", "remixed_from_video_id", id));
            checkFilm(video);
        });
        Program.check("videos.edit, by file", () -> {
            var params = VideoEditParams.builder().prompt("in the snow").video(film()).build();
            Video video = Program.keep(videos.edit(params));
            // Nothing but the file says what it is made of: the model is the usual one.
            Program.checkVideo(video, Map.of("prompt", "in the snow", "model", "sora-2"));
            checkFilm(video);
        });
        Program.check("videos.extend, by id", () -> {
            var reference = VideoExtendParams.Video.VideoReferenceInputParam.builder()
                    .id(Program.SOURCE.get().id())
                    .build();
            var params = VideoExtendParams.builder().prompt("the sun rises").seconds(VideoSeconds._4);
            Video video = Program.keep(videos.extend(params.video(reference).build()));
            Program.checkVideo(video, Map.of("prompt", "the sun rises", "seconds", "5"));
            checkFilm(video);
        });
        Program.check("videos.createCharacter", () -> {
            var params = VideoCreateCharacterParams.builder().name("Fox").video(film()).build();
            Program.checkRefused(() -> videos.createCharacter(params), BadRequestException.class, null, null);
        });
        Program.check(
                "videos.getCharacter",
                () -> Program.checkRefused(
                        () -> videos.getCharacter("char_1"), BadRequestException.class, null, null));
    }

    /** The bytes of a film, which go without a name and a type. */
    private static byte[] film() throws Exception {
        return Program.download(Program.SOURCE.get().id(), null).bytes();
    }

    private static void checkFilm(Video video) throws Exception {
        Video end = Program.finish(video);
        Program.require(end.status().equals(Video.Status.COMPLETED), end);
        Program.equal(end.seconds(), video.seconds());
        Program.equal(end.size(), video.size());
        byte[] bytes = Program.download(video.id(), null).bytes();
        Program.equal(new String(bytes, 4, 4, StandardCharsets.ISO_8859_1), "ftyp");
    }
}
