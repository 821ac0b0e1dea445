package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"os"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

func checkVideos() {
	checkCreate()
	checkIdempotency()
	checkPoll()
	checkRetrieve()
	checkContent()
}

func createFrom(imageURL string) *openai.Video {
	params := film()
	params.InputReference.OfImageInputReference = &openai.ImageInputReferenceParam{ImageURL: openai.String(imageURL)}
	return create(params)
}

func checkCreate() {
	check("videos.create, text", func() {
		checkVideo(create(film()), nil)
		params := film()
		params.Model = openai.VideoModelSora2
		checkVideo(create(params), fields{"model": "sora-2"})
	})
	check("videos.create, file", func() {
		image := must(os.ReadFile(os.Getenv("IMAGE")))
		// Without a name or a type, and with both.
		bare := bytes.NewReader(image)
		named := openai.File(bytes.NewReader(image), "reference.png", "image/png")
		for _, reference := range []io.Reader{bare, named} {
			params := film()
			params.InputReference.OfFile = reference
			video := create(params)
			checkVideo(video, nil)
			equal(finish(video).Status, openai.VideoStatusCompleted)
		}
	})
	check("videos.create, object", func() {
		image := must(os.ReadFile(os.Getenv("IMAGE")))
		video := createFrom("data:image/png;base64," + base64.StdEncoding.EncodeToString(image))
		checkVideo(video, nil)
		equal(finish(video).Status, openai.VideoStatusCompleted)
	})
	check("videos.create, a wrong length", func() {
		params := film()
		params.Seconds = "99"
		_, err := client.Videos.New(ctx, params)
		checkRefused(err, refusal{400, "invalid_value", "seconds"})
	})
	check("videos.create, a wrong key", func() {
		wrong := connect("wrong")
		_, err := wrong.Videos.New(ctx, film())
		checkRefused(err, refusal{401, "invalid_api_key", ""})
	})
}

func checkIdempotency() {
	once := option.WithHeader("Idempotency-Key", "once and only once")
	check("videos.create, same Idempotency-Key", func() {
		first := create(film(), once)
		equal(create(film(), once).ID, first.ID)
		other := create(film(), option.WithHeader("Idempotency-Key", "another"))
		assert(other.ID != first.ID, "another key gave the same video")
	})
	check("videos.create, same key for another video", func() {
		params := film()
		params.Prompt = "a harbour"
		_, err := client.Videos.New(ctx, params, once)
		checkRefused(err, refusal{422, "idempotency_key_reused", "Idempotency-Key"})
	})
}

func checkPoll() {
	check("create and poll", func() {
		checkCompleted(keep(client.Videos.NewAndPoll(ctx, film(), 0)))
	})
	check("poll", func() { checkCompleted(must(client.Videos.PollStatus(ctx, create(film()).ID, 100))) })
}

func checkCompleted(video *openai.Video) {
	checkVideo(video, fields{
		"status": "completed", "progress": 100.0,
		"completed_at": float64(video.CompletedAt), "expires_at": float64(video.ExpiresAt),
	})
	ordered := video.CreatedAt <= video.CompletedAt && video.CompletedAt < video.ExpiresAt
	assert(ordered, "%d, %d, %d", video.CreatedAt, video.CompletedAt, video.ExpiresAt)
}

func checkRetrieve() {
	check("videos.retrieve, completed", func() { checkCompleted(must(client.Videos.Get(ctx, source().ID))) })
	check("videos.retrieve, failed", func() {
		video := finish(createFrom("http://127.0.0.1:1/missing.png"))
		failure := fields{"code": video.Error.Code, "message": video.Error.Message}
		checkVideo(video, fields{"status": "failed", "progress": float64(video.Progress), "error": failure})
		assert(video.Progress < 100, "progress is %d", video.Progress)
		equal(video.Error.Code, "image_unavailable")
		matches(video.Error.Message, `.{10,}`)
	})
	check("videos.retrieve, unknown", func() {
		_, err := client.Videos.Get(ctx, "video_none")
		checkRefused(err, refusal{404, "video_not_found", "video_id"})
	})
}

func checkContent() {
	check("videos.downloadContent", func() {
		content, kind := download(source().ID, "")
		equal([]string{kind, string(content[4:8])}, []string{"video/mp4", "ftyp"})
	})
	check("videos.downloadContent, thumbnail", func() {
		content, kind := download(source().ID, openai.VideoDownloadContentParamsVariantThumbnail)
		equal([]string{kind, string(content[:4]), string(content[8:12])}, []string{"image/webp", "RIFF", "WEBP"})
	})
	check("videos.downloadContent, spritesheet", func() {
		content, kind := download(source().ID, openai.VideoDownloadContentParamsVariantSpritesheet)
		equal([]string{kind, string(content[:3])}, []string{"image/jpeg", "\xff\xd8\xff"})
	})
}

func checkDelete() {
	check("videos.delete", func() {
		id := create(film()).ID
		delete(made, id)
		var deleted fields
		answer := must(client.Videos.Delete(ctx, id))
		must(0, json.Unmarshal([]byte(answer.RawJSON()), &deleted))
		equal(deleted, fields{"id": id, "object": "video.deleted", "deleted": true})
		equal([]any{answer.ID, string(answer.Object), answer.Deleted}, []any{id, "video.deleted", true})
		_, err := client.Videos.Get(ctx, id)
		checkRefused(err, refusal{404, "video_not_found", "video_id"})
	})
}
