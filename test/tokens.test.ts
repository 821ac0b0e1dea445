import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { loadConfig } from '../src/config.ts'
import { startService } from './service.ts'

const yaml = `
models:
  short: { account: studio, seconds: { values: [1, 2] } }
aliases: { sora-2: studio }
tokens:
  - { name: anna, secret: anna secret, models: [studio] }
  - { name: ben, secret: ben-secret, models: ["sh*"] }
  - { name: nobody, secret: nobody-secret, models: [] }
`
const as = (secret: string) => ({ authorization: `Bearer ${secret}` })
const film = { prompt: 'x', seconds: '1', size: '256x256' }

it('each token lists, uses and sees its own models and videos only', async () => {
  await using service = await startService({ yaml })
  const list = async (secret: string) => {
    const answer = await service.fetch('/v1/models', { headers: as(secret) })
    return ((await answer.json()) as { data: { id: string }[] }).data.map(({ id }) => id)
  }
  assert.deepEqual(await list('anna secret'), ['studio', 'sora-2'])
  assert.deepEqual(await list('ben-secret'), ['short'])
  assert.deepEqual(await list('nobody-secret'), [])

  const submit = async (secret: string, model: string) => {
    const answer = await service.submit({ ...film, model }, as(secret))
    return { status: answer.status, body: (await answer.json()) as { id: string; error?: { code: string } } }
  }
  assert.equal((await submit('anna secret', 'short')).body.error?.code, 'model_not_found')
  assert.equal((await submit('ben-secret', 'studio')).body.error?.code, 'model_not_found')
  assert.equal((await submit('nobody-secret', 'short')).status, 404)
  assert.equal((await service.fetch('/v1/models/short', { headers: as('anna secret') })).status, 404)
  assert.equal((await service.fetch('/v1/models/short', { headers: as('ben-secret') })).status, 200)
  assert.equal((await submit('anna secret', 'sora-2')).status, 200)

  const { id } = (await submit('ben-secret', 'short')).body
  const unknown = id.replace(/.$/, (last) => (last === '0' ? '1' : '0'))
  for (const path of ['', '/content']) {
    const [foreign, absent] = await Promise.all(
      [id, unknown].map((which) => service.fetch(`/v1/videos/${which}${path}`, { headers: as('anna secret') })),
    )
    assert.equal(foreign?.status, 404)
    assert.equal((await foreign?.text())?.replace(id, 'ID'), (await absent?.text())?.replace(unknown, 'ID'))
  }
  assert.equal((await service.fetch(`/v1/videos/${id}`, { headers: as('ben-secret') })).status, 200)
})

it('a model that does not exist and one that this token may not use get the same response', async () => {
  await using service = await startService({ yaml })
  const body = async (model: string) => (await service.submit({ ...film, model }, as('anna secret'))).text()
  assert.equal((await body('short')).replace('short', 'X'), (await body('shore')).replace('shore', 'X'))
})

it('an operator can set a default model, and then none need be named', async () => {
  await using service = await startService({ yaml: 'default_model: studio' })
  const answer = await service.submit(film)
  assert.deepEqual([answer.status, ((await answer.json()) as { model: string }).model], [200, 'studio'])
})

it('a secret that a client puts into a URL is not in the log', async () => {
  await using service = await startService({ yaml })
  const { id } = (await (await service.submit({ ...film, model: 'studio' })).json()) as { id: string }
  await service.finish(id)
  rmSync(join(service.data, 'bucket'), { recursive: true })
  // A video whose bytes are missing is an internal error, and the log has the URL of the request.
  assert.equal((await service.fetch(`/v1/videos/${id}/content?key=ben-secret`)).status, 500)
  const line = service.log.find((text) => text.includes('request failed')) ?? ''
  assert.match(line, /key=\[redacted\]/)
})

it('an alias of the command line or of its variable is as good as one of the file, and is shown as what it is', async () => {
  await using service = await startService({ env: { FILMGATE_ALIASES: 'sora-2=studio, acme/film=studio' } })
  const video = (await (await service.submit({ ...film, model: 'acme/film' })).json()) as { model: string }
  assert.equal(video.model, 'acme/film')
  const shown = (await (await service.fetch('/v1/models/sora-2')).json()) as { id: string; alias_of: string }
  assert.deepEqual([shown.id, shown.alias_of], ['sora-2', 'studio'])
  const load = (alias: string) => loadConfig({ flags: { alias }, env: {} }).catalog.entries
  assert.equal(load('a=studio,b=studio').get('b')?.card.id, 'studio')
  for (const [alias, message] of [
    ['sora-2', /--alias: 'sora-2' can't be used; write alias=model/],
    ['a=b=c', /write alias=model/],
    ['a=nothing', /--alias: there is no model 'nothing'; use one of: studio/],
    ['studio=studio', /--alias: a model has this name already/],
  ] as const)
    assert.throws(() => load(alias), { message })
})

it('an alias opens no model to a token whose patterns only fit its name', async () => {
  const tokens = [
    { name: 'a', secret: 'pattern', models: ['so*'] },
    { name: 'b', secret: 'named', models: ['sora-2'] },
  ]
  await using service = await startService({ yaml: JSON.stringify({ aliases: { 'sora-2': 'studio' }, tokens }) })
  const statusOf = async (secret: string) => (await service.submit({ ...film, model: 'sora-2' }, as(secret))).status
  assert.deepEqual([await statusOf('pattern'), await statusOf('named')], [404, 200])
})

it('an unknown model gets the closest ones that the token may use, and for Sora the flag', async () => {
  await using service = await startService({ yaml })
  const messageOf = async (model: string, secret: string) => {
    const answer = await service.submit({ ...film, model }, as(secret))
    assert.equal(answer.status, 404)
    return ((await answer.json()) as { error: { message: string } }).error.message
  }
  assert.match(await messageOf('studoi', 'anna secret'), /The closest models are: studio\. GET \/v1\/models/)
  assert.match(await messageOf('sora-2-pro', 'anna secret'), /--alias sora-2-pro=MODEL\.$/)
  for (const model of ['openai/sora-2-pro', 'Sora', 'sora-2-2025-12-08'])
    assert.match(await messageOf(model, 'anna secret'), /The closest|--alias/, model)
  assert.match(await messageOf('azure/studio-v1-preview', 'anna secret'), /The closest models are: studio\. /)
  assert.match(await messageOf('shrot', 'ben-secret'), /The closest models are: short\. /)
  assert.doesNotMatch(await messageOf('gpt-4', 'anna secret'), /closest|alias/)
  assert.doesNotMatch(await messageOf('sora-2', 'nobody-secret'), /closest|alias/)
})
