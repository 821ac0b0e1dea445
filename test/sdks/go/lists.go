package main

import (
	"maps"
	"slices"

	"github.com/openai/openai-go/v3"
)

func checkLists() {
	check("videos.list, oldest first", func() {
		checkList(openai.VideoListParamsOrderAsc, slices.Sorted(maps.Keys(made)))
	})
	check("videos.list, newest first", func() {
		ids := slices.Sorted(maps.Keys(made))
		slices.Reverse(ids)
		checkList(openai.VideoListParamsOrderDesc, ids)
	})
	checkDelete()
}

func checkList(order openai.VideoListParamsOrder, ids []string) {
	assert(len(ids) > 4, "%v", ids)
	params := openai.VideoListParams{Limit: openai.Int(2), Order: order}
	var paged []string
	for page := must(client.Videos.List(ctx, params)); page != nil; page = must(page.GetNextPage()) {
		assert(len(page.Data) == min(2, len(ids)-len(paged)), "a page has %d videos", len(page.Data))
		for _, video := range page.Data {
			paged = append(paged, video.ID)
		}
	}
	equal(paged, ids)
	var all []string
	pager := client.Videos.ListAutoPaging(ctx, params)
	for pager.Next() {
		all = append(all, pager.Current().ID)
	}
	must(0, pager.Err())
	equal(all, ids)
}
