import assert from 'node:assert/strict'
import { it } from 'node:test'
import { loadConfig } from '../src/config.ts'
import { startService } from './service.ts'

const origin = 'https://app.example'
const preflight = {
  method: 'OPTIONS',
  headers: {
    ...{ authorization: '', origin, 'access-control-request-method': 'POST' },
    'access-control-request-headers': 'authorization, content-type, x-stainless-lang',
  },
}
const named = ({ headers }: Response, name: string) => headers.get(`access-control-${name}`)

it('is off unless the operator names an origin', async () => {
  await using service = await startService()
  for (const answer of [
    await service.fetch('/v1/models', { headers: { origin } }),
    await service.fetch('/v1/videos', preflight),
  ])
    assert.ok(![...answer.headers.keys()].some((name) => name.startsWith('access-control-') || name === 'vary'))
})

it('a page of a named origin gets a preflight without a token, and reads answers and errors', async () => {
  await using service = await startService({ env: { FILMGATE_CORS_ORIGINS: `http://localhost:5173, ${origin}` } })
  const allowed = await service.fetch('/v1/videos', preflight)
  assert.deepEqual([allowed.status, named(allowed, 'allow-origin')], [204, origin])
  // It has passed what guards every other request.
  assert.match(allowed.headers.get('x-request-id') ?? '', /^req_/)
  const lead = await service.fetch('/', { headers: { origin, accept: 'text/html' }, redirect: 'manual' })
  assert.deepEqual([lead.status, lead.headers.get('vary')], [302, 'Origin, Accept'])
  assert.deepEqual(
    [named(allowed, 'allow-methods'), named(allowed, 'allow-headers')],
    ['GET, HEAD, POST, DELETE', 'authorization, content-type, x-stainless-lang'],
  )
  const { id } = (await (await service.submit({ model: 'studio', prompt: 'x' }, { origin })).json()) as { id: string }
  const paths = ['/v1/models', `/v1/videos/${id}`, '/v1/videos/nothing', '/v1/nothing', `/v1/videos/${id}/events`]
  for (const path of paths) {
    const leave = new AbortController()
    const answer = await service.fetch(path, { headers: { origin }, signal: leave.signal })
    assert.deepEqual([named(answer, 'allow-origin'), answer.headers.get('vary')], [origin, 'Origin'], path)
    assert.match(named(answer, 'expose-headers') ?? '', /x-request-id, .*x-filmgate-ignored/)
    assert.equal(named(answer, 'allow-credentials'), null)
    leave.abort()
  }
  const stranger = await service.fetch('/v1/models', { headers: { origin: 'https://other.example' } })
  assert.deepEqual(
    [stranger.status, named(stranger, 'allow-origin'), stranger.headers.get('vary')],
    [200, null, 'Origin'],
  )
  const refused = await service.fetch('/v1/videos', {
    ...preflight,
    headers: { ...preflight.headers, origin: 'https://app.example.evil' },
  })
  assert.deepEqual([refused.status, named(refused, 'allow-origin')], [405, null])
})

it('any origin may be allowed, and what is no origin is a mistake', async () => {
  await using service = await startService({ env: { FILMGATE_CORS_ORIGINS: '*' } })
  const answer = await service.fetch('/v1/models', { headers: { origin: 'null' } })
  assert.deepEqual([named(answer, 'allow-origin'), named(answer, 'allow-credentials')], ['*', null])
  for (const text of ['app.example', 'https://app.example/', 'https://app.example/x', 'ftp://a', 'https://*.example'])
    assert.throws(() => loadConfig({ flags: {}, env: { FILMGATE_CORS_ORIGINS: text } }), /use origins such as/, text)
})
