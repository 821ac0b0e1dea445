import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import type { Document } from '../src/api/openapi/document.ts'
import { openStage } from './listening.ts'
import { type Ask, openResponses, type Send, sendTo, sendTooMuch, startBroken } from './responses.ts'
import { film, type Ids, operationOf, startWorld, type World } from './responses-world.ts'
import { jumpingClock, startService, token, until } from './service.ts'

/*
 * Checks every response of every route of a running service against the schema for that route and status in the
 * document. The last test fails if a documented response never occurred. Responses that all routes of a kind have (a wrong
 * token, an unreadable body, a store that is down) are requested automatically; `rows` has the others.
 */

/** Documented responses that can't be caused here. */
const elsewhere: Readonly<Record<string, string>> = {
  'downloadVideo 302': 'needs an S3 bucket and FILMGATE_CONTENT=redirect: test/redirect.services.ts',
  'downloadTask 302': 'is the same handler as downloadVideo',
  'downloadTask 429': 'is the same handler as downloadVideo',
  'downloadVideo 429': 'needs 201 pictures at once: src/api/content/pictures.test.ts',
}

const sdk = { 'x-stainless-lang': 'js' }
/** An idempotency key that another request has used. */
const taken = { 'idempotency-key': 'one' }
let world: World
let ids: Ids
let responses: ReturnType<typeof openResponses>
let send: Send

before(async () => {
  world = await startWorld()
  ids = world.ids
  send = sendTo(world.service.url)
  responses = openResponses((await (await fetch(`${world.service.url}/openapi.json`)).json()) as Document)
})
after(() => world[Symbol.asyncDispose]())

function form(fields: Record<string, string>): FormData {
  const data = new FormData()
  for (const [name, value] of Object.entries(fields)) data.append(name, value)
  return data
}

