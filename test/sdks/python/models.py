import openai
from program import check, check_refused, client, equal


def check_all():
    @check("models.list")
    def _():
        models = list(client.models.list())
        equal([model.id for model in models], ["studio", "sora-2", "acme/video"])
        for model in models:
            check_model(model, model.id)

    for row, name in {"models.retrieve": "studio", "models.retrieve, a slash in the id": "acme/video"}.items():
        check(row)(lambda: check_model(client.models.retrieve(name), name))

    @check("models.retrieve, unknown")
    def _():
        check_refused(
            lambda: client.models.retrieve("nothing"),
            openai.NotFoundError,
            404,
            code="model_not_found",
            param="model",
        )


def check_model(model, name):
    equal((model.id, model.object, model.owned_by), (name, "model", "studio"))
    equal(type(model.created), int)
