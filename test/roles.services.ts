import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import pg from 'pg'
import type { Bucket } from '../src/buckets/bucket.ts'
import { openS3 } from '../src/buckets/index.ts'
import { ask, comes, finish, submit } from './fleet-world.ts'
import { type ServerProcess, spawnServer } from './process.ts'
import { startService, type TestService, token, until } from './service.ts'
import { startPlaces } from './services/places.ts'

/* A process in the role `api` on a shared store: how it ends, and what slow clients cost it. */

const megabyte = 2 ** 20
const small = { seconds: 1, size: '256x256' }
const film = randomBytes(48 * megabyte)
const folder = mkdtempSync(join(tmpdir(), 'filmgate-roles-'))
const places = await startPlaces({ fsync: 'off' })
const { postgres, s3 } = places
let bucket: Bucket
let worker: TestService
let large: string

before(async () => {
  bucket = await openS3({ ...s3, prefix: 'films', forcePathStyle: true })
  worker = await startService({ env: settings('worker') })
  await using api = await startApi('first')
  large = await makeLarge(api)
})
after(async () => {
  await worker[Symbol.asyncDispose]()
  await places[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true })
})

const settings = (role: string) => ({ ...places.settings(role), FILMGATE_TOKEN: token })

type Api = ServerProcess & { readonly at: string }

async function startApi(name: string): Promise<Api> {
  const { AWS_ACCESS_KEY_ID = '', AWS_SECRET_ACCESS_KEY = '' } = process.env
  const env = { ...settings('api'), AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY }
  const server = spawnServer({ args: ['--data', join(folder, name)], env })
  return Object.assign(server, { at: await server.url })
}

async function query(text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: postgres.url })
  await client.connect()
  return (await client.query(text, values).finally(() => client.end())).rows
}

/** A video of one second, whose bytes are then replaced by many others: they are not decoded again. */
async function makeLarge({ at: url }: Api): Promise<string> {
  const id = await submit({ url }, 'studio', 'a film', small)
  await finish({ url }, id)
  const video = await bucket.put(`${id}/large.mp4`, [film], new AbortController().signal)
  await query('UPDATE tasks SET video = $1 WHERE id = $2', [JSON.stringify(video), id])
  return id
}

/** Has read the head of the response, and reads on only when the test says so. */
async function download({ at }: Api): Promise<IncomingMessage> {
  const headers = { authorization: `Bearer ${token}` }
  const [answer] = await once(get(`${at}/v1/videos/${large}/content`, { headers, agent: false }), 'response')
  return answer.on('error', () => {}).pause()
}

async function digestOf(answer: IncomingMessage): Promise<string> {
  const digest = createHash('sha256')
  for await (const chunk of answer) digest.update(chunk)
  return digest.digest('hex')
}

/** A connection on which there was a request already; a second one is begun, and ended later. */
async function begin({ at }: Api, head: string, rest: string) {
  const { port, hostname } = new URL(at)
  const socket: Socket = connect(Number(port), hostname)
  let text = ''
  socket.setEncoding('utf8').on('data', (more) => {
    text += more
  })
  socket.write('GET /livez HTTP/1.1\r\nHost: filmgate\r\n\r\n')
  await comes('the first answer', () => text.includes('"ok"'))
  text = ''
  socket.write(head)
  return {
    async end(): Promise<{ status: number; body: Record<string, unknown> }> {
      socket.write(rest)
      const [top = '', json = ''] = await comes('the second answer', () => /^(.+?)\r\n\r\n(.+)$/s.exec(text)?.slice(1))
      return { status: Number(top.split(' ')[1]), body: JSON.parse(json) }
    },
    closed: () => socket.closed,
  }
}

const common = `Host: filmgate\r\nAuthorization: Bearer ${token}\r\n`
const body = JSON.stringify({ model: 'studio', prompt: 'in two halves', ...small })
const post = `POST /v1/videos HTTP/1.1\r\n${common}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`

const stopping = ({ output }: Api) => comes('it says that it stops', () => output.stdout.includes('Stopping'))

