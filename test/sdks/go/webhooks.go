package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/webhooks"
)

type delivery struct {
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
}

var eventTypes = []string{"video.completed", "video.failed"}

// Where this program is told of its videos.
var endpoint = sync.OnceValue(func() *webhooks.WebhookEndpointWithSecret {
	return newEndpoint("films", eventTypes)
})

func newEndpoint(name string, types []string) *webhooks.WebhookEndpointWithSecret {
	return must(client.Webhooks.New(ctx, webhooks.WebhookNewParams{Name: name, URL: receiver, EventTypes: types}))
}

// Before anything is made. If it can't be, the rows that need it say so.
func register() {
	defer func() { _ = recover() }()
	endpoint()
}

func deliveries() (all []delivery) {
	response := must(http.Get(receiver))
	defer response.Body.Close()
	must(0, json.NewDecoder(response.Body).Decode(&all))
	return all
}

var ofSource = sync.OnceValue(func() *delivery {
	endpoint()
	return until(source().ID+" is told", func() *delivery {
		for _, each := range deliveries() {
			if strings.Contains(each.Body, source().ID) {
				return &each
			}
		}
		return nil
	})
})

func unwrap(told delivery, secret string) (*webhooks.UnwrapWebhookEventUnion, error) {
	headers := http.Header{}
	for name, value := range told.Headers {
		headers.Set(name, value)
	}
	return client.Webhooks.Unwrap([]byte(told.Body), headers, option.WithWebhookSecret(secret))
}

func checkWebhooks() {
	check("webhooks.eventTypes.list", func() {
		types := must(client.Webhooks.EventTypes.List(ctx))
		equal(string(types.Object), "list")
		for _, wanted := range eventTypes {
			assert(strings.Contains(strings.Join(types.Data, " "), wanted), "%v", types.Data)
		}
	})
	checkEndpoints()
	checkUnwrap()
	checkSecret()
	check("webhooks.delete", func() {
		id := endpoint().ID
		deleted := must(client.Webhooks.Delete(ctx, id))
		equal([]any{deleted.ID, string(deleted.Object), deleted.Deleted}, []any{id, "webhook_endpoint.deleted", true})
		_, err := client.Webhooks.Get(ctx, id)
		checkRefused(err, refusal{status: 404})
	})
}

func checkEndpoints() {
	check("webhooks.create", func() {
		made := endpoint()
		equal([]any{string(made.Object), made.Name, made.URL}, []any{"webhook_endpoint", "films", receiver})
		equal(made.EventTypes, eventTypes)
		matches(made.ID, `^\w+$`)
		isNow(made.CreatedAt)
		equal(made.UpdatedAt, made.CreatedAt)
		matches(made.SigningSecret, `^whsec_[A-Za-z0-9+/]{32,}={0,2}$`)
		assert(made.SigningSecretHint != "" && !strings.Contains(made.SigningSecretHint, made.SigningSecret), "the hint")
	})
	check("webhooks.retrieve", func() {
		seen, made := must(client.Webhooks.Get(ctx, endpoint().ID)), endpoint()
		equal(
			[]any{seen.ID, seen.Name, seen.URL, seen.EventTypes, seen.CreatedAt, seen.UpdatedAt, seen.SigningSecretHint},
			[]any{made.ID, made.Name, made.URL, made.EventTypes, made.CreatedAt, made.UpdatedAt, made.SigningSecretHint},
		)
		assert(!strings.Contains(seen.RawJSON(), made.SigningSecret), "the secret is shown")
	})
	check("webhooks.update", func() {
		rename := func(name string) *webhooks.WebhookEndpoint {
			params := webhooks.WebhookUpdateParams{Name: openai.String(name)}
			return must(client.Webhooks.Update(ctx, endpoint().ID, params))
		}
		seen := rename("all films")
		equal([]any{seen.ID, seen.Name, seen.URL, seen.EventTypes}, []any{endpoint().ID, "all films", receiver, eventTypes})
		assert(seen.UpdatedAt >= endpoint().UpdatedAt, "updated_at is %d", seen.UpdatedAt)
		equal(rename("films").Name, "films")
	})
	check("webhooks.list", func() {
		ids := []string{endpoint().ID}
		for _, name := range []string{"second", "third"} {
			ids = append([]string{newEndpoint(name, []string{"video.failed"}).ID}, ids...)
		}
		var seen []string
		pager := client.Webhooks.ListAutoPaging(ctx, webhooks.WebhookListParams{Limit: openai.Int(2)})
		for pager.Next() {
			seen = append(seen, pager.Current().ID)
		}
		must(0, pager.Err())
		equal(seen, ids)
		for _, id := range ids[:2] {
			must(client.Webhooks.Delete(ctx, id))
		}
	})
}

func checkUnwrap() {
	check("webhooks.unwrap", func() {
		event := must(unwrap(*ofSource(), endpoint().SigningSecret))
		equal(
			[]any{event.Type, string(event.Object), event.Data.ID},
			[]any{"video.completed", "event", source().ID},
		)
		matches(event.ID, `^evt_\w+$`)
		isNow(event.CreatedAt)
	})
	check("webhooks.unwrap, a changed body", func() {
		changed := *ofSource()
		changed.Body = strings.Replace(changed.Body, "video.completed", "video.failed", 1)
		_, err := unwrap(changed, endpoint().SigningSecret)
		assert(err != nil && err.Error() == "webhook signature verification failed", "%v", err)
	})
}

func checkSecret() {
	check("webhooks.test", func() {
		for _, told := range test() {
			must(unwrap(told, endpoint().SigningSecret))
		}
	})
	check("webhooks.rotateSecret", func() {
		id, old := endpoint().ID, endpoint().SigningSecret
		keep := webhooks.WebhookRotateSecretParams{KeepOldSecretActiveFor24Hours: openai.Bool(true)}
		rotated := must(client.Webhooks.RotateSecret(ctx, id, keep))
		equal(rotated.ID, id)
		assert(rotated.SigningSecret != old, "the secret is the same")
		// While both are good, what is sent can be read with either.
		for _, told := range test() {
			must(unwrap(told, old))
			must(unwrap(told, rotated.SigningSecret))
		}
		newest := must(client.Webhooks.RotateSecret(ctx, id, webhooks.WebhookRotateSecretParams{}))
		for _, told := range test() {
			must(unwrap(told, newest.SigningSecret))
			_, err := unwrap(told, old)
			assert(err != nil, "the old secret is still good")
		}
	})
}

func test() []delivery {
	before := len(deliveries())
	result := must(client.Webhooks.Test(ctx, endpoint().ID, webhooks.WebhookTestParams{EventType: "video.completed"}))
	equal(
		[]any{string(result.Object), result.EventType, result.StatusCode, result.Success, result.WebhookEndpointID},
		[]any{"webhook_endpoint.test", "video.completed", int64(200), true, endpoint().ID},
	)
	fresh := deliveries()[before:]
	assert(len(fresh) > 0, "nothing came")
	return fresh
}