/** Requests and their statuses. The order matters: a held task can be decided about only once. */
const rows: [id: string, status: number, ask?: () => Ask][] = [
  ['createVideo', 200, () => ({ body: film })],
  ['createVideo', 200, () => ({ body: form(film), headers: sdk })],
  ['createVideo', 400, () => ({ body: { ...film, nonsense: 1 } })],
  ['createVideo', 400, () => ({ body: { ...film, seconds: '999' } })],
  ['createVideo', 400, () => ({ body: { ...film, model: 'still' } })],
  ['createVideo', 400, () => ({ body: { ...film, image: 'AAAA' } })],
  ['createVideo', 400, () => ({ body: { ...film, image: 'http://192.168.0.1/a.png' } })],
  ['createVideo', 404, () => ({ body: { ...film, model: 'nothing' } })],
  ['createVideo', 422, () => ({ body: { ...film, seconds: '2' }, headers: taken })],
  ...['Videos', 'Video'].flatMap((name): typeof rows => [
    [`create${name}Generation`, 200, () => ({ body: film })],
    [`create${name}Generation`, 200, () => ({ body: form(film), headers: sdk })],
    [`create${name}Generation`, 400, () => ({ body: { ...film, nonsense: 1 } })],
    [`create${name}Generation`, 404, () => ({ body: { ...film, model: 'nothing' } })],
    [`create${name}Generation`, 422, () => ({ body: { ...film, seconds: '2' }, headers: taken })],
    [`retrieve${name}Generation`, 200, () => ({ path: [ids.done] })],
    [`retrieve${name}Generation`, 200, () => ({ path: [ids.queued], headers: sdk })],
    [`retrieve${name}Generation`, 400, () => ({ path: [ids.done], query: '?wait=long' })],
    [`retrieve${name}Generation`, 404],
  ]),
  ['quoteVideo', 200, () => ({ body: film })],
  ['quoteVideo', 200, () => ({ body: form(film) })],
  ['quoteVideo', 400, () => ({ body: { ...film, seconds: '999' } })],
  ['quoteVideo', 404, () => ({ body: { ...film, model: 'nothing' } })],
  ['quoteForProject', 200, () => ({ body: film, query: '?project=team' })],
  ['quoteForProject', 400, () => ({ body: { ...film, nonsense: 1 } })],
  ['quoteForProject', 404, () => ({ body: { ...film, model: 'nothing' } })],
  ['listVideos', 200, () => ({ query: '?limit=100' })],
  ['listVideos', 200, () => ({ query: '?limit=100', headers: sdk })],
  ['listVideos', 200, () => ({ query: '?limit=0' })],
  ['listVideos', 200, () => ({ query: '?status=failed&model=studio' })],
  ['listVideos', 400, () => ({ query: '?limit=many' })],
  ['listVideos', 400, () => ({ query: '?order=best' })],
  ...[{}, sdk].flatMap((headers) =>
    (['queued', 'done', 'failed'] as const).map((state): (typeof rows)[number] => [
      ...(['retrieveVideo', 200] as const),
      () => ({ path: [ids[state]], headers }),
    ]),
  ),
  ['retrieveVideo', 200, () => ({ path: [ids.done], query: '?wait=5' })],
  ['retrieveVideo', 400, () => ({ path: [ids.done], query: '?wait=long' })],
  ['retrieveVideo', 404],
  ['streamVideo', 200, () => ({ path: [ids.done] })],
  ['streamVideo', 200, () => ({ path: [ids.queued], headers: sdk })],
  ['streamVideo', 404],
  ['streamVideos', 200],
  ['streamVideos', 200, () => ({ headers: { 'last-event-id': 'long ago' } })],
  ['streamVideos', 200, () => ({ query: '?last_event_id=1' })],
  ['downloadVideo', 200, () => ({ path: [ids.done] })],
  ['downloadVideo', 200, () => ({ path: [ids.done], method: 'HEAD' })],
  ['downloadVideo', 200, () => ({ path: [ids.done], query: '?variant=thumbnail' })],
  ['downloadVideo', 200, () => ({ path: [ids.done], query: '?variant=spritesheet' })],
  ['downloadVideo', 206, () => ({ path: [ids.done], headers: { range: 'bytes=0-9' } })],
  ['downloadVideo', 304, () => ({ path: [ids.done], headers: { 'if-none-match': '*' } })],
  ['downloadVideo', 400, () => ({ path: [ids.done], query: '?variant=smell' })],
  ['downloadVideo', 404],
  ['downloadVideo', 404, () => ({ path: [ids.queued] })],
  ['downloadVideo', 404, () => ({ path: [ids.failed] })],
  ['downloadVideo', 412, () => ({ path: [ids.done], headers: { 'if-match': '"another"' } })],
  ['downloadVideo', 416, () => ({ path: [ids.done], headers: { range: 'bytes=99999999-' } })],
  ['remixVideo', 200, () => ({ path: [ids.done], body: { prompt: 'in summer' } })],
  ['remixVideo', 400, () => ({ path: [ids.queued], body: { prompt: 'in summer' } })],
  ['remixVideo', 404, () => ({ body: { prompt: 'in summer' } })],
  ['remixVideo', 422, () => ({ path: [ids.done], body: { prompt: 'again' }, headers: taken })],
  ['editVideo', 200, () => ({ body: { prompt: 'in summer', video: { id: ids.done } }, headers: sdk })],
  ['editVideo', 400, () => ({ body: { prompt: 'in summer', video: { id: ids.failed } } })],
  ['editVideo', 404, () => ({ body: { prompt: 'in summer', video: { id: 'nothing' } } })],
  ['editVideo', 422, () => ({ body: { prompt: 'again', video: { id: ids.done } }, headers: taken })],
  ['extendVideo', 200, () => ({ body: { prompt: 'it runs', seconds: '1', video: { id: ids.done } } })],
  ['extendVideo', 400, () => ({ body: { prompt: 'it runs', video: { id: ids.done } } })],
  ['extendVideo', 404, () => ({ body: { prompt: 'it runs', seconds: '1', video: { id: 'nothing' } } })],
  [
    ...(['extendVideo', 422] as const),
    () => ({
      body: { prompt: 'it runs', seconds: '1', video: { id: ids.done } },
      headers: taken,
    }),
  ],
  ['listWebhookEventTypes', 200],
  [
    'createWebhookEndpoint',
    200,
    () => ({ body: { name: 'x', url: 'http://127.0.0.1:9/', event_types: ['video.failed'] } }),
  ],
  [
    'createWebhookEndpoint',
    400,
    () => ({ body: { name: 'x', url: 'http://10.0.0.7/', event_types: ['video.failed'] } }),
  ],
  ['listWebhookEndpoints', 200],
  ['listWebhookEndpoints', 400, () => ({ query: '?limit=many' })],
  ['retrieveWebhookEndpoint', 200, () => ({ path: [ids.endpoint] })],
  ['retrieveWebhookEndpoint', 404],
  ['updateWebhookEndpoint', 200, () => ({ path: [ids.endpoint], body: { name: 'another name' } })],
  ['updateWebhookEndpoint', 200, () => ({ path: [ids.endpoint] })],
  ['updateWebhookEndpoint', 400, () => ({ path: [ids.endpoint], body: { colour: 'red' } })],
  ['updateWebhookEndpoint', 404, () => ({ body: {} })],
  ['rotateWebhookSecret', 200, () => ({ path: [ids.endpoint] })],
  ['rotateWebhookSecret', 404],
  ['testWebhookEndpoint', 200, () => ({ path: [ids.endpoint], body: { event_type: 'video.failed' } })],
  ['testWebhookEndpoint', 400, () => ({ path: [ids.deaf], body: { event_type: 'video.failed' } })],
  ['testWebhookEndpoint', 404, () => ({ body: { event_type: 'video.failed' } })],
  ['listWebhookDeliveries', 200, () => ({ path: [ids.endpoint] })],
  ['listWebhookDeliveries', 200, () => ({ path: [ids.deaf] })],
  ['listWebhookDeliveries', 400, () => ({ path: [ids.endpoint], query: '?state=odd' })],
  ['listWebhookDeliveries', 404],
  ['retrieveWebhookDelivery', 200, () => ({ path: [ids.endpoint, ids.delivery] })],
  ['retrieveWebhookDelivery', 404, () => ({ path: [ids.endpoint] })],
  ['replayWebhookDelivery', 200, () => ({ path: [ids.endpoint, ids.delivery] })],
  ['replayWebhookDelivery', 404, () => ({ path: [ids.endpoint] })],
  ['replayWebhookEndpoint', 200, () => ({ path: [ids.deaf], body: { since: 0 } })],
  ['replayWebhookEndpoint', 404, () => ({ body: { since: 0 } })],
  ['deleteWebhookEndpoint', 200, () => ({ path: [ids.deaf] })],
  ['deleteWebhookEndpoint', 404],
  ['listModels', 200],
  ['retrieveModel', 200, () => ({ path: ['studio'] })],
  ['retrieveModel', 200, () => ({ path: ['acme/fast'] })],
  ['retrieveModel', 404],
  ['retrieveUsage', 200],
  ['retrieveUsage', 200, () => ({ query: '?group_by=token,model,day,hour&since=2026-01-01&before=2026-01-31' })],
  ['retrieveUsage', 200, () => ({ query: '?group_by=day&format=csv' })],
  ['retrieveUsage', 400, () => ({ query: '?group_by=account' })],
  ['retrieveUsage', 400, () => ({ query: '?colour=red' })],
  ['listTasks', 200],
  ['listTasks', 400, () => ({ query: '?state=odd' })],
  ['listTasks', 400, () => ({ query: '?colour=red' })],
  ['listAttempts', 200],
  ['listAttempts', 400, () => ({ query: '?state=odd' })],
  ['listAttempts', 400, () => ({ query: '?colour=red' })],
  ...['queued', 'done', 'failed'].map((state): (typeof rows)[number] => [
    ...(['showTask', 200] as const),
    () => ({ path: [String(ids[state as 'queued'])] }),
  ]),
  ['showTask', 404],
  ['downloadTask', 200, () => ({ path: [ids.done] })],
  ['downloadTask', 200, () => ({ path: [ids.done], query: '?variant=thumbnail' })],
  ['downloadTask', 206, () => ({ path: [ids.done], headers: { range: 'bytes=0-9' } })],
  ['downloadTask', 304, () => ({ path: [ids.done], headers: { 'if-none-match': '*' } })],
  ['downloadTask', 400, () => ({ path: [ids.done], query: '?variant=smell' })],
  ['downloadTask', 404],
  ['downloadTask', 404, () => ({ path: [ids.queued] })],
  ['downloadTask', 412, () => ({ path: [ids.done], headers: { 'if-match': '"another"' } })],
  ['downloadTask', 416, () => ({ path: [ids.done], headers: { range: 'bytes=99999999-' } })],
  ['adoptTask', 400, () => ({ path: [ids.held[0] ?? ''], body: {} })],
  ['adoptTask', 404, () => ({ body: { operation: 'x' } })],
  ['adoptTask', 200, () => ({ path: [ids.held[0] ?? ''], body: { operation: operationOf(ids.held[0] ?? '') } })],
  ['resubmitTask', 200, () => ({ path: [ids.held[1] ?? ''] })],
  ['resubmitTask', 404],
  ['giveUpTask', 200, () => ({ path: [ids.held[2] ?? ''] })],
  ['giveUpTask', 400, () => ({ path: [ids.held[2] ?? ''] })],
  ['giveUpTask', 404],
  ['listAccounts', 200],
  ['createAccount', 200, () => ({ body: { name: 'engine', provider: 'openai', base_url: 'http://127.0.0.1:9/v1' } })],
  ['createAccount', 400, () => ({ body: { name: 'engine', provider: 'openai', base_url: 'http://127.0.0.1:9/v1' } })],
  ['createAccount', 400, () => ({ body: { name: 'kling' } })],
  ['showAccount', 200, () => ({ path: ['engine'] })],
  ['showAccount', 200, () => ({ path: ['studio'] })],
  ['showAccount', 404],
  ['changeAccount', 200, () => ({ path: ['engine'], body: { concurrency: 2, key: 'a key of an engine' } })],
  ['changeAccount', 400, () => ({ path: ['engine'], body: { base_url: 'nowhere' } })],
  ['changeAccount', 400, () => ({ path: ['studio'], body: { concurrency: 2 } })],
  ['changeAccount', 404, () => ({ body: { concurrency: 2 } })],
  ['testAccount', 200, () => ({ path: ['engine'] })],
  ['testAccount', 404],
  ['pauseAccount', 200, () => ({ path: ['engine'] })],
  ['pauseAccount', 400, () => ({ path: ['studio'] })],
  ['pauseAccount', 404],
  ['drainAccount', 200, () => ({ path: ['engine'] })],
  ['drainAccount', 404],
  ['resumeAccount', 200, () => ({ path: ['engine'] })],
  ['resumeAccount', 200, () => ({ path: ['studio'] })],
  ['resumeAccount', 404],
  ['removeAccount', 200, () => ({ path: ['engine'] })],
  ['removeAccount', 400, () => ({ path: ['studio'] })],
  ['removeAccount', 404],
  ['listDeclaredModels', 200],
  ['setModel', 200, () => ({ body: { name: 'my/own', settings: { account: 'studio' } } })],
  ['setModel', 400, () => ({ body: { name: 'my/own', settings: { account: 'nobody' } } })],
  ['changeModel', 200, () => ({ path: ['my/own'], body: { settings: { paused: true } } })],
  ['changeModel', 400, () => ({ path: ['my/own'], body: { settings: { account: null, paused: null } } })],
  ['changeModel', 404, () => ({ body: { settings: { paused: true } } })],
  ['setAlias', 200, () => ({ body: { name: 'another', model: 'my/own' } })],
  ['setAlias', 400, () => ({ body: { name: 'yet/another', model: 'nothing' } })],
  ['removeModel', 400, () => ({ path: ['my/own'] })],
  ['removeAlias', 200, () => ({ path: ['another'] })],
  ['removeAlias', 404],
  ['removeModel', 200, () => ({ path: ['my/own'] })],
  ['removeModel', 404],
  ['createToken', 200, () => ({ body: { name: 'anna', project: 'shop', metadata: { team: 'film' } } })],
  ['createToken', 400, () => ({ body: { name: 'anna' } })],
  ['createToken', 400, () => ({ body: { name: 'ben', ip_ranges: ['nowhere'] } })],
  ['listTokens', 200],
  ['listTokens', 200, () => ({ query: '?project=shop&limit=1' })],
  ['listTokens', 400, () => ({ query: '?after=nothing' })],
  ['listTokens', 400, () => ({ query: '?projekt=shop' })],
  ['showToken', 200, () => ({ path: [ids.token] })],
  ['showToken', 200, () => ({ path: ['config:default'] })],
  ['showToken', 404],
  ['changeToken', 200, () => ({ path: [ids.token], body: { rate: 5, expires_at: '2999-01-01T00:00:00Z' } })],
  ['changeToken', 400, () => ({ path: [ids.token], body: { expires_at: 'soon' } })],
  ['changeToken', 400, () => ({ path: ['config:default'], body: { rate: 5 } })],
  ['changeToken', 404, () => ({ body: { rate: 5 } })],
  ['rotateToken', 200, () => ({ path: [ids.token], body: { overlap_seconds: 60 } })],
  ['rotateToken', 200, () => ({ path: [ids.token] })],
  ['rotateToken', 400, () => ({ path: [ids.token], body: { overlap_seconds: -1 } })],
  ['rotateToken', 404],
  ['revokeToken', 200, () => ({ path: [ids.token] })],
  ['revokeToken', 400, () => ({ path: ['config:default'] })],
  ['revokeToken', 404],
  ['showUsage', 200],
  ['showUsage', 200, () => ({ query: '?group_by=token,project,model,account,day,hour' })],
  ['showUsage', 200, () => ({ query: '?group_by=account,day&model=studio&format=csv' })],
  ['showUsage', 400, () => ({ query: '?since=2020-01-01' })],
  ['showUsage', 400, () => ({ query: '?colour=red' })],
  ['listAlarms', 200],
  ['listAlarms', 200, () => ({ query: '?status=all&limit=1' })],
  ['listAlarms', 400, () => ({ query: '?status=odd' })],
  ['acknowledgeAlarm', 200, () => ({ path: [ids.alarm] })],
  ['acknowledgeAlarm', 404],
  ['showStatus', 200],
  ['showStorage', 200],
  ['showSettings', 200],
  ['createConsoleCode', 200],
  ['listAuditEntries', 200],
  ['listAuditEntries', 200, () => ({ query: '?after=2&limit=1' })],
  ['listAuditEntries', 200, () => ({ query: '?format=csv' })],
  ['listAuditEntries', 200, () => ({ query: '?format=jsonl&limit=1' })],
  ['listAuditEntries', 400, () => ({ query: '?after=now' })],
  ['listAuditEntries', 400, () => ({ query: '?format=pdf' })],
  ['readMetrics', 200],
  ['readMetrics', 200, () => ({ headers: { accept: 'application/openmetrics-text; version=1.0.0' } })],
  ['listAuditEntries', 400, () => ({ query: '?from=2' })],
  ['live', 200],
  ['ready', 200],
  ['describe', 200],
  ['readReference', 200],
  ['readSummary', 200],
  ['readModels', 200],
  ['readModel', 200, () => ({ path: ['acme/fast'] })],
  ['readModel', 404],
  ['readSample', 206, () => ({ headers: { range: 'bytes=0-9' } })],
  ['readImage', 200, () => ({ path: ['1280x720.png'] })],
  ['readImage', 404, () => ({ path: ['9999x9999.png'] })],
  ['deleteVideo', 200, () => ({ path: [ids.queued] })],
  ['deleteVideo', 404],
]