/** Nothing is written to the tasks until it is released. */
async function lockTasks(): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: postgres.url })
  await client.connect()
  await client.query('BEGIN; LOCK TABLE tasks IN EXCLUSIVE MODE')
  return async () => {
    await client.query('COMMIT')
    await client.end()
  }
}

describe('H1: SIGTERM of a process that takes requests', () => {
  it('is no longer ready, finishes its open requests and a large download, and exits with 0', async () => {
    await using api = await startApi('stopped')
    const slow = await download(api)
    const idle = await begin(api, '', '')
    const ready = await begin(api, 'GET /readyz HTTP/1.1\r\n', 'Host: filmgate\r\n\r\n')
    const poll = await begin(api, `GET /v1/videos/${large} HTTP/1.1\r\n`, `${common}\r\n`)
    const half = await begin(api, post + body.slice(0, 20), body.slice(20))
    const release = await lockTasks()
    const waiting = submit({ url: api.at }, 'studio', 'waits for the store', small)
    const waits = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%INSERT INTO tasks%'"
    await comes('the insert waits', async () => (await query(waits)).length > 0)
    const begun = Date.now()
    api.child.kill('SIGTERM')
    await stopping(api)
    await release()
    const accepted = await waiting
    const isRefused = () =>
      fetch(`${api.at}/livez`).then(
        () => false,
        () => true,
      )
    await comes('new connections are refused', isRefused)
    await comes('an idle one is closed', idle.closed)
    const { status, body: health } = await ready.end()
    assert.deepEqual([status, health.status], [503, 'draining'])
    assert.equal((await poll.end()).status, 200)
    const submitted = await half.end()
    assert.equal(submitted.status, 200)
    assert.equal(await digestOf(slow), createHash('sha256').update(film).digest('hex'))
    assert.deepEqual(await api.exit, { code: 0, signal: null })
    const took = Date.now() - begun
    assert.ok(took < 10_000, `it took ${took} ms, though nobody kept it`)
    await using other = await startApi('other')
    for (const id of [accepted, String(submitted.body.id)]) await finish({ url: other.at }, id)
  })

  it('cuts off a client that reads nothing, and exits with 0 within 30 s', async () => {
    await using api = await startApi('stalled')
    const stalled = await download(api)
    const begun = Date.now()
    api.child.kill('SIGTERM')
    assert.deepEqual(await api.exit, { code: 0, signal: null })
    assert.ok(Date.now() - begun < 30_000)
    await assert.rejects(digestOf(stalled))
  })

  it('and a second one ends it at once', async () => {
    await using api = await startApi('impatient')
    await download(api)
    const begun = Date.now()
    api.child.kill('SIGTERM')
    await stopping(api)
    // Within a second, a second signal counts as an echo of the first.
    await until('it ends', () => !api.child.kill('SIGTERM') || api.child.exitCode !== null)
    assert.deepEqual(await api.exit, { code: 1, signal: null })
    assert.ok(Date.now() - begun < 10_000)
  })
})

describe('H2: readers that do not read', () => {
  it('of a large film take a fixed part of memory each, and keep nobody waiting', async () => {
    await using api = await startApi('slow')
    const url = api.at
    const residentMb = () =>
      Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${api.child.pid}/status`, 'utf8'))?.[1]) / 1024
    const expected = createHash('sha256').update(film).digest('hex')
    const read = async () => assert.equal(await digestOf(await download(api)), expected)
    await read()
    const before = residentMb()
    const readers = await Promise.all(Array.from({ length: 40 }, () => download(api)))
    // While the others read this much, these could have been read, too.
    for (let round = 0; round < 3; round += 1) await read()
    assert.equal((await ask({ url }, `/v1/videos/${large}`)).status, 200)
    const grown = residentMb() - before
    const all = (readers.length * film.length) / megabyte
    assert.ok(grown < 200, `${Math.round(grown)} MB more for ${readers.length} readers of ${all} MB`)
    for (const reader of readers) reader.destroy()
  })
})
