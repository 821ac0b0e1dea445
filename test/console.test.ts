import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { runCli } from '../src/cli/cli.fixture.ts'
import { loadConfig } from '../src/config.ts'
import { start } from '../src/main.ts'
import type { ConsoleState } from '../src/wire/console.ts'
import {
  jumpingClock,
  operatorToken,
  startService,
  type TestOptions,
  type TestService,
  token,
  until,
} from './service.ts'

/* The console as a browser gets it: its files, and its session. The pages themselves: `npm run test:console`. */

const folder = mkdtempSync(join(tmpdir(), 'filmgate-console-'))
after(() => rmSync(folder, { recursive: true }))
const script = 'export const answer = 42\n'.repeat(100)
const page = '<!doctype html><title>Filmgate</title>'

/** What the build writes, in small. */
const built = join(folder, 'dist')
mkdirSync(join(built, 'assets'), { recursive: true })
writeFileSync(join(built, 'index.html'), page)
writeFileSync(join(built, 'docs.html'), '<!doctype html><title>API reference</title>')
writeFileSync(join(built, 'paths.json'), '["videos","models"]')
writeFileSync(join(built, 'assets', 'index-a1b2c3.js'), script)
writeFileSync(join(built, 'assets', 'index-a1b2c3.js.br'), brotliCompressSync(script))
writeFileSync(join(built, 'assets', 'index-a1b2c3.js.gz'), gzipSync(script))

const browser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
/** What a browser sends from the console's own pages. */
const own = { 'sec-fetch-site': 'same-origin', 'x-filmgate-console': '1' }
const yaml = 'tokens: [{ name: anna, secret: a-secret-of-anna-0123456789 }]'

function startConsole({ world, env, ...options }: TestOptions = {}): Promise<TestService> {
  const tokens = { FILMGATE_OPERATOR_TOKEN: operatorToken }
  return startService({ ...options, env: { ...tokens, ...env }, world: { consoleFolder: built, ...world } })
}

/** Without the token that a test service adds. */
function ask({ url }: TestService, path: string, init: RequestInit = {}): Promise<Response> {
  return fetch(url + path, { redirect: 'manual', ...init })
}

async function signIn(service: TestService, body: object, headers: Record<string, string> = {}) {
  const init = { method: 'POST', headers: { 'content-type': 'application/json', ...own, ...headers } }
  const response = await ask(service, '/console/session', { ...init, body: JSON.stringify(body) })
  // The first one is the session. The others remove cookies of other paths.
  const cookie = response.headers.getSetCookie()[0] ?? ''
  return { response, cookie, sent: { ...own, cookie: cookie.split(';')[0] ?? '' } }
}

it('the page is at its address and at its own paths, for browsers only, and never in place of an API', async () => {
  await using service = await startConsole()
  for (const path of ['/', '/videos', '/videos/video_1?x=1', '/models/acme/fast']) {
    const answer = await ask(service, path, { headers: browser })
    assert.deepEqual([answer.status, await answer.text()], [200, page], path)
    assert.equal(answer.headers.get('cache-control'), 'no-cache')
    const policy = answer.headers.get('content-security-policy') ?? ''
    assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; media-src/)
    assert.doesNotMatch(policy, /unsafe|https:/)
    assert.equal((await ask(service, path, { headers: { accept: '*/*' } })).status, 404, path)
  }
  for (const path of ['/v1/nothing', '/operator/nothing', '/docs/nothing', '/nothing', '/assets/', '/paths.json'])
    assert.equal((await ask(service, path, { headers: browser })).status, 404, path)
  assert.equal((await ask(service, '/v1/videos', { headers: browser })).status, 401)
  // The usual mistake of a client without /v1 in its base URL.
  const wrong = await ask(service, '/videos', { method: 'POST', body: '{}' })
  assert.match(await wrong.text(), /Unknown request URL: POST \/videos\. See GET \/v1\/models and POST \/v1\/videos\./)
})

