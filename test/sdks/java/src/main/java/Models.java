import com.openai.errors.NotFoundException;
import com.openai.models.models.Model;
import java.util.ArrayList;
import java.util.List;

final class Models {
    static void check() {
        var models = Program.CLIENT.models();
        Program.check("models.list", () -> {
            List<String> ids = new ArrayList<>();
            for (Model model : models.list().autoPager()) {
                checkModel(model, model.id());
                ids.add(model.id());
            }
            Program.equal(ids, List.of("studio", "sora-2", "acme/video"));
        });
        Program.check("models.retrieve", () -> checkModel(models.retrieve("studio"), "studio"));
        Program.check(
                "models.retrieve, a slash in the id", () -> checkModel(models.retrieve("acme/video"), "acme/video"));
        Program.check(
                "models.retrieve, unknown",
                () -> Program.checkRefused(
                        () -> models.retrieve("nothing"), NotFoundException.class, "model_not_found", "model"));
    }

    private static void checkModel(Model model, String id) {
        Program.equal(model.validate().id(), id);
        Program.equal(model._object_().asStringOrThrow(), "model");
        Program.equal(model.ownedBy(), "studio");
        Program.require(model.created() > 0, model);
    }
}
