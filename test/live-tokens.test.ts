import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { after, before, it } from 'node:test'
import { jumpingClock, operatorToken, startService, type TestService } from './service.ts'

/* Tokens that operators create, change and revoke while the service runs, over HTTP. tokens-cli.test.ts has the commands. */

const film = { model: 'studio', prompt: 'a red fox', seconds: '1', size: '256x256' }
const yaml = `
tokens:
  - { name: team-a, secret: a-secret-of-team-a }
`
const clock = jumpingClock()
let service: TestService

before(async () => {
  service = await startService({ yaml, env: { FILMGATE_OPERATOR_TOKEN: operatorToken }, world: { clock } })
})
after(async () => {
  await service[Symbol.asyncDispose]()
})

const as = (secret: string) => ({ authorization: `Bearer ${secret}` })

interface Shown {
  id: string
  secret: string
  name: string
  status: string
  source: string
  owner: string
  old_secret_until: string | null
  error: { code: string; message: string; param: string | null }
  [field: string]: unknown
}

async function call(path: string, body?: unknown, secret = operatorToken) {
  const json = { method: 'POST', body: JSON.stringify(body ?? {}) }
  const headers = { ...as(secret), ...(body !== undefined && { 'content-type': 'application/json' }) }
  const answer = await service.fetch(`/operator/v1${path}`, { headers, ...(body !== undefined && json) })
  return {
    status: answer.status,
    body: (await answer.json()) as Shown & { data: Shown[]; has_more: boolean; last_id: string },
  }
}

let count = 0
async function create(fields: object = {}): Promise<Shown> {
  const { status, body } = await call('/tokens', { name: `token ${count++}`, ...fields })
  assert.equal(status, 200, JSON.stringify(body))
  return body
}

async function read(secret: string, path = '/v1/videos', headers: Record<string, string> = {}) {
  const answer = await service.fetch(path, { headers: { ...as(secret), ...headers } })
  return { status: answer.status, headers: answer.headers, text: await answer.text() }
}

async function submit(secret: string, fields: object = {}) {
  const answer = await service.submit({ ...film, ...fields }, as(secret))
  return { status: answer.status, body: (await answer.json()) as { id: string; error: { code: string } } }
}

it('a token is valid as soon as it is created, and its secret is shown once', async () => {
  const made = await create({ metadata: { team: 'film' }, rate: 7 })
  assert.match(made.secret, new RegExp(`^fg_${made.id.replace('tok_', '')}_[0-9A-Za-z]{28}$`))
  assert.deepEqual([made.status, made.source, made.owner], ['active', 'store', made.id])
  const { headers, status } = await read(made.secret)
  assert.deepEqual([status, headers.get('x-ratelimit-limit-requests')], [200, '7'])
  const { used, ...body } = (await call(`/tokens/${made.id}`)).body
  const { secret: _, ...shown } = made
  assert.deepEqual([body, used], [shown, { queued: 0, more_queued: false, stored_bytes: 0, spend: [] }])
  assert.equal((await submit(made.secret)).status, 200)
})

it('the change of a token is in force at once, and null restores a default', async () => {
  const { id, secret } = await create({ models: ['nothing'], rate: 7 })
  assert.equal((await submit(secret)).status, 404)
  const changed = await call(`/tokens/${id}`, { models: ['stud*'], rate: null, name: 'another name' })
  assert.deepEqual([changed.status, changed.body.rate, changed.body.name], [200, null, 'another name'])
  assert.equal((await submit(secret)).status, 200)
  assert.equal((await read(secret)).headers.get('x-ratelimit-limit-requests'), '6000')
  await call(`/tokens/${id}`, { enabled: false })
  const disabled = await read(secret)
  assert.equal(disabled.status, 401)
  assert.match(disabled.text, /This token is disabled/)
  await call(`/tokens/${id}`, { enabled: true })
  assert.equal((await read(secret)).status, 200)
})