it('a path that does not exist is a page in a browser, and the error of the API for any other client', async () => {
  await using service = await startConsole()
  for (const path of ['/nothing', '/NOTHING?x=1', '/videos/%', '/v1/nothing']) {
    const shown = await ask(service, path, { headers: { ...browser, 'if-none-match': '*' } })
    assert.deepEqual([shown.status, await shown.text()], [404, page], path)
    assert.match(shown.headers.get('content-security-policy') ?? '', /^default-src 'none'/)
    assert.match(shown.headers.get('vary') ?? '', /Accept/)
    for (const init of [{ headers: { accept: '*/*' } }, { headers: browser, method: 'POST' }]) {
      const told = await ask(service, path, init)
      assert.ok(told.status === 404 || told.status === 400, `${path} ${told.status}`)
      assert.match(await told.text(), /^\{"error":/)
    }
  }
  // A wrong method of a path that exists.
  assert.equal((await ask(service, '/v1/videos/quote', { headers: browser })).status, 401)
})

it('files are sent compressed and kept for ever, the page is asked for again', async () => {
  await using service = await startConsole()
  for (const [accepted, sent] of [
    ['gzip, deflate, br', 'br'],
    ['gzip', 'gzip'],
    ['identity', null],
    ['br;q=0, gzip; q=0.0', null],
    ['abbreviated', null],
  ] as const) {
    const answer = await ask(service, '/assets/index-a1b2c3.js', { headers: { 'accept-encoding': accepted } })
    assert.equal(answer.headers.get('content-encoding'), sent)
    assert.equal(await answer.text(), script)
    assert.equal(answer.headers.get('cache-control'), 'public, max-age=31536000, immutable')
    assert.match(answer.headers.get('content-type') ?? '', /^text\/javascript/)
    assert.match(answer.headers.get('vary') ?? '', /Accept-Encoding/)
  }
  for (const name of ['index-a1b2c3.js.br', '..%2findex.html', 'nothing.js'])
    assert.equal((await ask(service, `/assets/${name}`)).status, 404, name)
  const etag = (await ask(service, '/', { headers: browser })).headers.get('etag') ?? ''
  const again = await ask(service, '/', { headers: { ...browser, 'if-none-match': etag } })
  assert.deepEqual([again.status, await again.text()], [304, ''])
})

it('the reference is at /docs, also for those who are not signed in, with the policy of the page', async () => {
  await using service = await startConsole()
  const answer = await ask(service, '/docs')
  assert.deepEqual([answer.status, await answer.text()], [200, '<!doctype html><title>API reference</title>'])
  const policy = answer.headers.get('content-security-policy')
  assert.equal(policy, (await ask(service, '/', { headers: browser })).headers.get('content-security-policy'))
  const again = await ask(service, '/docs', { headers: { 'if-none-match': answer.headers.get('etag') ?? '' } })
  assert.equal(again.status, 304)
  await using silent = await startConsole({ env: { FILMGATE_DOCS: 'off' } })
  assert.equal((await ask(silent, '/docs')).status, 404)
})

it('off or not built, the address leads to the reference as before, and a session opens nothing', async () => {
  for (const options of [{ env: { FILMGATE_CONSOLE: 'off' } }, { world: { consoleFolder: join(folder, 'nothing') } }]) {
    await using service = await startConsole(options)
    const answer = await ask(service, '/', { headers: browser })
    assert.deepEqual([answer.status, answer.headers.get('location')], [302, '/docs'])
    assert.match(await (await ask(service, '/docs')).text(), /href="\/openapi\.json"/)
    assert.equal((await ask(service, '/videos', { headers: browser })).status, 404)
  }
  await using service = await startConsole({ env: { FILMGATE_CONSOLE: 'off' } })
  assert.equal((await signIn(service, { token })).response.status, 404)
  assert.equal((await ask(service, '/v1/models', { headers: { ...own, cookie: 'filmgate_console=x' } })).status, 401)
})

it('signs in with a token, says who that is, and signs out', async () => {
  await using service = await startConsole({ yaml })
  const stateOf = async (headers: Record<string, string>) =>
    ((await (await ask(service, '/console/session', { headers })).json()) as ConsoleState).session
  assert.equal(await stateOf(own), null)
  const { response, cookie, sent } = await signIn(service, { token: 'a-secret-of-anna-0123456789' })
  assert.equal(response.status, 200)
  assert.match(
    cookie,
    /^filmgate_console_([0-9a-f]{8})=sealed:1:\1:[^;]+; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/,
  )
  const who = { name: 'anna', project: null }
  const anna = { ...who, owner: 'anna' }
  const { expires_at: _, ...session } = (await stateOf(sent)) ?? { expires_at: '' }
  assert.deepEqual(session, { kind: 'client', ...who, role: null, client: anna })
  assert.equal((await ask(service, '/v1/models', { headers: sent })).status, 200)
  assert.equal((await ask(service, '/operator/v1/tasks', { headers: sent })).status, 403)
  // Another page of the host may have planted that session: an operator does not create videos for its client.
  const operator = await signIn(service, { token: operatorToken }, sent)
  assert.equal((await stateOf(operator.sent))?.client?.name, 'default')
  // A client that the operator chose.
  const both = await signIn(service, { token: 'a-secret-of-anna-0123456789' }, operator.sent)
  const second = await stateOf(both.sent)
  assert.deepEqual([second?.kind, second?.role, second?.client], ['operator', 'admin', anna])
  // A cookie that a page at another name of the domain has added.
  for (const cookies of [`${sent.cookie}; ${both.sent.cookie}`, `${both.sent.cookie}; ${sent.cookie}`])
    assert.equal((await stateOf({ ...own, cookie: cookies }))?.kind, 'operator')
  const out = await ask(service, '/console/session', { method: 'DELETE', headers: both.sent })
  assert.match(out.headers.get('set-cookie') ?? '', /^filmgate_console_[0-9a-f]{8}=; Path=\/; Max-Age=0;/)
  assert.equal(((await out.json()) as ConsoleState).ended, false)
  const secure = await signIn(service, { token }, { origin: 'https://films.example' })
  assert.match(secure.cookie, /; SameSite=Strict; Secure$/)
})

it('an admin creates videos with the token of the first start, a viewer with none', async () => {
  await using service = await startConsole()
  const { sent } = await signIn(service, { token: operatorToken })
  assert.equal((await ask(service, '/v1/models', { headers: sent })).status, 200)
  const headers = { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ name: 'a viewer', kind: 'operator', role: 'viewer' })
  const made = await ask(service, '/operator/v1/tokens', { method: 'POST', headers, body })
  const viewer = await signIn(service, { token: ((await made.json()) as { secret: string }).secret })
  const { session } = (await viewer.response.json()) as ConsoleState
  assert.deepEqual([session?.role, session?.client], ['viewer', null])
  assert.equal((await ask(service, '/v1/models', { headers: viewer.sent })).status, 401)
  assert.equal((await ask(service, '/operator/v1/tasks', { headers: viewer.sent })).status, 200)
  const change = await ask(service, '/operator/v1/console_codes', { method: 'POST', headers: viewer.sent })
  assert.equal(change.status, 403)
})