it('every answer of the table has the status and the shape that the document gives it', async () => {
  for (const [id, status, ask] of rows) await responses.ask(send, id, status, ask?.())
})

it('a client that has the document, its page or the sample video gets 304', async () => {
  for (const id of ['describe', 'readReference', 'readSample']) {
    const { headers } = await responses.ask(send, id, 200)
    await responses.ask(send, id, 304, { headers: { 'if-none-match': headers.get('etag') ?? '' } })
    await responses.ask(send, id, 200, { headers: { 'if-none-match': '"another"' } })
  }
})

it('every route that needs a token refuses a request without one', async () => {
  for (const [id, { operation }] of responses.operations)
    if (operation.security.length > 0) await responses.ask(send, id, 401, { headers: { authorization: '' } })
})

it('every route for operators refuses a client token, and every change also a viewer', async () => {
  const { bytes } = await responses.ask(send, 'createToken', 200, {
    body: { name: 'a viewer', kind: 'operator', role: 'viewer' },
  })
  const viewer = { authorization: `Bearer ${JSON.parse(bytes.toString()).secret}` }
  const routes = [...responses.operations].filter(([, { operation }]) =>
    operation.security.some((one) => 'operator' in one),
  )
  assert.ok(routes.length > 10)
  for (const [id, { method }] of routes) {
    await responses.ask(send, id, 403, { headers: { authorization: `Bearer ${token}` } })
    if (method !== 'GET' && id !== viewersPost) await responses.ask(send, id, 403, { headers: viewer })
  }
  await responses.ask(send, viewersPost, 200, { headers: viewer, body: film })
})