it('a token is refused after it expired, and says so', async () => {
  const { id, secret } = await create({ expires_at: new Date(clock.now() + 60_000).toISOString() })
  assert.equal((await read(secret)).status, 200)
  clock.jump(60_000)
  const expired = await read(secret)
  assert.equal(expired.status, 401)
  assert.match(expired.text, /This token has expired/)
  assert.equal((await call(`/tokens/${id}`)).body.status, 'expired')
  await call(`/tokens/${id}`, { expires_at: null })
  assert.equal((await read(secret)).status, 200)
})

it('a revoked token opens nothing, can not be restored, and its name is free again', async () => {
  const { id, secret } = await create({ name: 'ben' })
  assert.equal((await call('/tokens', { name: 'ben' })).status, 400)
  const revoked = await call(`/tokens/${id}/revoke`, {})
  assert.deepEqual([revoked.status, revoked.body.status], [200, 'revoked'])
  const refused = await read(secret)
  assert.equal(refused.status, 401)
  assert.match(refused.text, /This token was revoked/)
  assert.deepEqual((await call(`/tokens/${id}/revoke`, {})).body, revoked.body)
  for (const [path, body] of [
    ['', { enabled: true }],
    ['/rotate', {}],
  ] as const) {
    const answer = await call(`/tokens/${id}${path}`, body)
    assert.deepEqual([answer.status, answer.body.error.code], [400, 'invalid_request'])
  }
  const next = await create({ name: 'ben' })
  assert.notEqual(next.owner, id)
})

it('after a rotation both secrets work for the overlap, then the new one alone, with the same videos', async () => {
  const { id, secret } = await create()
  const video = (await submit(secret)).body.id
  const rotated = await call(`/tokens/${id}/rotate`, { overlap_seconds: 60 })
  assert.equal(rotated.status, 200)
  assert.ok(rotated.body.old_secret_until)
  for (const one of [secret, rotated.body.secret]) assert.equal((await read(one, `/v1/videos/${video}`)).status, 200)
  clock.jump(60_000)
  const old = await read(secret)
  assert.equal(old.status, 401)
  assert.match(old.text, /replaced by a newer one/)
  assert.equal((await read(rotated.body.secret, `/v1/videos/${video}`)).status, 200)
  const again = await call(`/tokens/${id}/rotate`, {})
  assert.equal((await read(rotated.body.secret)).status, 401)
  assert.equal((await read(again.body.secret, `/v1/videos/${video}`)).status, 200)
})

it('tokens of a project share its videos, and others get the same 404 as for an id that does not exist', async () => {
  const [a, b, other] = [await create({ project: 'shop' }), await create({ project: 'shop' }), await create()]
  const { id } = (await submit(a.secret)).body
  assert.equal((await read(b.secret, `/v1/videos/${id}`)).status, 200)
  const unknown = id.replace(/.$/, (last) => (last === '0' ? '1' : '0'))
  for (const path of ['', '/content', '/events']) {
    const [foreign, absent] = [id, unknown].map((which) => read(other.secret, `/v1/videos/${which}${path}`))
    const texts = [(await foreign)?.text.replaceAll(id, 'ID'), (await absent)?.text.replaceAll(unknown, 'ID')]
    assert.deepEqual([(await foreign)?.status, texts[0]], [404, texts[1]], path)
  }
  const task = await call(`/tasks/${id}`)
  assert.equal(task.body.owner, 'shop')
})

it('changes of a token at the same time are all made, and it is revoked once by many requests', async () => {
  const { id } = await create({ name: 'busy' })
  const changes = [{ rate: 7 }, { concurrency: 3 }, { queued: 9 }, { project: 'shop' }, { models: ['studio'] }]
  const changed = await Promise.all(changes.map((fields) => call(`/tokens/${id}`, fields)))
  assert.deepEqual(new Set(changed.map(({ status }) => status)), new Set([200]))
  const { body } = await call(`/tokens/${id}`)
  for (const fields of changes) assert.deepEqual({ ...body, ...fields }, body)
  const revoked = await Promise.all(Array.from({ length: 8 }, () => call(`/tokens/${id}/revoke`, {})))
  for (const { status, body: shown } of revoked) assert.deepEqual([status, shown], [200, revoked[0]?.body])
  const entries = (await call('/audit?limit=100')).body.data as unknown as { action: string; target: string }[]
  assert.equal(entries.filter((entry) => entry.target === id && entry.action === 'token.revoke').length, 1)
})