it('an admin who becomes a viewer, or whose token is revoked, loses the client token of their session as well', async () => {
  await using service = await startConsole({ yaml })
  const headers = { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' }
  const change = async (path: string, body?: object) => {
    const init = { method: 'POST', headers, ...(body && { body: JSON.stringify(body) }) }
    const answer = await ask(service, `/operator/v1/tokens${path}`, body ? init : { ...init, headers: plain })
    assert.equal(answer.status, 200, await answer.clone().text())
    return (await answer.json()) as { id: string; secret: string }
  }
  const plain = { authorization: headers.authorization }
  const statuses = async (sent: Record<string, string>) => {
    const paths = ['/v1/models', '/operator/v1/tasks']
    return Promise.all(paths.map(async (path) => (await ask(service, path, { headers: sent })).status))
  }
  const { id, secret } = await change('', { name: 'an admin', kind: 'operator' })
  const admin = await signIn(service, { token: secret })
  // Their own client token stays: it was not lent.
  const anna = await signIn(service, { token: 'a-secret-of-anna-0123456789' }, admin.sent)
  const both = await signIn(service, { token: secret }, anna.sent)
  assert.deepEqual(await Promise.all([admin, anna, both].map(({ sent }) => statuses(sent))), Array(3).fill([200, 200]))
  await change(`/${id}`, { role: 'viewer' })
  assert.deepEqual(await statuses(admin.sent), [401, 200])
  assert.deepEqual(await statuses(both.sent), [200, 200])
  // Another operator in the same browser gets nothing of the first one.
  const viewer = await signIn(service, { token: secret }, admin.sent)
  assert.equal(((await viewer.response.json()) as ConsoleState).session?.client, null)
  await change(`/${id}`, { role: 'admin' })
  await change(`/${id}/revoke`)
  assert.deepEqual(await statuses(admin.sent), [401, 401])
  const state = await ask(service, '/console/session', { headers: admin.sent })
  assert.equal(((await state.json()) as ConsoleState).session, null)
  assert.deepEqual(await statuses(both.sent), [200, 403])
})

it('two services on one host have cookies of their own, and each replaces and removes only its own', async () => {
  await using first = await startConsole()
  await using second = await startConsole()
  const one = await signIn(first, { token })
  // A browser sends the cookies of every port of the host.
  const other = await signIn(second, { token: operatorToken }, one.sent)
  const nameOf = (cookie: string) => cookie.split('=')[0]
  assert.notEqual(nameOf(one.cookie), nameOf(other.cookie))
  const both = { ...own, cookie: `${one.sent.cookie}; ${other.sent.cookie}` }
  const stateAt = async (service: TestService) => {
    const { session, ended } = (await (
      await ask(service, '/console/session', { headers: both })
    ).json()) as ConsoleState
    return [session?.kind, ended]
  }
  assert.deepEqual(
    [await stateAt(first), await stateAt(second)],
    [
      ['client', false],
      ['operator', false],
    ],
  )
  const out = await ask(second, '/console/session', { method: 'DELETE', headers: both })
  assert.deepEqual([...new Set(out.headers.getSetCookie().map(nameOf))], [nameOf(other.cookie)])
})

it('a session outlives a new key, and signing out removes it', async () => {
  const [old, next] = [Buffer.alloc(32, 1).toString('base64'), Buffer.alloc(32, 2).toString('base64')]
  await using before = await startConsole({ env: { FILMGATE_SECRET_KEY: old } })
  const { sent: early } = await signIn(before, { token })
  await using after = await startConsole({ env: { FILMGATE_SECRET_KEY: `${next},${old}` } })
  assert.equal((await ask(after, '/v1/models', { headers: early })).status, 200)
  const { sent: late } = await signIn(after, { token }, early)
  const out = await ask(after, '/console/session', {
    method: 'DELETE',
    headers: { ...own, cookie: `${early.cookie}; ${late.cookie}` },
  })
  assert.equal(out.headers.getSetCookie().filter((pair) => pair.includes('; Path=/; Max-Age=0;')).length, 2)
})

it('a cookie of another client, which a page at another port can add, is not used instead of the session', async () => {
  await using service = await startConsole({ yaml })
  const [{ sent: mine }, { sent: planted }] = [
    await signIn(service, { token }),
    await signIn(service, { token: 'a-secret-of-anna-0123456789' }),
  ]
  const list = async (...cookies: string[]) =>
    (await ask(service, '/v1/videos', { headers: { ...own, cookie: cookies.join('; ') } })).status
  assert.deepEqual(
    [await list(mine.cookie), await list(mine.cookie, mine.cookie), await list(planted.cookie, mine.cookie)],
    [200, 200, 401],
  )
  const again = await signIn(service, { token }, { cookie: `${planted.cookie}; ${mine.cookie}` })
  const name = mine.cookie.split('=')[0]
  for (const path of ['/v1', '/operator', '/console']) {
    const removes = (pair: string) => pair.startsWith(`${name}=; Path=${path}; Max-Age=0;`)
    assert.ok(again.response.headers.getSetCookie().some(removes), path)
  }
})

it('of very many cookies, only the first are read', async () => {
  await using service = await startConsole()
  const { sent } = await signIn(service, { token })
  const wrong = sent.cookie.replace(/.{8}$/, 'AAAAAAAA')
  const list = async (count: number) => {
    const cookie = [...Array<string>(count).fill(wrong), sent.cookie].join('; ')
    return (await ask(service, '/v1/videos', { headers: { ...own, cookie } })).status
  }
  assert.deepEqual([await list(1), await list(30)], [200, 401])
})

it('a client token that is lent to an operator works only from the addresses of the operator', async () => {
  await using service = await startConsole({ env: { FILMGATE_TRUSTED_PROXIES: '127.0.0.1' } })
  const headers = { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ name: 'an admin', kind: 'operator', ip_ranges: ['203.0.113.0/24'] })
  const made = await ask(service, '/operator/v1/tokens', { method: 'POST', headers, body })
  const secret = ((await made.json()) as { secret: string }).secret
  const { sent } = await signIn(service, { token: secret }, { 'x-forwarded-for': '203.0.113.7' })
  const from = async (address: string) => {
    const init = { headers: { ...sent, 'x-forwarded-for': address } }
    const state = (await (await ask(service, '/console/session', init)).json()) as ConsoleState
    const status = async (path: string) => (await ask(service, path, init)).status
    return [state.session?.kind, await status('/operator/v1/tasks'), await status('/v1/videos')]
  }
  assert.deepEqual(await from('203.0.113.7'), ['operator', 200, 200])
  assert.deepEqual(await from('198.51.100.9'), [undefined, 401, 401])
})

