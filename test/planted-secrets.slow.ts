import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { text } from 'node:stream/consumers'
import { it } from 'node:test'
import { tinyFilm } from '../simulators/upstream/tiny-film.ts'
import { providers } from '../src/providers/index.ts'
import { startCollector } from './collector.ts'
import { startService, type TestService, until } from './service.ts'
import { startReceiver } from './webhook-world.ts'

/*
 * Secrets with recognisable values are configured, generated and used. Then they are searched for in every response, every log
 * line, every span, every column of the database and every other file of the data folder.
 */

const planted = {
  provider: 'planted-provider-key-7f3a9c51',
  client: 'planted-client-token-91c2ab77',
  configured: 'planted-configured-token-08be6d2c',
  operator: 'planted-operator-token-55de10fa',
  meter: 'planted-meter-token-3b80f6e9',
  added: 'planted-added-account-key-c4417d02',
  collector: 'planted-collector-key-e2d91a64',
  alarms: 'planted-alarm-url-token-6e02c9d4',
  alarmSigner: `whsec_${Buffer.from('planted-alarm-signer-1d7be058aa').toString('base64')}`,
}

/** What the upstream does with a video, by its prompt. In each response it sends our key back, as real servers do. */
const fates: Record<string, (response: ServerResponse, key: string) => void> = {
  'ends well': (response, key) => send(response, 200, { id: 'video_ok', status: 'queued', key }),
  'fails later': (response, key) => send(response, 200, { id: 'video_bad', status: 'queued', key }),
  'is refused': (response, key) =>
    send(response, 400, { error: { message: `The key ${key} can't do that.`, code: key } }),
  'is unclear': (response, key) => void response.writeHead(500, { 'content-type': 'text/html' }).end(`<p>${key}</p>`),
  'has a bad key': (response, key) =>
    send(response, 401, { error: { message: `Incorrect API key provided: ${key}`, code: 'invalid_api_key' } }),
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

/** A server that speaks OpenAI's Videos API. */
async function startUpstream() {
  const keys = new Set<string>()
  const server = createServer(async (request, response) => {
    const key = String(request.headers.authorization).replace('Bearer ', '')
    keys.add(key)
    response.setHeader('x-your-key', key)
    const body = await text(request)
    const [, , , id, content] = (request.url ?? '').split(/[/?]/)
    if (request.method === 'POST') {
      const [, decide] = Object.entries(fates).find(([prompt]) => body.includes(prompt)) ?? []
      return decide ? decide(response, key) : send(response, 500, {})
    }
    if (content === 'content') return void response.end(tinyFilm)
    if (id === 'video_ok') return send(response, 200, { id, status: 'completed', key })
    if (id === 'video_bad') return send(response, 200, { id, status: 'failed', error: { code: key, message: key } })
    if (request.url === '/v1/models') return send(response, 200, { data: [{ id: 'film', object: 'model' }] })
    send(response, 200, { object: 'list', data: [], key })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    keys,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

interface Asked {
  body?: object | string
  method?: string
  secret?: string
  /** The field that shows a new secret: this response, and no other, may have it. */
  shows?: 'secret' | 'signing_secret'
}

type Answer = Record<string, unknown> & { id: string; status: string; state: string; data: Record<string, unknown>[] }

/** Sends requests, and keeps every response and every secret that one of them shows. */
class Witness {
  readonly secrets = new Map<string, string>(Object.entries(planted))
  readonly seen: { where: string; text: string }[] = []
  readonly #service: TestService
  constructor(service: TestService) {
    this.#service = service
  }

  async ask(path: string, { body, method, secret = planted.client, shows }: Asked = {}) {
    const init = {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: { authorization: `Bearer ${secret}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    }
    const response = await this.#service.fetch(path, init)
    const sent = await response.text()
    const answer = (/^[{]/.test(sent) ? JSON.parse(sent) : {}) as Answer
    const { [shows ?? '']: shown, ...rest } = answer
    if (shows) this.secrets.set(`${shows} of ${path}`, String(shown))
    const where = `${init.method} ${path}`
    this.seen.push({
      where,
      text: `${response.status} ${JSON.stringify([...response.headers])} ${shows ? JSON.stringify(rest) : sent}`,
    })
    return { status: response.status, answer, shown: String(shown) }
  }

  operate(path: string, asked: Asked = {}) {
    return this.ask(`/operator/v1${path}`, { secret: planted.operator, ...asked })
  }

  /** The parts that must not be found. The id of a token, and the prefix of a webhook secret, are public. */
  parts(): [name: string, part: string][] {
    return [...this.secrets].map(([name, secret]) => [name, secret.replace(/^(fg_[0-9a-z]{12}_|whsec_)/, '')])
  }
}

/** The columns of all tables that contain one of the texts. */
function columnsWith(database: DatabaseSync, parts: readonly string[]): string[] {
  const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all()
  const found = tables.flatMap(({ name: table }) =>
    database
      .prepare(`SELECT * FROM "${table}"`)
      .all()
      .flatMap((row) => Object.entries(row))
      .filter(([, value]) => {
        const stored = value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value)
        return parts.some((part) => stored.includes(part))
      })
      .map(([column]) => `${table}.${column}`),
  )
  return [...new Set(found)].sort()
}

/** Submits one video of each fate, and waits until each has met it. */
async function meetFates(witness: Witness, secret: string): Promise<string> {
  const ids: Record<string, string> = {}
  const statusOf = async (id = '') => (await witness.ask(`/v1/videos/${id}`, { secret })).answer.status
  for (const prompt of Object.keys(fates)) {
    const film = { model: 'film', prompt: `it ${prompt}`, seconds: '4', size: '1280x720' }
    const { status, answer } = await witness.ask('/v1/videos', { body: film, secret })
    assert.equal(status, 200, JSON.stringify(answer))
    ids[prompt] = answer.id
    if (prompt === 'is unclear')
      await until('it is held and given up', async () => {
        const given = await witness.operate(`/tasks/${answer.id}/give_up`, { method: 'POST' })
        return given.status === 200
      })
    else if (prompt === 'has a bad key')
      await until('it was refused', async () => {
        const { answer: task } = await witness.operate(`/tasks/${answer.id}`)
        return JSON.stringify(task.attempts ?? []).includes('"state":"refused"')
      })
    else await until('it ends', async () => ['completed', 'failed'].includes(await statusOf(answer.id)))
  }
  assert.equal(await statusOf(ids['ends well']), 'completed')
  for (const prompt of ['fails later', 'is refused', 'is unclear']) assert.equal(await statusOf(ids[prompt]), 'failed')
  for (const id of Object.values(ids)) await witness.operate(`/tasks/${id}`)
  return ids['ends well'] ?? ''
}

/** Everything that can be read, and requests that fail. */
async function readAll(witness: Witness, secret: string, endpoint: string): Promise<void> {
  const deliveries = `/v1/webhook_endpoints/${endpoint}/deliveries`
  await until('a delivery was tried', async () => {
    const { answer } = await witness.ask(deliveries, { secret })
    return answer.data.some(({ tries }) => Array.isArray(tries) && tries.length > 0)
  })
  await witness.ask(`/v1/webhook_endpoints/${endpoint}/test`, { body: { event_type: 'video.completed' }, secret })
  const own = ['/v1/videos', '/v1/models', '/v1/usage', '/v1/webhook_endpoints', `/v1/webhook_endpoints/${endpoint}`]
  for (const path of own) await witness.ask(path, { secret })
  const listed = [
    '/tasks',
    '/attempts?state=orphan',
    '/attempts?state=open',
    '/accounts',
    '/models',
    '/tokens',
    '/audit',
    '/alarms',
    '/status',
    '/storage',
    '/settings',
  ]
  for (const path of [...listed, '/usage']) await witness.operate(path)
  for (const path of ['/livez', '/readyz', '/openapi.json', '/docs', '/nothing']) await witness.ask(path)
  await witness.ask('/v1/videos', { secret: `${secret.slice(0, -1)}_` })
  await witness.ask('/v1/videos', { secret: planted.operator })
  await witness.operate('/tokens', { secret: planted.client })
  await witness.ask('/v1/videos', { body: `{"model": ${planted.configured}` })
  await witness.ask('/v1/videos', { body: { model: 'none', prompt: 'x' }, secret: planted.configured })
}

it('no secret is in clear in any response, log line, span, column or file', async () => {
  await using upstream = await startUpstream()
  await using receiver = await startReceiver()
  await using collector = await startCollector()
  // It fails, and sends back what it received.
  receiver.handle = ({ headers }, response) => void response.writeHead(500).end(JSON.stringify(headers))
  const yaml = JSON.stringify({
    accounts: { main: { provider: 'openai', base_url: upstream.url, key: planted.provider, on_unknown: 'hold' } },
    models: { film: { account: 'main' } },
    tokens: [{ name: 'team', secret: planted.configured }],
    outbound: { allow: [`127.0.0.1:${receiver.port}`] },
  })
  const env = {
    FILMGATE_TOKEN: planted.client,
    FILMGATE_OPERATOR_TOKEN: planted.operator,
    FILMGATE_USAGE_WEBHOOK: `${receiver.url}/usage`,
    FILMGATE_USAGE_WEBHOOK_TOKEN: planted.meter,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${planted.collector}`,
    FILMGATE_TRACE_PROMPTS: 'on',
    FILMGATE_ALARM_SLACK: `${receiver.url}/slack?key=${planted.alarms}`,
    FILMGATE_ALARM_WEBHOOK: `${receiver.url}/alarms`,
    FILMGATE_ALARM_WEBHOOK_SECRET: planted.alarmSigner,
  }
  await using service = await startService({ yaml, env, members: providers, world: { alarmLookMs: 200 } })
  const witness = new Witness(service)

  const created = await witness.operate('/tokens', { body: { name: 'anna', queued: 50 }, shows: 'secret' })
  const token = `/tokens/${created.answer.id}`
  const rotated = await witness.operate(`${token}/rotate`, { body: { overlap_seconds: 600 }, shows: 'secret' })
  await witness.operate(token, { body: { rate: 600, metadata: { team: 'film' } } })
  await witness.operate(token)
  const account = { name: 'second', provider: 'openai', base_url: upstream.url, key: planted.added }
  assert.equal((await witness.operate('/accounts', { body: account })).status, 200)
  await witness.operate('/accounts/second')
  await witness.operate('/accounts/second/test', { method: 'POST' })
  const secret = rotated.shown
  const hook = { name: 'films', url: `${receiver.url}/hook`, event_types: ['video.completed', 'video.failed'] }
  const endpoint = await witness.ask('/v1/webhook_endpoints', { body: hook, secret, shows: 'signing_secret' })
  const rotation = `/v1/webhook_endpoints/${endpoint.answer.id}/rotate_secret`
  const both = { keep_old_secret_active_for_24_hours: true }
  const renewed = await witness.ask(rotation, { body: both, secret, shows: 'signing_secret' })
  assert.deepEqual([created.status, rotated.status, endpoint.status, renewed.status], [200, 200, 200, 200])

  const video = await meetFates(witness, secret)
  await readAll(witness, secret, endpoint.answer.id)
  // A video whose bytes are missing is an internal error, and the log has the URL of the request.
  rmSync(join(service.data, 'bucket'), { recursive: true })
  const lost = await witness.ask(`/v1/videos/${video}/content?key=${planted.configured}`, { secret })
  assert.equal(lost.status, 500)
  assert.ok(service.log.some((line) => line.includes('request failed')))
  assert.ok(upstream.keys.has(planted.provider), 'the upstream had the key that it sends back')
  assert.ok(receiver.all.length > 0, 'a webhook was sent')
  for (const path of ['/slack', '/alarms'])
    await until(`an alarm was sent to ${path}`, () => receiver.all.some((sent) => sent.path.startsWith(path)))

  const names = () => new Set(collector.spans().map(({ name }) => name))
  await until('spans of each sort were sent', () => names().has('video film') && names().has('deliver webhook'))
  assert.equal(collector.receiver.all[0]?.headers.authorization, `Bearer ${planted.collector}`)

  const parts = witness.parts()
  assert.equal(new Set(parts.map(([, part]) => part)).size, 13)
  for (const [name, part] of parts) {
    const answers = witness.seen.filter(({ text }) => text.includes(part)).map(({ where }) => where)
    assert.deepEqual(answers, [], `${name} is in a response`)
    const lines = service.log.filter((line) => line.includes(part))
    assert.deepEqual(lines, [], `${name} is in the log`)
    assert.ok(!collector.text.includes(part), `${name} is in a span`)
    const files = readdirSync(service.data, { recursive: true, withFileTypes: true })
      .filter((file) => file.isFile() && !file.name.startsWith('filmgate.db'))
      .filter((file) => readFileSync(join(file.parentPath, file.name)).includes(part))
    assert.deepEqual(files, [], `${name} is in a file`)
  }
  using database = new DatabaseSync(join(service.data, 'filmgate.db'), { readOnly: true, timeout: 5_000 })
  const found = columnsWith(
    database,
    parts.map(([, part]) => part),
  )
  assert.deepEqual(found, [])
})
