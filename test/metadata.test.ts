import assert from 'node:assert/strict'
import { it } from 'node:test'
import { startService } from './service.ts'

const film = { model: 'studio', prompt: 'x', seconds: '1', size: '256x256' }
const metadata = { project: 'snow', take: 3, final: false }

interface Video {
  id: string
  metadata?: unknown
  error?: { code: string }
}

it('metadata is returned with the video wherever the video is, and its parameters are not', async () => {
  await using service = await startService()
  const read = async (path: string, headers = {}) => (await service.fetch(path, { headers })).json() as Promise<Video>
  const submitted = (await (await service.submit({ ...film, metadata: { ...metadata, seed: 7 } })).json()) as Video
  assert.deepEqual(submitted.metadata, metadata)
  const { id } = submitted
  assert.deepEqual((await service.finish(id)).metadata, metadata)
  assert.deepEqual((await read(`/v1/videos/${id}`)).metadata, metadata)
  const { data } = (await read('/v1/videos')) as unknown as { data: Video[] }
  assert.deepEqual(data[0]?.metadata, metadata)
  const events = await (await service.fetch(`/v1/videos/${id}/events`)).text()
  assert.match(events, /"metadata":\{"project":"snow","take":3,"final":false\}/)
  await service.restart()
  assert.deepEqual((await read(`/v1/videos/${id}`)).metadata, metadata)
})

it('a video without metadata has none, or null for SDKs', async () => {
  await using service = await startService()
  assert.ok(!('metadata' in ((await (await service.submit(film)).json()) as Video)))
  const forSdk = await service.submit({ ...film, metadata: {} }, { 'x-stainless-lang': 'js' })
  assert.equal(((await forSdk.json()) as Video).metadata, null)
})

it('other metadata makes another request', async () => {
  await using service = await startService()
  const key = { 'idempotency-key': 'one' }
  const submit = async (fields: object) => (await (await service.submit({ ...film, ...fields }, key)).json()) as Video
  const first = await submit({ metadata })
  const reordered = { final: false, take: 3, project: 'snow' }
  assert.equal((await submit({ metadata: reordered })).id, first.id)
  assert.equal((await submit({ metadata: { ...metadata, take: 4 } })).error?.code, 'idempotency_key_reused')
  assert.equal((await submit({})).error?.code, 'idempotency_key_reused')
})

it('a number that JSON can not give back is refused', async () => {
  await using service = await startService()
  const answer = await service.submit(`{"model":"studio","prompt":"x","metadata":{"a":1e400}}`)
  assert.deepEqual([answer.status, ((await answer.json()) as Video).error?.code], [400, 'invalid_value'])
})

it('a derived video keeps its own metadata', async () => {
  await using service = await startService()
  const { id } = (await (await service.submit({ ...film, metadata })).json()) as Video
  await service.finish(id)
  const headers = { 'content-type': 'application/json' }
  const remix = async (fields: object) => {
    const body = JSON.stringify({ prompt: 'y', ...fields })
    return (await (await service.fetch(`/v1/videos/${id}/remix`, { method: 'POST', headers, body })).json()) as Video
  }
  assert.deepEqual((await remix({ metadata: { take: 4 } })).metadata, { take: 4 })
  assert.ok(!('metadata' in (await remix({}))))
})

it('metadata that is a file is refused as such, and an empty file is none', async () => {
  await using service = await startService()
  const { id } = (await (await service.submit(film)).json()) as Video
  await service.finish(id)
  const send = (path: string, text: string) => {
    const form = new FormData()
    for (const [name, value] of Object.entries(path === '/v1/videos' ? film : { prompt: 'x' })) form.append(name, value)
    form.append('metadata', new File([text], 'm.txt', { type: 'text/plain' }))
    return service.fetch(path, { method: 'POST', body: form })
  }
  for (const path of ['/v1/videos', `/v1/videos/${id}/remix`]) {
    const { error } = (await (await send(path, 'a')).json()) as { error?: { param: string; message: string } }
    assert.equal(error?.param, 'metadata', path)
    assert.match(error?.message ?? '', /^'metadata' is a file\./)
    assert.equal((await send(path, '')).status, 200, path)
  }
})