it('what a session gets is kept by no cache', async () => {
  await using service = await startConsole()
  const { sent } = await signIn(service, { token: operatorToken })
  for (const path of [
    '/v1/videos',
    '/v1/models',
    '/v1/usage',
    '/operator/v1/settings',
    '/operator/v1/audit?format=csv',
  ]) {
    const { status, headers } = await ask(service, path, { headers: sent })
    assert.deepEqual([status, headers.get('cache-control')], [200, 'private, no-store'], path)
  }
})

it('a large body of a sign-out is refused', async () => {
  await using service = await startConsole()
  const init = { method: 'DELETE', headers: { ...own, 'content-type': 'application/json' } }
  const body = JSON.stringify('x'.repeat(40_000))
  assert.equal((await ask(service, '/console/session', { ...init, body })).status, 413)
})

it('clients of Azure whose Accept names HTML get the API', async () => {
  await using service = await startConsole({ env: { FILMGATE_AZURE: 'on' } })
  const headers = { 'api-key': token, 'content-type': 'application/json', accept: 'text/html, image/gif, */*; q=.2' }
  const body = JSON.stringify({ model: 'studio', prompt: 'a fox', seconds: '1', size: '256x256' })
  for (const path of ['/openai/v1/videos', '/openai/videos', '/videos']) {
    assert.equal((await ask(service, path, { method: 'POST', headers, body })).status, 200, path)
    assert.equal((await ask(service, path, { headers })).headers.get('content-type'), 'application/json; charset=utf-8')
  }
  assert.equal(await (await ask(service, '/videos', { headers: browser })).text(), page)
})