/** It changes nothing. */
const viewersPost = 'quoteForProject'

/** The headers of a page of the console where someone signed in with this secret. */
async function signedIn(secret: string): Promise<Record<string, string>> {
  const own = { 'sec-fetch-site': 'same-origin', 'x-filmgate-console': '1', 'content-type': 'application/json' }
  const init = { method: 'POST', headers: own, body: JSON.stringify({ token: secret }) }
  const response = await fetch(`${world.service.url}/console/session`, init)
  assert.equal(response.status, 200)
  const cookie = response.headers.get('set-cookie')?.split(';')[0] ?? ''
  return { authorization: '', cookie, 'sec-fetch-site': 'same-origin', 'x-filmgate-console': '1' }
}

it('every route that needs a token takes a session for it, of the right kind and from its own pages only', async () => {
  const made = await responses.ask(send, 'createToken', 200, {
    body: { name: 'a viewer with a session', kind: 'operator', role: 'viewer' },
  })
  const [client, viewer] = [await signedIn(token), await signedIn(JSON.parse(made.bytes.toString()).secret)]
  let routes = 0
  for (const [id, { operation, method }] of responses.operations) {
    if (operation.security.length === 0) continue
    routes += 1
    const isOperator = operation.security.some((one) => 'operator' in one)
    const [right, wrong] = isOperator ? [viewer, client] : [client, viewer]
    // Metrics are for programs, which send a token.
    if (id === 'readMetrics') await responses.ask(send, id, 401, { headers: right })
    else {
      await responses.ask(send, id, isOperator ? 403 : 401, { headers: wrong })
      if (isOperator && method !== 'GET' && id !== viewersPost) await responses.ask(send, id, 403, { headers: viewer })
      await responses.ask(send, id, 401, { headers: { ...right, 'sec-fetch-site': 'cross-site' } })
      if (method !== 'GET') await responses.ask(send, id, 401, { headers: { ...right, 'x-filmgate-console': '' } })
    }
  }
  assert.ok(routes > 50, `${routes} routes`)
})

