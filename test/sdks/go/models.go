package main

import "github.com/openai/openai-go/v3"

func checkModels() {
	check("models.list", func() {
		var ids []string
		pager := client.Models.ListAutoPaging(ctx)
		for pager.Next() {
			model := pager.Current()
			checkModel(&model, model.ID)
			ids = append(ids, model.ID)
		}
		must(0, pager.Err())
		equal(ids, []string{"studio", "sora-2", "acme/video"})
	})
	check("models.retrieve", func() { checkModel(must(client.Models.Get(ctx, "studio")), "studio") })
	check("models.retrieve, a slash in the id", func() {
		checkModel(must(client.Models.Get(ctx, "acme/video")), "acme/video")
	})
	check("models.retrieve, unknown", func() {
		_, err := client.Models.Get(ctx, "nothing")
		checkRefused(err, refusal{404, "model_not_found", "model"})
	})
}

func checkModel(model *openai.Model, id string) {
	equal([]string{model.ID, string(model.Object), model.OwnedBy}, []string{id, "model", "studio"})
	assert(model.JSON.Created.Valid() && model.Created > 0, "created is %s", model.JSON.Created.Raw())
}