it('the cookie is accepted only from its own pages', async () => {
  await using service = await startConsole()
  const { sent } = await signIn(service, { token })
  const { host } = new URL(service.url)
  const { cookie } = sent
  const get = async (headers: Record<string, string>) =>
    (await ask(service, '/v1/models', { headers: { cookie, ...headers } })).status
  const post = async (headers: Record<string, string>) => {
    const init = { method: 'POST', headers: { cookie, 'content-type': 'application/json', ...headers } }
    return (await ask(service, '/v1/videos/quote', { ...init, body: '{"model":"studio","prompt":"x"}' })).status
  }
  const header = { 'x-filmgate-console': '1' }
  for (const good of [
    { 'sec-fetch-site': 'same-origin' },
    { origin: `http://${host}` },
    { referer: `http://${host}/videos` },
  ] as Record<string, string>[]) {
    assert.deepEqual([await get(good), await post(good), await post({ ...good, ...header })], [200, 401, 200])
  }
  for (const bad of [
    {},
    { 'sec-fetch-site': 'same-site', origin: `http://${host}` },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'none' },
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: 'http://127.0.0.1:1', referer: `http://${host}/` },
    { referer: `http://evil.example/${host}` },
  ] as Record<string, string>[]) {
    assert.deepEqual([await get(bad), await post({ ...bad, ...header })], [401, 401], JSON.stringify(bad))
  }
  const { response } = await signIn(service, { token }, { 'sec-fetch-site': 'cross-site' })
  assert.equal(response.status, 403)
  assert.match(await response.text(), /A session works only from the console's own pages/)
})