it('every route that needs a token refuses one that is garbage, mistyped, disabled, expired or revoked', async () => {
  const secretOf = async (name: string, more: object) => {
    const made = await responses.ask(send, 'createToken', 200, { body: { name, ...more } })
    return JSON.parse(made.bytes.toString()) as { id: string; secret: string }
  }
  let asked = 0
  for (const kind of ['client', 'operator']) {
    const disabled = await secretOf(`${kind}, disabled`, { kind, enabled: false })
    const expired = await secretOf(`${kind}, expired`, {
      kind,
      expires_at: new Date(world.clock.now() + 5_000).toISOString(),
    })
    const revoked = await secretOf(`${kind}, revoked`, { kind })
    await responses.ask(send, 'revokeToken', 200, { path: [revoked.id] })
    world.clock.jump(5_000)
    const secrets = ['garbage', revoked.secret.slice(0, -1), disabled.secret, expired.secret, revoked.secret]
    for (const [id, { operation }] of responses.operations)
      if (operation.security.some((one) => kind in one))
        for (const secret of secrets) {
          // Each from an address of its own: many wrong secrets from one address are slowed down.
          const address = `198.51.${Math.floor(asked / 250)}.${asked++ % 250}`
          const headers = { authorization: `Bearer ${secret}`, 'x-forwarded-for': address }
          await responses.ask(send, id, 401, { headers })
        }
  }
})

