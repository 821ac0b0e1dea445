package main

import (
	"bytes"

	"github.com/openai/openai-go/v3"
)

// Videos that are made of videos.
func checkDerived() {
	check("videos.remix", func() {
		params := openai.VideoRemixParams{Prompt: "a lighthouse at night"}
		video := keep(client.Videos.Remix(ctx, source().ID, params))
		checkVideo(video, fields{"prompt": "a lighthouse at night", "remixed_from_video_id": source().ID})
		equal(video.RemixedFromVideoID, source().ID)
		checkFilm(video)
	})
	check("videos.edit, by id", func() {
		params := openai.VideoEditParams{Prompt: "in the rain"}
		params.Video.OfVideoEditsVideoVideoReferenceInputParam =
			&openai.VideoEditParamsVideoVideoReferenceInputParam{ID: source().ID}
		video := keep(client.Videos.Edit(ctx, params))
		checkVideo(video, fields{"prompt": "in the rain", "remixed_from_video_id": source().ID})
		checkFilm(video)
	})
	check("videos.edit, by file", func() {
		params := openai.VideoEditParams{Prompt: "in the snow"}
		params.Video.OfFile = filmFile()
		video := keep(client.Videos.Edit(ctx, params))
		// Nothing but the file says what it is made of: the model is the usual one.
		checkVideo(video, fields{"prompt": "in the snow", "model": "sora-2"})
		checkFilm(video)
	})
	check("videos.extend, by id", func() {
		params := openai.VideoExtendParams{Prompt: "the sun rises", Seconds: openai.VideoSeconds4}
		params.Video.OfVideoExtendsVideoVideoReferenceInputParam =
			&openai.VideoExtendParamsVideoVideoReferenceInputParam{ID: source().ID}
		video := keep(client.Videos.Extend(ctx, params))
		checkVideo(video, fields{"prompt": "the sun rises", "seconds": "5"})
		checkFilm(video)
	})
	check("videos.createCharacter", func() {
		_, err := client.Videos.NewCharacter(ctx, openai.VideoNewCharacterParams{Name: "Fox", Video: filmFile()})
		checkRefused(err, refusal{status: 400})
	})
	check("videos.getCharacter", func() {
		_, err := client.Videos.GetCharacter(ctx, "char_1")
		checkRefused(err, refusal{status: 400})
	})
}

// The bytes of a film, without a name or a type.
func filmFile() *bytes.Reader {
	content, _ := download(source().ID, "")
	return bytes.NewReader(content)
}

func checkFilm(video *openai.Video) {
	end := finish(video)
	assert(end.Status == openai.VideoStatusCompleted, "%s: %s", end.Status, end.Error.Message)
	equal([]any{end.Seconds, end.Size}, []any{video.Seconds, video.Size})
	content, _ := download(video.ID, "")
	equal(string(content[4:8]), "ftyp")
}