it('a session ends when its token is revoked, rotated or disabled, after 12 hours, and if it was changed', async () => {
  const clock = jumpingClock()
  await using service = await startConsole({ world: { clock } })
  const headers = { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' }
  const change = async <Answer>(path: string, body?: object) => {
    const init = { method: 'POST', headers, body: JSON.stringify(body ?? {}) }
    return (await (await ask(service, `/operator/v1/tokens${path}`, init)).json()) as Answer
  }
  const statusOf = async (sent: Record<string, string>) => (await ask(service, '/v1/models', { headers: sent })).status
  for (const [path, body] of [
    ['/revoke', undefined],
    ['/rotate', {}],
    ['', { enabled: false }],
  ] as const) {
    const made = await change<{ id: string; secret: string }>('', { name: `one for '${path}'` })
    const { sent } = await signIn(service, { token: made.secret })
    assert.equal(await statusOf(sent), 200)
    await (path === '/revoke'
      ? ask(service, `/operator/v1/tokens/${made.id}/revoke`, {
          method: 'POST',
          headers: { authorization: headers.authorization },
        })
      : change(`/${made.id}${path}`, body))
    assert.equal(await statusOf(sent), 401, path)
    const state = (await (await ask(service, '/console/session', { headers: sent })).json()) as ConsoleState
    assert.deepEqual([state.session, state.ended], [null, true])
  }
  const { sent } = await signIn(service, { token })
  for (let at = sent.cookie.length - 1; at > 40; at -= 20) {
    const changed = sent.cookie.slice(0, at) + (sent.cookie[at] === 'A' ? 'B' : 'A') + sent.cookie.slice(at + 1)
    assert.equal(await statusOf({ ...sent, cookie: changed }), 401)
  }
  const [name] = sent.cookie.split('=')
  assert.equal(await statusOf({ ...sent, cookie: `${name}={"tokens":{"client":{"id":"config:default"}}}` }), 401)
  await service.restart()
  assert.equal(await statusOf(sent), 200)
  clock.jump(12 * 3_600_000)
  assert.equal(await statusOf(sent), 401)
})

it('a session ends with the secret that signed in, and a second sign-in does not prolong the first', async () => {
  const clock = jumpingClock()
  await using service = await startConsole({ world: { clock } })
  const headers = { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' }
  const change = async (path: string, body: object) => {
    const answer = await ask(service, `/operator/v1/tokens${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    })
    return (await answer.json()) as { id: string; secret: string }
  }
  const statuses = async (sent: Record<string, string>) => {
    const paths = ['/v1/models', '/operator/v1/tasks']
    return Promise.all(paths.map(async (path) => (await ask(service, path, { headers: sent })).status))
  }
  const old = await change('', { name: 'rotated' })
  const rotated = await change(`/${old.id}/rotate`, { overlap_seconds: 3_600 })
  const first = await signIn(service, { token: old.secret })
  const renewed = await signIn(service, { token: rotated.secret })
  const operator = await signIn(service, { token: operatorToken })
  assert.deepEqual(await statuses(first.sent), [200, 403])
  clock.jump(1_800_000)
  const both = await signIn(service, { token: old.secret }, operator.sent)
  assert.deepEqual(await statuses(both.sent), [200, 200])
  assert.ok(Number(/Max-Age=(\d+)/.exec(both.cookie)?.[1]) <= 11.5 * 3_600)
  clock.jump(1_800_000)
  assert.deepEqual(await statuses(first.sent), [401, 401])
  assert.deepEqual(await statuses(both.sent), [401, 200])
  assert.deepEqual(await statuses(renewed.sent), [200, 403])
  clock.jump(11 * 3_600_000)
  assert.deepEqual(await statuses(both.sent), [401, 401])
})

it('a link of a secret that is being replaced signs in only until that secret ends', async () => {
  const clock = jumpingClock()
  await using service = await startConsole({ world: { clock } })
  const post = async <Answer>(path: string, headers: Record<string, string>, body?: object) => {
    const json = body && { 'content-type': 'application/json' }
    const init = { method: 'POST', headers: { ...headers, ...json }, ...(body && { body: JSON.stringify(body) }) }
    return (await (await ask(service, `/operator/v1${path}`, init)).json()) as Answer
  }
  const as = (secret: string) => ({ authorization: `Bearer ${secret}` })
  const created = { name: 'rotated', kind: 'operator' }
  const old = await post<{ id: string; secret: string }>('/tokens', as(operatorToken), created)
  const rotation = { overlap_seconds: 3_600 }
  await post(`/tokens/${old.id}/rotate`, as(operatorToken), rotation)
  const first = await signIn(service, await codeOf(as(old.secret)))
  // From the page of that session.
  const second = await signIn(service, await codeOf(first.sent))
  const statuses = () =>
    Promise.all(
      [first, second].map(async ({ sent }) => (await ask(service, '/operator/v1/tasks', { headers: sent })).status),
    )
  assert.deepEqual(await statuses(), [200, 200])
  clock.jump(3_600_000)
  assert.deepEqual(await statuses(), [401, 401])

  async function codeOf(headers: Record<string, string>): Promise<{ code: string }> {
    return { code: (await post<{ code: string }>('/console_codes', headers)).code }
  }
})

it('wrong sign-ins say what to do, and are slowed down', async () => {
  const slept: number[] = []
  const clock = jumpingClock()
  const sleep = (ms: number, signal?: AbortSignal) => {
    if (ms >= 1_000 && ms <= 5_000) slept.push(ms)
    return clock.sleep(Math.min(ms, 10), signal)
  }
  await using service = await startConsole({ world: { clock: { ...clock, sleep } } })
  const tell = async (body: object) => {
    const { response } = await signIn(service, body)
    return [response.status, ((await response.json()) as { error: { message: string } }).error.message] as const
  }
  assert.match((await tell({ token: 'nonsense' })).join(' '), /^401 Incorrect API key provided/)
  assert.match((await tell({ code: 'nonsense' })).join(' '), /^401 The link was used before, or has expired\./)
  assert.match((await tell({})).join(' '), /^400 Send either `token` or `code`\./)
  assert.match((await tell({ token, code: 'x' })).join(' '), /^400 /)
  assert.match((await tell({ secret: 'x' })).join(' '), /^400 /)
  slept.length = 0
  for (let tries = 0; tries < 25; tries += 1) assert.equal((await tell({ code: `wrong ${tries}` }))[0], 401)
  assert.ok(slept.length > 0)
})

it('a sign-in is small, and one address has few that are not yet read', async () => {
  await using service = await startConsole()
  assert.equal((await signIn(service, { token: 'x'.repeat(5_000) })).response.status, 413)
  const path = `${service.url}/console/session`
  const begin = () => {
    const headers = { ...own, 'content-type': 'application/json', 'content-length': '100' }
    const request = httpRequest(path, { method: 'POST', headers }).on('error', () => {})
    request.write('{')
    return request
  }
  const slow = Array.from({ length: 16 }, begin)
  await until(
    'one more is refused',
    async () => (await signIn(service, { token: operatorToken })).response.status === 429,
  )
  const { response } = await signIn(service, { token: operatorToken })
  assert.match(await response.text(), /This address already has 16 unfinished request bodies/)
  assert.equal((await ask(service, '/console/session')).status, 200)
  for (const request of slow) request.destroy()
  await until('their places are free', async () => (await signIn(service, { token: operatorToken })).response.ok)
})

it('filmgate console prints a link that signs in once', async () => {
  await using service = await startConsole()
  const env = { FILMGATE_BASE_URL: service.url, FILMGATE_OPERATOR_TOKEN: operatorToken }
  const { stdout, code: exit } = await runCli(['console'], { env, cwd: folder })
  assert.equal(exit, 0)
  const [, code = ''] = /^http:\/\/127\.0\.0\.1:\d+\/#code=([\w-]+)\n$/.exec(stdout) ?? []
  const { response } = await signIn(service, { code })
  assert.equal(((await response.json()) as ConsoleState).session?.kind, 'operator')
  assert.equal((await signIn(service, { code })).response.status, 401)
  await service.restart()
  assert.equal((await signIn(service, { code })).response.status, 401)
})

it('with a port of their own, operators sign in there, and clients at the other one', async () => {
  const env = {
    ...{ FILMGATE_PORT: '0', FILMGATE_OPERATOR_PORT: '0', FILMGATE_DATA: join(folder, 'data') },
    ...{ FILMGATE_CONFIG: '/dev/null', FILMGATE_TOKEN: token, FILMGATE_OPERATOR_TOKEN: operatorToken },
  }
  const world = { writeLog: () => {}, consoleFolder: built }
  await using service = await start(loadConfig({ flags: {}, env }), world)
  const statusOf = async (url: string, secret: string) =>
    (await signIn({ url } as TestService, { token: secret })).response.status
  const { url, operatorUrl } = service
  assert.deepEqual([await statusOf(url, token), await statusOf(url, operatorToken)], [200, 403])
  assert.deepEqual(
    [await statusOf(operatorUrl ?? '', token), await statusOf(operatorUrl ?? '', operatorToken)],
    [403, 200],
  )
  // A link that was opened at the wrong port still works at the right one.
  const code = service.webConsole?.createCode()
  assert.equal((await signIn({ url } as TestService, { code })).response.status, 403)
  assert.equal((await signIn({ url: operatorUrl ?? '' } as TestService, { code })).response.status, 200)
  // Cookies ignore ports.
  const { sent } = await signIn({ url } as TestService, { token })
  const both = await signIn({ url: operatorUrl ?? '' } as TestService, { token: operatorToken }, sent)
  const operator = await signIn({ url: operatorUrl ?? '' } as TestService, { token: operatorToken })
  const stateAt = async (address: string | null, headers: Record<string, string>) => {
    const response = await fetch(`${address}/console/session`, { headers })
    const { session, docs, serves_clients, client_url } = (await response.json()) as ConsoleState
    return [session?.kind ?? null, session?.client?.name ?? null, docs, serves_clients, client_url]
  }
  for (const [cookies, atClients, atOperators] of [
    [sent, ['client', 'default'], [null, null]],
    [operator.sent, [null, null], ['operator', null]],
    [both.sent, ['client', 'default'], ['operator', null]],
  ] as const) {
    assert.deepEqual(await stateAt(url, cookies), [...atClients, true, true, null])
    assert.deepEqual(await stateAt(operatorUrl, cookies), [...atOperators, false, false, url])
  }
  // The browser does not reach the port itself.
  const proxied = { ...both.sent, 'x-forwarded-for': '192.0.2.7' }
  assert.deepEqual(await stateAt(operatorUrl, proxied), ['operator', null, false, false, null])
})