it('every route that is not a GET refuses a body that is no JSON, of another type, or too large', async () => {
  for (const [id, { method }] of responses.operations) {
    if (method === 'GET') continue
    await responses.ask(send, id, 400, { body: '{' })
    await responses.ask(send, id, 415, { body: 'x', headers: { 'content-type': 'text/odd' } })
    await responses.ask(sendTooMuch(world.service.url), id, 413)
  }
})

/** Values of path parameters, by name. */
const places: Record<string, string> = {
  ...{ video_id: `video_${'0'.repeat(48)}`, task_id: `video_${'0'.repeat(48)}`, name: 'studio' },
  token_id: `tok_${'0'.repeat(12)}`,
  alarm_id: `alarm_${'0'.repeat(28)}`,
  ...{ model: 'studio', alias: 'studio' },
  ...{ webhook_endpoint_id: `whe_${'0'.repeat(36)}`, webhook_delivery_id: `wh_${'0'.repeat(44)}` },
}

it('every route with an id gives another token the same 404 as for an id that does not exist', async () => {
  const made = await responses.ask(send, 'createToken', 200, { body: { name: 'a stranger' } })
  const { secret } = JSON.parse(made.bytes.toString())
  for (const headers of [{ authorization: `Bearer ${secret}` }, await signedIn(secret)])
    await assertNothingFound(headers)
})