it('the stream of a token ends when the token is revoked, and that of another goes on', async () => {
  const [gone, kept] = [await create({ project: 'streams' }), await create({ project: 'streams' })]
  const over = new AbortController()
  const open = async ({ secret }: Shown) => {
    const { body } = await service.fetch('/v1/videos/events', { headers: as(secret), signal: over.signal })
    assert.ok(body)
    const reader = body.getReader()
    await reader.read()
    return reader
  }
  const [ended, other] = [await open(gone), await open(kept)]
  await call(`/tokens/${gone.id}/revoke`, {})
  while (!(await ended.read()).done);
  await submit(kept.secret)
  // A comment comes first, and the test ends only with the event.
  let text = ''
  while (!text.includes('video.')) text += new TextDecoder().decode((await other.read()).value)
  over.abort()
})

it('the stream of a secret that is replaced ends, also from an address that is no longer allowed', async () => {
  const [replaced, moved] = [await create(), await create()]
  const open = async ({ secret }: Shown) => {
    const { body } = await service.fetch('/v1/videos/events', { headers: as(secret) })
    const reader = body?.getReader()
    await reader?.read()
    return reader
  }
  const streams = [await open(replaced), await open(moved)]
  await call(`/tokens/${replaced.id}/rotate`, {})
  await call(`/tokens/${moved.id}`, { ip_ranges: ['192.0.2.1'] })
  for (const stream of streams) while (!(await stream?.read())?.done);
})

it('a body that ends after its token was revoked creates nothing', async () => {
  const [client, admin] = [await create(), await create({ kind: 'operator' })]
  const send = (path: string, { secret }: Shown, body: object) => {
    const headers = { ...as(secret), 'content-type': 'application/json' }
    const request = httpRequest(`${service.url}${path}`, { method: 'POST', headers })
    const response = once(request, 'response') as Promise<[IncomingMessage]>
    const text = JSON.stringify(body)
    request.write(text.slice(0, -1))
    return {
      async end() {
        request.end(text.slice(-1))
        const [answer] = await response
        answer.resume()
        return answer.statusCode
      },
    }
  }
  const pending = [
    send('/v1/videos', client, film),
    send('/operator/v1/tokens', admin, { name: 'back door', kind: 'operator' }),
  ]
  // The headers have arrived when a later request is answered.
  await read(client.secret)
  for (const { id } of [client, admin]) assert.equal((await call(`/tokens/${id}/revoke`, {})).status, 200)
  for (const { end } of pending) assert.equal(await end(), 401)
  assert.ok(!(await call('/tokens?limit=100')).body.data.some(({ name }) => name === 'back door'))
})

it('a token with ranges is refused from other addresses', async () => {
  const { id, secret } = await create({ ip_ranges: ['192.0.2.0/24'] })
  const refused = await read(secret)
  assert.equal(refused.status, 401)
  assert.match(refused.text, /may not be used from the address 127\.0\.0\.1/)
  await call(`/tokens/${id}`, { ip_ranges: ['192.0.2.0/24', '127.0.0.0/8'] })
  const video = (await submit(secret)).body.id
  // The second poll is answered before the routes.
  for (const _ of ['first', 'second']) assert.equal((await read(secret, `/v1/videos/${video}`)).status, 200)
  await call(`/tokens/${id}`, { ip_ranges: ['::1'] })
  assert.equal((await read(secret, `/v1/videos/${video}`)).status, 401)
})

it('an operator can not lock themselves out by the ranges of their own token', async () => {
  const admin = await create({ name: 'far away', kind: 'operator' })
  const change = async (ranges: string[]) => {
    const headers = { authorization: `Bearer ${admin.secret}`, 'content-type': 'application/json' }
    const init = { method: 'POST', headers, body: JSON.stringify({ ip_ranges: ranges }) }
    const response = await service.fetch(`/operator/v1/tokens/${admin.id}`, init)
    return { status: response.status, text: await response.text() }
  }
  const refused = await change(['192.0.2.0/24'])
  assert.equal(refused.status, 400)
  assert.match(refused.text, /must include the address that you use, 127\.0\.0\.1/)
  assert.equal((await change(['127.0.0.0/8'])).status, 200)
})

