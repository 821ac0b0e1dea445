import com.openai.errors.NotFoundException;
import com.openai.models.videos.Video;
import com.openai.models.videos.VideoListPage;
import com.openai.models.videos.VideoListParams;
import java.util.ArrayList;
import java.util.List;

final class Lists {
    static void check() {
        Program.check(
                "videos.list, oldest first",
                () -> checkList(VideoListParams.Order.ASC, new ArrayList<>(Program.MADE)));
        Program.check(
                "videos.list, newest first",
                () -> checkList(VideoListParams.Order.DESC, new ArrayList<>(Program.MADE.descendingSet())));
        Program.check("videos.delete", () -> {
            String id = Program.create(Program.film()).id();
            Program.MADE.remove(id);
            var deleted = Program.CLIENT.videos().delete(id).validate();
            Program.equal(deleted.id(), id);
            Program.equal(deleted._object_().asStringOrThrow(), "video.deleted");
            Program.require(deleted.deleted(), deleted);
            Program.checkRefused(
                    () -> Program.CLIENT.videos().retrieve(id), NotFoundException.class, "video_not_found", "video_id");
        });
    }

    private static void checkList(VideoListParams.Order order, List<String> ids) {
        Program.require(ids.size() > 4, ids);
        var params = VideoListParams.builder().limit(2).order(order).build();
        List<String> paged = new ArrayList<>();
        VideoListPage page = Program.CLIENT.videos().list(params);
        while (true) {
            Program.equal(page.data().size(), Math.min(2, ids.size() - paged.size()));
            page.data().forEach(video -> paged.add(video.id()));
            if (!page.hasNextPage()) break;
            page = page.nextPage();
        }
        Program.equal(paged, ids);
        List<String> all = new ArrayList<>();
        for (Video video : Program.CLIENT.videos().list(params).autoPager()) all.add(video.id());
        Program.equal(all, ids);
    }
}