async function assertNothingFound(headers: Record<string, string>): Promise<void> {
  const existing: Record<string, string> = {
    ...{ video_id: ids.done, webhook_endpoint_id: ids.endpoint, webhook_delivery_id: ids.delivery },
  }
  let routes = 0
  for (const [id, { operation }] of responses.operations) {
    const names = operation.parameters?.map(({ name }) => name).filter((name) => name in existing) ?? []
    if (names.length === 0 || !operation.security.some((one) => 'client' in one)) continue
    routes += 1
    const example = operation.requestBody?.content['application/json']?.example
    const bodies = [existing, places].map(async (known) => {
      const path = names.map((name) => known[name] ?? '')
      const { bytes } = await responses.ask(send, id, 404, { path, headers, ...(example && { body: example }) })
      return path.reduce((text, value, at) => text.replaceAll(value, names[at] ?? ''), bytes.toString())
    })
    const [foreign, absent] = await Promise.all(bodies)
    assert.equal(foreign, absent, id)
  }
  assert.ok(routes > 10, `${routes} routes`)
  for (const id of ['editVideo', 'extendVideo']) {
    const bodies = [existing, places].map(async ({ video_id: video = '' }) => {
      const body = { prompt: 'in summer', seconds: '1', video: { id: video } }
      return (await responses.ask(send, id, 404, { headers, body })).bytes.toString().replaceAll(video, 'ID')
    })
    const [foreign, absent] = await Promise.all(bodies)
    assert.equal(foreign, absent, id)
  }
}

it('every route that needs the store says so when it is gone', async () => {
  await using broken = await startBroken()
  for (const [id, { operation }] of responses.operations) {
    if (!operation.responses[503]) continue
    const example = operation.requestBody?.content['application/json']?.example
    const path = operation.parameters?.flatMap(({ name }) => places[name] ?? [])
    await responses.ask(broken.send, id, 503, { ...(path && { path }), ...(example && { body: example }) })
  }
  // Tokens are in memory.
  const { bytes } = await responses.ask(broken.send, 'showToken', 200, { path: [places.token_id ?? ''] })
  assert.equal(JSON.parse(bytes.toString()).used, null)
})

