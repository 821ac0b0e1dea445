package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"sync"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

type fields = map[string]any

var (
	ctx      = context.Background()
	receiver = os.Getenv("RECEIVER")
	client   = connect(os.Getenv("TOKEN"))
	// Every video that was made and not deleted.
	made = map[string]bool{}
)

// Without retries: a row that needs a second try has failed.
func connect(key string) openai.Client {
	return openai.NewClient(option.WithAPIKey(key), option.WithBaseURL(os.Getenv("BASE_URL")), option.WithMaxRetries(0))
}

func report(row string, verdict fields) {
	line := fields{"row": row}
	for name, value := range verdict {
		line[name] = value
	}
	text, _ := json.Marshal(line)
	fmt.Println(string(text))
}

// Runs the function at once, and says how it went.
func check(row string, act func()) {
	defer func() {
		if failure := recover(); failure != nil {
			report(row, fields{"failure": fmt.Sprint(failure)})
		} else {
			report(row, nil)
		}
	}()
	act()
}

// What the call answered; its error ends the row.
func must[T any](value T, err error) T {
	if err != nil {
		var refusal *openai.Error
		if errors.As(err, &refusal) {
			panic(fmt.Sprintf("%v: %s", err, refusal.RawJSON()))
		}
		panic(err.Error())
	}
	return value
}

func assert(holds bool, format string, args ...any) {
	if !holds {
		panic(fmt.Sprintf(format, args...))
	}
}

func equal(seen, expected any) {
	assert(reflect.DeepEqual(seen, expected), "%#v is not %#v", seen, expected)
}

func matches(text, pattern string) {
	assert(regexp.MustCompile(pattern).MatchString(text), "%q does not match %s", text, pattern)
}

func isNow(unix int64) {
	assert(max(unix-time.Now().Unix(), time.Now().Unix()-unix) < 120, "%d is not now", unix)
}

func until[T any](what string, look func() *T) *T {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if seen := look(); seen != nil {
			return seen
		}
	}
	panic("timed out: " + what)
}

// Small and short, which the SDK's own values know nothing of.
func film() openai.VideoNewParams {
	return openai.VideoNewParams{Prompt: "a lighthouse", Model: "studio", Seconds: "1", Size: "256x256"}
}

func create(params openai.VideoNewParams, options ...option.RequestOption) *openai.Video {
	return keep(client.Videos.New(ctx, params, options...))
}

func keep(video *openai.Video, err error) *openai.Video {
	made[must(video, err).ID] = true
	return video
}

func finish(video *openai.Video) *openai.Video {
	return until(video.ID+" ends", func() *openai.Video {
		now := must(client.Videos.Get(ctx, video.ID))
		if now.Status == openai.VideoStatusCompleted || now.Status == openai.VideoStatusFailed {
			return now
		}
		return nil
	})
}

func download(id string, variant openai.VideoDownloadContentParamsVariant) ([]byte, string) {
	response := must(client.Videos.DownloadContent(ctx, id, openai.VideoDownloadContentParams{Variant: variant}))
	defer response.Body.Close()
	content := must(io.ReadAll(response.Body))
	equal(response.ContentLength, int64(len(content)))
	return content, response.Header.Get("content-type")
}

// A completed video that many rows start from.
var source = sync.OnceValue(func() *openai.Video {
	video := finish(create(film()))
	equal(video.Status, openai.VideoStatusCompleted)
	return video
})

// All of it, and nothing else but what Filmgate adds: what does not apply is null, and what the SDK made
// of it is the same.
func checkVideo(video *openai.Video, expected fields) {
	var seen fields
	must(0, json.Unmarshal([]byte(video.RawJSON()), &seen))
	matches(video.ID, `^video_[0-9a-f]{48}$`)
	isNow(video.CreatedAt)
	equal([]any{seen["id"], seen["created_at"]}, []any{video.ID, float64(video.CreatedAt)})
	_, waits := seen["status_detail"].(string)
	equal(waits, video.Status != openai.VideoStatusCompleted && video.Status != openai.VideoStatusFailed)
	for _, name := range []string{"id", "created_at", "eta", "queue_position", "output", "warnings", "metadata", "usage", "status_detail"} {
		delete(seen, name)
	}
	whole := fields{
		"object": "video", "model": "studio", "prompt": "a lighthouse", "seconds": "1", "size": "256x256",
		"status": "queued", "progress": 0.0, "completed_at": nil, "expires_at": nil, "error": nil,
		"remixed_from_video_id": nil,
	}
	for name, value := range expected {
		whole[name] = value
	}
	equal(seen, whole)
	equal(
		[]any{string(video.Model), string(video.Seconds), string(video.Size), string(video.Status), video.Prompt},
		[]any{whole["model"], whole["seconds"], whole["size"], whole["status"], whole["prompt"]},
	)
	equal(float64(video.Progress), whole["progress"])
	equal(video.JSON.Error.Valid(), whole["error"] != nil)
	equal(video.JSON.CompletedAt.Valid(), whole["completed_at"] != nil)
}

type refusal struct {
	status      int
	code, param string
}

// It is refused, with words for a reader. The SDK has one class for all that is.
func checkRefused(err error, expected refusal) {
	var seen *openai.Error
	assert(errors.As(err, &seen), "it was not refused: %v", err)
	equal(seen.StatusCode, expected.status)
	if expected.code != "" {
		equal([]string{seen.Code, seen.Param}, []string{expected.code, expected.param})
	}
	matches(seen.Response.Header.Get("x-request-id"), `^req_`)
	matches(seen.Message, `.{10,}`)
}
