import assert from 'node:assert/strict'
import { it } from 'node:test'
import { loadConfig } from '../src/config.ts'
import { startService } from './service.ts'

const film = { model: 'studio', prompt: 'x', seconds: '1', size: '256x256' }
const yaml = `
tokens:
  - { name: lax, secret: lax, unknown_parameters: warn }
  - { name: strict, secret: strict, unknown_parameters: refuse }
  - { name: plain, secret: plain }
`
const as = (secret: string) => ({ authorization: `Bearer ${secret}` })

interface Video {
  id: string
  warnings?: string[]
  metadata?: unknown
  error?: { code: string; param: string; message: string }
}

it('a token that is only warned has unknown parameters left out and named, and no other errors', async () => {
  await using service = await startService({ yaml })
  const unknown = { sead: 7, camera: { pan: 1 }, 'naïve ☃': '', naïve: 1, metadata: { duration: 9, job: 'a' } }
  const answer = await service.submit({ ...film, ...unknown }, as('lax'))
  assert.equal(answer.headers.get('x-filmgate-ignored'), 'sead, camera, na%C3%AFve, metadata.duration')
  const video = (await answer.json()) as Video
  const warnings = ['sead', 'camera', 'naïve', 'metadata.duration'].map(
    (name) => `\`${name}\` is not a parameter of studio and was ignored.`,
  )
  assert.deepEqual([video.warnings, video.metadata], [warnings, { job: 'a' }])
  for (;;) {
    const polled = await service.fetch(`/v1/videos/${video.id}?wait=20`, { headers: as('lax') })
    const { status, ...rest } = (await polled.json()) as Video & { status: string }
    assert.deepEqual(rest.warnings, warnings, status)
    if (status === 'completed') break
  }
  const wrong = await service.submit({ ...film, sead: 7, seconds: '99' }, as('lax'))
  assert.equal(wrong.status, 400)
  const many = Object.fromEntries(Array.from({ length: 33 }, (_, at) => [`odd${at}`, at]))
  assert.equal((await service.submit({ ...film, ...many }, as('lax'))).status, 400)
})

it('a repeat gets the warnings of the first response', async () => {
  await using service = await startService({ yaml })
  const key = { ...as('lax'), 'idempotency-key': 'one' }
  const first = await (await service.submit({ ...film, odd: 1 }, key)).text()
  const { id } = JSON.parse(first) as Video
  await service.fetch(`/v1/videos/${id}?wait=20`, { headers: as('lax') })
  assert.equal(await (await service.submit({ ...film, odd: 1 }, key)).text(), first)
  assert.equal((await service.submit({ ...film, another: 1 }, key)).status, 422)
})

it('a misspelt name gets the nearest one, also of those that other clients send', async () => {
  await using service = await startService({ yaml })
  for (const [slip, expected] of [
    ['durration', / Did you mean 'duration'\?/],
    ['Duration', / Did you mean 'duration'\?/],
    ['frist_frame', / Did you mean 'first_frame'\?/],
    ['sead', / Did you mean 'seed'\?/],
    ['style', /^Unknown parameter: 'style'\. Model/],
  ] as const) {
    const { error } = (await (await service.submit({ ...film, [slip]: 'x' }, as('strict'))).json()) as Video
    assert.match(error?.message ?? '', expected)
  }
})

it('the header that names them has an end, and names each of them apart', async () => {
  await using service = await startService({ yaml })
  const long = Object.fromEntries(Array.from({ length: 32 }, (_, at) => [`${'漢'.repeat(90)}${at}`, at]))
  const answer = await service.submit({ ...film, ...long }, as('lax'))
  assert.equal(((await answer.json()) as Video).warnings?.length, 32)
  assert.match(answer.headers.get('x-filmgate-ignored') ?? '', /^[%\w, ]{1,1000}, \.\.\.$/)
  const two = await service.submit({ ...film, 'a, b': 1, c: 2 }, as('lax'))
  assert.equal(two.headers.get('x-filmgate-ignored'), 'a%2C%20b, c')
})

it('the service decides for tokens that say nothing', async () => {
  const refuses = async (env: Record<string, string>, secret: string) => {
    await using service = await startService({ yaml, env })
    return (await service.submit({ ...film, sead: 7 }, as(secret))).status === 400
  }
  assert.deepEqual([await refuses({}, 'plain'), await refuses({}, 'strict')], [true, true])
  const env = { FILMGATE_UNKNOWN_PARAMETERS: 'warn' }
  assert.deepEqual([await refuses(env, 'plain'), await refuses(env, 'strict')], [false, true])
  const mistaken = { flags: {}, env: { FILMGATE_UNKNOWN_PARAMETERS: 'ignore' } }
  assert.throws(() => loadConfig(mistaken), /FILMGATE_UNKNOWN_PARAMETERS.*use refuse or warn/s)
})