it('tokens of the configuration are listed first, and can not be changed here', async () => {
  const { body } = await call('/tokens?limit=100')
  const configured = body.data.filter(({ source }) => source === 'config')
  assert.deepEqual(
    configured.map(({ id, status }) => [id, status]),
    [
      ['config:default', 'active'],
      ['config:operator', 'active'],
      ['config:team-a', 'active'],
    ],
  )
  assert.deepEqual(body.data.slice(0, 3), configured)
  const ids = body.data.slice(3).map(({ id }) => id)
  assert.deepEqual(ids, ids.toSorted().toReversed())
  for (const path of ['', '/rotate', '/revoke']) {
    const { status, body } = await call(`/tokens/config:team-a${path}`, {})
    assert.deepEqual([status, body.error.code], [400, 'invalid_request'])
    assert.match(body.error.message, /Change it there, and restart/)
  }
  const taken = await call('/tokens', { name: 'team-a' })
  assert.deepEqual([taken.status, taken.body.error.param], [400, 'name'])
})

it('the tokens of an owner are those of a project, or the one that is its own project', async () => {
  const { id } = await create({ name: 'alone' })
  const named = await create({ name: 'one of two', project: 'films' })
  for (const [owner, ids] of [
    ['films', [named.id]],
    [id, [id]],
    ['team-a', ['config:team-a']],
    ['operator', []],
  ] as const) {
    const { body } = await call(`/tokens?project=${owner}`)
    assert.deepEqual(
      body.data.map((one) => one.id),
      ids,
      owner,
    )
  }
})

it('pages of the list have every token once', async () => {
  const all = (await call('/tokens?limit=100')).body.data.map(({ id }) => id)
  const paged: string[] = []
  for (let after = ''; ; ) {
    const { body } = await call(`/tokens?limit=2${after && `&after=${after}`}`)
    paged.push(...body.data.map(({ id }) => id))
    if (!body.has_more) break
    after = body.last_id
  }
  assert.deepEqual(paged, all)
})

it('a request that can not be used names the field', async () => {
  for (const [body, param, message] of [
    [{}, 'name', /Missing required parameter/],
    [{ name: '' }, 'name', /is empty/],
    [{ name: ' x' }, 'name', /spaces at an end/],
    [{ name: 'default' }, 'name', /reserved/],
    [{ name: 'x', project: 'tok_000000000000' }, 'project', /begins with 'tok_'/],
    [{ name: 'x', kind: 'robot' }, 'kind', /Allowed: 'client', 'operator'/],
    [{ name: 'x', role: 'viewer' }, 'role', /for operator tokens/],
    [
      { name: 'x', kind: 'operator', rate: 1 },
      'rate',
      /`rate` is for client tokens: an operator token creates no videos/,
    ],
    [{ name: 'x', kind: 'operator', models: ['*'] }, 'models', /for client tokens/],
    [{ name: 'x', kind: 'operator', spend: { total: { limit: '5' } } }, 'spend', /for client tokens/],
    [{ name: 'x', rate: -1 }, 'rate', /-1/],
    [{ name: 'x', rate: '5' }, 'rate', /Expected an integer or null/],
    [{ name: 'x', concurrency: 0 }, 'concurrency', /is 0\. Expected a number from 1 to 100000\.$/],
    [
      { name: 'x', spend: { day: { limit: '1..5' } } },
      'spend.day.limit',
      /is '1\.\.5'\. Expected a text such as '5\.00'\.$/,
    ],
    [{ name: 'x', ip_ranges: ['10.0.0.0/33'] }, 'ip_ranges', /'10\.0\.0\.0\/33'/],
    [{ name: 'x', expires_at: '2020-01-01T00:00:00Z' }, 'expires_at', /in the past/],
    [{ name: 'x', expires_at: '2031-02-30T00:00:00Z' }, 'expires_at', /not a time with a time zone/],
    [{ name: 'x', expires_at: 'tomorrow' }, 'expires_at', /not a time with a time zone/],
    [{ name: 'x', metadata: { a: 1 } }, 'metadata.a', /Expected a string/],
    [{ name: 'x', budget: 5 }, 'budget', /Unknown parameter/],
  ] as const) {
    const answer = await call('/tokens', body)
    assert.deepEqual([answer.status, answer.body.error.param], [400, param], JSON.stringify(body))
    assert.match(answer.body.error.message, message)
  }
})

