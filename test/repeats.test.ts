import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import OpenAI from 'openai-7.53'
import { Problem } from '../src/core/problem.ts'
import { providers } from '../src/providers/index.ts'
import { startService, token } from './service.ts'

const service = await startService({ yaml: 'accounts: { studio: { concurrency: 1 } }' })
after(() => service[Symbol.asyncDispose]())
const film = { model: 'studio', seconds: '1', size: '256x256' } as const

it('a hundred calls at once for the same film are a hundred tasks', async () => {
  const client = new OpenAI({ apiKey: token, baseURL: `${service.url}/v1` })
  const made = await Promise.all(
    Array.from({ length: 100 }, () => client.videos.create({ ...film, prompt: 'twins' } as never)),
  )
  assert.equal(new Set(made.map(({ id }) => id)).size, 100)
})

it('a repeat that comes while the first try is still being looked at waits for it', async () => {
  const body = { ...film, prompt: 'in a hurry' }
  const [first, second] = await Promise.all([
    service.submit(body),
    service.submit(body, { 'x-stainless-retry-count': '1' }),
  ])
  const [one, other] = [await first.json(), await second.json()] as { id: string }[]
  assert.equal(one?.id, other?.id)
})

it('what another token asked for, or what differs in anything, is no repeat', async () => {
  const submit = async (body: object, headers: Record<string, string> = {}) =>
    ((await (await service.submit({ ...film, prompt: 'mine', ...body }, headers)).json()) as { id: string }).id
  const repeat = { 'x-stainless-retry-count': '2' }
  const first = await submit({})
  assert.equal(await submit({}, repeat), first)
  for (const other of [{ seconds: '2' }, { seed: 1 }, { caption: false }, { size: '256x258' }])
    assert.notEqual(await submit(other, repeat), first, JSON.stringify(other))
})

it('a repeat is known by its count also if a proxy doubled the header', async () => {
  const submit = async (headers: Record<string, string> = {}) =>
    ((await (await service.submit({ ...film, prompt: 'doubled' }, headers)).json()) as { id: string }).id
  const first = await submit()
  assert.equal(await submit({ 'x-stainless-retry-count': '1, 1' }), first)
  assert.notEqual(await submit({ 'x-stainless-retry-count': '0, 0' }), first)
})

it('a repeat is checked like any other request', async () => {
  const body = { ...film, prompt: 'checked' }
  const repeat = { 'x-stainless-retry-count': '1' }
  assert.equal((await service.submit(body)).status, 200)
  for (const field of ['start_within', 'finish_within']) {
    const answer = await service.submit({ ...body, [field]: 'banana' }, repeat)
    const { error } = (await answer.json()) as { error?: { param: string } }
    assert.deepEqual([answer.status, error?.param], [400, field])
  }
  assert.equal((await service.submit({ ...body, start_within: 60 }, repeat)).status, 200)
})

it('a repeat of a call whose video failed meanwhile gets the lost response, and a poll has the error', async () => {
  const { studio } = providers
  assert.ok(studio)
  const refused = { problem: new Problem('content_policy', 'no'), blame: 'request' } as const
  const create = async (...setting: Parameters<typeof studio.create>) => ({
    ...(await studio.create(...setting)),
    submit: async () => ({ refused }),
  })
  await using strict = await startService({ members: { studio: { ...studio, create } } })
  const body = { ...film, prompt: 'refused' }
  const lost = (await (await strict.submit(body)).json()) as { id: string }
  assert.equal((await strict.finish(lost.id)).status, 'failed')
  const repeated = await strict.submit(body, { 'x-stainless-retry-count': '1' })
  assert.deepEqual(await repeated.json(), lost)
  assert.equal((await strict.finish(lost.id)).status, 'failed')
})