it('every change of what others change all the time is a conflict', async () => {
  const [nothing, none] = [async () => undefined, async () => []]
  const reads = { tokens: none, declarations: none, queueOf: none, newestDeclaration: async () => 0 }
  const store = { ...reads, unfinishedOf: async () => 0, updateToken: nothing, saveDeclaration: nothing }
  await using contended = await startBroken({ store, healths: { refresh: nothing }, mode: 'paused' })
  for (const [id, { operation }] of responses.operations) {
    if (!operation.responses[409]) continue
    const example = operation.requestBody?.content['application/json']?.example
    const path = operation.parameters?.flatMap(({ name }) => places[name] ?? [])
    const { bytes } = await responses.ask(contended.send, id, 409, {
      ...(path && { path }),
      ...(example && { body: example }),
    })
    assert.match(bytes.toString(), /at the same time\. Check it, and try again\..*"changed_meanwhile"/)
  }
})

it('every route with a rate refuses a token that uses it too often', async () => {
  const now = Date.now()
  // The clock stands still, so that nothing is refilled.
  const clock = { ...jumpingClock(), now: () => now }
  await using limited = await startService({ env: { FILMGATE_RATE: '1' }, world: { clock } })
  await limited.submit(film)
  // Refused requests count, too.
  const writes = Array.from({ length: 60 }, () => limited.fetch('/v1/webhook_endpoints', { method: 'POST' }))
  const quotes = Array.from({ length: 120 }, () => limited.fetch('/v1/videos/quote', { method: 'POST' }))
  await Promise.all([...writes, ...quotes])
  for (const [id, { operation, method }] of responses.operations)
    if (operation.responses[429] && method !== 'GET') await responses.ask(sendTo(limited.url), id, 429, { body: {} })
})

it('every route that waits, streams or searches refuses a token that has too many such requests open', async () => {
  let searches = 0
  await using stage = await openStage(() => ({
    list(_owner, { status }) {
      if (status) searches += 1
      return new Promise(() => {})
    },
    usage: () => new Promise(() => {}),
  }))
  const { id } = await stage.queued('1')
  const over = new AbortController()
  const open = (count: number, path: string) =>
    Array.from({ length: count }, () => stage.fetch(path, { signal: over.signal }))
  await Promise.all([...open(64, `/v1/videos/${id}/events`), ...open(64, '/v1/videos/events')])
  const lists = Promise.allSettled(open(32, '/v1/videos?status=queued'))
  await until('all lists are open', () => searches === 32)
  const reports = open(8, '/v1/usage')
  let refusals = 0
  for (const report of reports)
    report.then(
      ({ status }) => {
        refusals += Number(status === 429)
      },
      () => {},
    )
  await until('four reports are open, and the others are refused', () => refusals === 4)
  const headers = { authorization: 'Bearer alice' }
  const refused = (name: string, asked: Ask = {}) =>
    responses.ask(sendTo(stage.url), name, 429, { path: [id], headers, ...asked })
  for (const name of ['retrieveVideo', 'retrieveVideosGeneration', 'retrieveVideoGeneration'])
    await refused(name, { query: '?wait=60' })
  for (const name of ['streamVideo', 'streamVideos']) await refused(name)
  await refused('listVideos', { query: '?status=queued' })
  await refused('retrieveUsage')
  over.abort()
  await Promise.allSettled([lists, ...reports])
})

it('a video that expired is gone, and still what it was', async () => {
  world.clock.jump(25 * 3_600_000)
  await responses.ask(send, 'downloadVideo', 410, { path: [ids.done] })
  await responses.ask(send, 'downloadTask', 410, { path: [ids.done] })
  await responses.ask(send, 'retrieveVideo', 200, { path: [ids.done] })
})

it('every documented answer was seen', (test) => {
  for (const [pair, why] of Object.entries(elsewhere)) test.diagnostic(`${pair} is not asked for here: it ${why}`)
  assert.deepEqual(responses.missing().toSorted(), Object.keys(elsewhere).toSorted())
})
