import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { OpenAI } from 'openai-7.53'
import { startService, token } from './service.ts'

const film = { model: 'studio', prompt: 'x', seconds: '1', size: '256x256' } as const
type Page = {
  data: { id: string }[]
  first_id: string | null
  last_id: string | null
  has_more: boolean
  object: string
}

it("lists a token's own videos, newest first, page by page, as the SDK reads them", async () => {
  await using service = await startService({ yaml: 'tokens: [{ name: other, secret: other }]' })
  const openai = new OpenAI({ apiKey: token, baseURL: `${service.url}/v1`, maxRetries: 0 })
  const made: string[] = []
  for (let count = 0; count < 5; count += 1) made.unshift((await openai.videos.create({ ...film } as never)).id)
  await service.submit(film, { authorization: 'Bearer other' })

  const ids: string[] = []
  for await (const video of openai.videos.list({ limit: 2 })) ids.push(video.id)
  assert.deepEqual(ids, made)
  const list = async (query: string) => (await (await service.fetch(`/v1/videos${query}`)).json()) as Page
  const all = await list('')
  assert.deepEqual([all.object, all.first_id, all.last_id, all.has_more], ['list', made[0], made[4], false])
  const page = await list(`?order=asc&limit=2&after=${made[3]}`)
  assert.deepEqual([page.data.map(({ id }) => id), page.has_more], [[made[2], made[1]], true])
  assert.deepEqual(await list('?limit=0'), { object: 'list', data: [], first_id: null, last_id: null, has_more: true })
  assert.deepEqual((await list('?after=video_zzz&order=asc')).data, [])
  assert.equal((await list('?after=')).data.length, 5)
  assert.equal((await service.fetch('/v1/videos/%00', { method: 'DELETE' })).status, 404)
  assert.deepEqual((await list('?model=studio&status=failed')).data, [])
  assert.equal((await list('?model=studio&limit=3')).has_more, true)
  assert.deepEqual((await list('?model=nobody')).data, [])
  for (const [query, param] of [
    ['status=done', 'status'],
    ['model=%00', 'model'],
    ['limit=101', 'limit'],
    ['limit=-1', 'limit'],
    ['limit=x', 'limit'],
    ['order=up', 'order'],
    ['after=%00', 'after'],
  ]) {
    const answer = await service.fetch(`/v1/videos?${query}`)
    assert.deepEqual([answer.status, ((await answer.json()) as { error: { param: string } }).error.param], [400, param])
  }
})

it('a deleted video is gone for its owner at once, in any state, and its bytes and work soon after', async () => {
  await using service = await startService()
  const openai = new OpenAI({ apiKey: token, baseURL: `${service.url}/v1`, maxRetries: 0 })
  const create = (seconds: string) => openai.videos.create({ ...film, seconds } as never)
  const done = await create('1')
  await service.finish(done.id)
  const running = await create('20')
  while ((await openai.videos.retrieve(running.id)).status === 'queued')
    await new Promise((resolve) => setTimeout(resolve, 20))
  for (const { id } of [done, running, await create('20'), await create('20')]) {
    assert.deepEqual({ ...(await openai.videos.delete(id)) }, { id, object: 'video.deleted', deleted: true })
    await assert.rejects(openai.videos.retrieve(id), { status: 404 })
    await assert.rejects(openai.videos.downloadContent(id), { status: 404 })
    await assert.rejects(openai.videos.delete(id), { status: 404, code: 'video_not_found' })
  }
  const left = () =>
    ['bucket', 'accounts']
      .flatMap((folder) => readdirSync(join(service.data, folder), { recursive: true }).map(String))
      .filter((name) => /video_|att_/.test(name))
  while (left().length > 0) await new Promise((resolve) => setTimeout(resolve, 20))
  assert.equal((await service.finish((await create('1')).id)).status, 'completed')
})

it('a model takes its own parameters and says which', async () => {
  await using service = await startService()
  const model = (await (await service.fetch('/v1/models/studio')).json()) as { parameters: object }
  assert.deepEqual(Object.keys(model.parameters), ['seed', 'caption'])
  const bytes = async (fields: object) => {
    const { id } = (await (await service.submit({ ...film, ...fields })).json()) as { id: string }
    await service.finish(id)
    return Buffer.from(await (await service.fetch(`/v1/videos/${id}/content`)).arrayBuffer())
  }
  const [first, again, other, plain] = await Promise.all([
    bytes({ seed: 1 }),
    bytes({ seed: 1 }),
    bytes({ seed: 2 }),
    bytes({ seed: 1, caption: false }),
  ])
  assert.ok(first.equals(again))
  assert.ok(!first.equals(other) && !first.equals(plain))
  const form = new FormData()
  for (const [name, value] of Object.entries({ ...film, seed: '1', caption: 'false' })) form.append(name, value)
  assert.equal((await service.fetch('/v1/videos', { method: 'POST', body: form })).status, 200)
  assert.equal((await service.submit({ ...film, seed: 'one' })).status, 400)
})
