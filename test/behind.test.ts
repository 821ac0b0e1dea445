import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openaiWire } from '../simulators/openai.ts'
import { startUpstream } from '../simulators/upstream.ts'
import { picture } from '../src/providers/contract.ts'
import { startService, type TestService, token, until } from './service.ts'

/* Filmgate behind Filmgate, and engines that are configured by their address alone. */

interface Listed {
  data: { id: string; owned_by?: string; status?: string; parameters?: object; facts?: object }[]
}

const get = async <Answer>(service: TestService, path: string) => (await (await service.fetch(path)).json()) as Answer

const before = (url: string) =>
  JSON.stringify({
    accounts: { studio: { enabled: false } },
    engines: [{ url, name: 'inner', key: token, concurrency: 4 }],
  })

it('a second Filmgate is an engine: its models, their rules, images, progress and the very bytes', async () => {
  await using inner = await startService()
  await using outer = await startService({ yaml: before(inner.url) })
  const [model] = (await get<Listed>(outer, '/v1/models')).data
  const [original] = (await get<Listed>(inner, '/v1/models')).data
  assert.ok(original?.facts, 'the price of the inner one is not the price of the outer one')
  // A derived video is generated where its source is, and not here.
  const { facts: _, ...rules } = { ...original, created: 0, owned_by: 'inner', makes: [] }
  assert.deepEqual({ ...model, created: 0 }, rules)

  const bytes = `data:image/png;base64,${picture.bytes.toString('base64')}`
  const size = '640x360'
  const response = await outer.submit({
    model: 'studio',
    prompt: 'a red fox',
    seconds: '2',
    size,
    seed: 7,
    image: bytes,
  })
  const { id } = (await response.json()) as { id: string }
  const seen: number[] = []
  await until('it ends', async () => {
    const video = await get<{ status: string; progress: number }>(outer, `/v1/videos/${id}`)
    seen.push(video.progress)
    assert.notEqual(video.status, 'failed', JSON.stringify(video))
    return video.status === 'completed'
  })
  assert.ok(new Set(seen).size > 2, `it said how far it was: ${seen}`)
  const [made] = (await get<Listed>(inner, '/v1/videos')).data
  const contents = [outer.fetch(`/v1/videos/${id}/content`), inner.fetch(`/v1/videos/${made?.id}/content`)]
  const [ours, theirs] = await Promise.all(
    contents.map(async (content) => Buffer.from(await (await content).arrayBuffer())),
  )
  assert.ok(ours && theirs?.equals(ours))
  assert.equal((await outer.submit({ model: 'studio', prompt: 'x', seconds: '99' })).status, 400)
  assert.equal((await outer.submit({ model: 'studio', prompt: 'x', steps: 9 })).status, 400)
})

it('what is deleted before it is finished is asked to be stopped at the engine', async () => {
  await using inner = await startService()
  await using outer = await startService({ yaml: before(inner.url) })
  const response = await outer.submit({ model: 'studio', prompt: 'a long film', seconds: '20', size: '1920x1080' })
  const { id } = (await response.json()) as { id: string }
  const there = async () => (await get<Listed>(inner, '/v1/videos')).data
  await until('the engine has it', async () => (await there()).length === 1)
  await outer.fetch(`/v1/videos/${id}`, { method: 'DELETE' })
  await until('the engine has let go of it', async () => (await there()).length === 0)
})

it('an engine that is started later is found, and two that have a model share its work', async () => {
  const first = await startUpstream({ wire: openaiWire('vllm-omni'), speed: 0 })
  await using second = await startUpstream({ wire: openaiWire('sglang'), speed: 0 })
  const { port } = first
  await first[Symbol.asyncDispose]()
  const engines = [{ url: `http://127.0.0.1:${port}` }, { url: second.url }]
  await using service = await startService({ yaml: JSON.stringify({ engines }) })
  const names = async () => (await get<Listed>(service, '/v1/models')).data.map(({ id }) => id)
  assert.deepEqual(await names(), ['studio', 'film'])
  await using late = await startUpstream({ wire: openaiWire('vllm-omni'), speed: 0, port })
  await until(
    'both are used',
    async () => {
      const response = await service.submit({ model: 'film', prompt: 'a pond', size: '832x480' })
      assert.equal(response.status, 200)
      return late.ledger().accepts.length > 0 && second.ledger().accepts.length > 0
    },
    200,
  )
})

it('the models of an engine are known after a restart, even if the engine is down', async () => {
  const engine = await startUpstream({ wire: openaiWire('vllm-omni'), speed: 0 })
  const yaml = JSON.stringify({ engines: [{ url: engine.url, name: 'gpu' }] })
  await using service = await startService({ yaml })
  const { port } = engine
  await engine[Symbol.asyncDispose]()
  await service.restart()
  const response = await service.submit({ model: 'film', prompt: 'a pond', size: '832x480' })
  assert.equal(response.status, 200, 'it is taken')
  const { id } = (await response.json()) as { id: string }
  await using again = await startUpstream({ wire: openaiWire('vllm-omni'), speed: 0, port })
  assert.equal((await service.finish(id)).status, 'completed')
  assert.equal(again.ledger().accepts.length, 1)
})