it('an operator token that is a viewer reads everything, and changes nothing', async () => {
  const viewer = await create({ kind: 'operator', role: 'viewer' })
  for (const path of ['/tokens', '/audit', '/accounts'])
    assert.equal((await call(path, undefined, viewer.secret)).status, 200)
  const quote = await call('/quote', { model: 'studio', prompt: 'a fox' }, viewer.secret)
  assert.equal(quote.status, 200, 'a quote changes nothing')
  const refused = await call('/tokens', { name: 'never' }, viewer.secret)
  assert.deepEqual([refused.status, refused.body.error.code], [403, 'permission_denied'])
  const admin = await create({ kind: 'operator' })
  assert.equal(admin.role, 'admin')
  assert.equal((await call('/tokens', { name: 'by another admin' }, admin.secret)).status, 200)
  assert.equal((await read(admin.secret)).status, 401)
})

it('the audit log has who did what, from where, before and after, and no secret', async () => {
  const { id, secret } = await create({ name: 'audited', rate: 3 })
  await call(`/tokens/${id}`, { rate: 4 })
  const rotated = await call(`/tokens/${id}/rotate`, {})
  await call(`/tokens/${id}/revoke`, {})
  const { body } = await call('/audit?limit=4')
  type Entry = { action: string; target: string; actor: string; actor_name: string; address: string }
  const entries = body.data as unknown as (Entry & Record<'before' | 'after', Shown | null>)[]
  assert.deepEqual(
    entries.map(({ action, before, after }) => [action, before?.rate, after?.rate, after?.status]),
    [
      ['token.revoke', 4, 4, 'revoked'],
      ['token.rotate', 4, 4, 'active'],
      ['token.change', 3, 4, 'active'],
      ['token.create', undefined, 3, 'active'],
    ],
  )
  for (const { target, actor, actor_name: name, address } of entries)
    assert.deepEqual([target, actor, name, address], [id, 'config:operator', 'operator', '127.0.0.1'])
  const text = JSON.stringify((await call('/audit?limit=100')).body)
  for (const one of [secret, rotated.body.secret]) assert.ok(!text.includes(one))
})

it('no secret is in the database, the log or an answer after the first', async () => {
  const { secret } = await create()
  await read(secret, `/v1/videos?after=${secret}`)
  await service.fetch(`/v1/videos/x/content?key=${secret}`)
  const shown = [await call('/tokens?limit=100'), await call('/audit?limit=100')]
  const files = readdirSync(service.data).filter((name) => name.startsWith('filmgate.db'))
  assert.ok(files.length > 0)
  const texts = [
    ...files.map((name) => readFileSync(join(service.data, name), 'latin1')),
    ...service.log,
    JSON.stringify(shown),
  ]
  for (const text of texts) assert.ok(!text.includes(secret.slice(16)))
})

it('tokens survive a restart', async () => {
  const { id, secret } = await create({ rate: 9 })
  const gone = await create()
  await call(`/tokens/${gone.id}/revoke`, {})
  await service.restart()
  assert.deepEqual([(await read(secret)).status, (await read(gone.secret)).status], [200, 401])
  assert.equal((await call(`/tokens/${id}`)).body.rate, 9)
})

it('a typo is told apart from an unknown token', async () => {
  const { secret } = await create()
  assert.match((await read(`${secret.slice(0, -1)}${secret.endsWith('x') ? 'y' : 'x'}`)).text, /its checksum is wrong/)
  assert.match((await read('fg_unknown')).text, /Check that it is the token/)
})
