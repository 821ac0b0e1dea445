import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmdirSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { it, type TestContext } from 'node:test'
import { type ServerProcess, spawnServer } from './process.ts'
import { until } from './service.ts'
import { mountDisk, notMounted, type SmallDisk } from './small-disk.ts'

/* A start on a full or read-only disk: stored videos are served, and everything else goes on once the disk is writable. */

const FILMGATE_TOKEN = 'My API Key'
const film = { model: 'studio', prompt: 'a storm over the sea', seconds: '1', size: '256x256' }

interface Answer {
  status: number
  headers: Headers
  body: Record<string, unknown>
}

/** A client of the server that opens a new connection for each request. */
function clientOf(url: string, token = FILMGATE_TOKEN) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', connection: 'close' }
  const ask = async (path: string, body?: object): Promise<Answer> => {
    const init = body ? { method: 'POST', headers, body: JSON.stringify(body) } : { headers }
    const answer = await fetch(`${url}${path}`, init)
    const isJson = answer.headers.get('content-type')?.includes('json')
    const read = isJson ? await answer.json() : { bytes: (await answer.arrayBuffer()).byteLength }
    return { status: answer.status, headers: answer.headers, body: read as Record<string, unknown> }
  }
  const becomes = (id: unknown, status: string) =>
    until(`${id} is ${status}`, async () => (await ask(`/v1/videos/${id}`)).body.status === status)
  return { ask, becomes }
}

function mount(test: TestContext): { disk: SmallDisk; data: string; path: string } | undefined {
  const path = mkdtempSync(join(tmpdir(), 'filmgate-start-'))
  const disk = mountDisk(path, 'size=32m')
  test.after(() => {
    disk?.[Symbol.dispose]()
    rmdirSync(path)
  })
  if (disk) return { disk, data: join(path, 'data'), path }
  test.skip(notMounted)
  return undefined
}

async function remount(path: string, options: string): Promise<void> {
  await until(`the disk is ${options}`, () => spawnSync('mount', ['-o', `remount,${options}`, path]).status === 0)
}

const serve = (data: string) =>
  spawnServer({ args: ['--data', data], env: { FILMGATE_TOKEN, FILMGATE_DISK_RESERVE: '0' } })

/** Leaves one finished and one unfinished video. */
async function fillFolder(data: string, end: NodeJS.Signals): Promise<{ finished: unknown; unfinished: unknown }> {
  await using server = serve(data)
  const { ask, becomes } = clientOf(await server.url)
  const finished = (await ask('/v1/videos', film)).body.id
  await becomes(finished, 'completed')
  const unfinished = (await ask('/v1/videos', { ...film, seconds: '8', size: '640x360' })).body.id
  await becomes(unfinished, 'in_progress')
  if (end === 'SIGKILL') await shortenLog(data)
  server.child.kill(end)
  await server.exit
  // A remount fails while a file is open for writing, or a deleted one is still open: the children end a moment later.
  await remount(dirname(data), 'ro')
  await remount(dirname(data), 'rw')
  return { finished, unfinished }
}

/** The next start moves the log into the database, which must not free enough space for all of its writes. */
async function shortenLog(data: string): Promise<void> {
  const path = join(data, 'filmgate.db')
  {
    using database = new DatabaseSync(path)
    const shorten = database.prepare('PRAGMA wal_checkpoint(TRUNCATE)')
    await until('nobody is in the way', () => shorten.get()?.busy === 0, 5)
  }
  await until('something is in the log', () => statSync(`${path}-wal`).size > 0, 5)
}

const lines = ({ output }: ServerProcess, event: RegExp) => output.stderr.split('\n').filter((line) => event.test(line))

async function servesWhatItHas(server: ServerProcess, finished: unknown, store: string): Promise<void> {
  const { ask } = clientOf(await server.url)
  assert.equal((await ask(`/v1/videos/${finished}`)).body.status, 'completed')
  assert.equal(((await ask('/v1/videos')).body.data as unknown[]).length, 2)
  const content = await ask(`/v1/videos/${finished}/content`)
  assert.equal(content.status, 200)
  assert.ok(Number(content.body.bytes) > 1_000)
  const refused = await ask('/v1/videos', film)
  assert.equal(refused.status, 503)
  assert.match(refused.headers.get('retry-after') ?? '', /^\d+$/)
  const ready = await ask('/readyz')
  assert.deepEqual([ready.status, ready.body.store], [503, store])
  assert.equal((await ask('/livez')).status, 200)
  assert.equal(lines(server, /the service starts read-only/).length, 1)
}

async function goesOn(server: ServerProcess, unfinished: unknown): Promise<void> {
  const { ask, becomes } = clientOf(await server.url)
  // By itself, without another request.
  await until('it is ready', async () => (await ask('/readyz')).status === 200)
  await until('it says so', () => lines(server, /after a read-only start: the store can be written/).length === 1)
  await becomes(unfinished, 'completed')
  const { body } = await ask('/v1/videos', film)
  await becomes(body.id, 'completed')
}

async function endsWell(server: ServerProcess, data: string): Promise<void> {
  server.child.kill('SIGTERM')
  assert.deepEqual(await server.exit, { code: 0, signal: null }, server.output.stderr)
  assert.deepEqual(
    readdirSync(data).filter((name) => name.startsWith('filmgate.db')),
    ['filmgate.db'],
  )
  using database = new DatabaseSync(join(data, 'filmgate.db'))
  assert.deepEqual({ ...database.prepare('PRAGMA integrity_check').get() }, { integrity_check: 'ok' })
}

for (const [end, how] of [
  ['SIGTERM', 'after a clean stop'],
  ['SIGKILL', 'after a crash'],
] as const) {
  it(`a start on a full disk ${how} serves what is stored, and goes on when there is room`, async (test) => {
    const mounted = mount(test)
    if (!mounted) return
    const { disk, data } = mounted
    const { finished, unfinished } = await fillFolder(data, end)
    disk.fill()
    await using server = serve(data)
    await server.url
    assert.match(
      server.output.stdout,
      /is running, read-only\.\n\n {2}Read-only +the disk of the database is full: free/,
    )
    await servesWhatItHas(server, finished, 'full')
    disk.free()
    await goesOn(server, unfinished)
    await endsWell(server, data)
  })

  it(`a start on a read-only disk ${how} does the same`, async (test) => {
    const mounted = mount(test)
    if (!mounted) return
    const { data, path } = mounted
    const { finished, unfinished } = await fillFolder(data, end)
    await remount(path, 'ro')
    await using server = serve(data)
    await server.url
    assert.match(server.output.stdout, /is running, read-only\.\n\n {2}Read-only +the database is read-only: make it/)
    await servesWhatItHas(server, finished, 'read_only')
    await remount(path, 'rw')
    await goesOn(server, unfinished)
    await endsWell(server, data)
  })
}

it('two read-only servers on one folder both serve, and neither writes while the other is there', async (test) => {
  const mounted = mount(test)
  if (!mounted) return
  const { data, path } = mounted
  const { finished, unfinished } = await fillFolder(data, 'SIGTERM')
  await remount(path, 'ro')
  await using first = serve(data)
  await using second = serve(data)
  for (const server of [first, second]) await servesWhatItHas(server, finished, 'read_only')
  await remount(path, 'rw')
  const { ask } = clientOf(await second.url)
  const refusal = () => lines(second, /another Filmgate is already running/).length > 0
  await until('it is refused', async () => (await ask('/v1/videos', film)).status === 503 && refusal())
  first.child.kill('SIGTERM')
  assert.equal((await first.exit).code, 0)
  await goesOn(second, unfinished)
})

it('a token that was generated is not accepted once another is configured, and is revoked when there is room', async (test) => {
  const mounted = mount(test)
  if (!mounted) return
  const { disk, data } = mounted
  const database = () => new DatabaseSync(join(data, 'filmgate.db'), { readOnly: true })
  let secret = ''
  {
    await using server = spawnServer({ args: ['--data', data] })
    await server.url
    secret = /Token +(fg_\w+)/.exec(server.output.stdout)?.[1] ?? ''
    assert.equal((await clientOf(await server.url, secret).ask('/v1/videos')).status, 200)
    server.child.kill('SIGTERM')
    await server.exit
  }
  disk.fill()
  await using server = serve(data)
  const url = await server.url
  assert.equal((await clientOf(url).ask('/v1/videos')).status, 200)
  assert.equal((await clientOf(url, secret).ask('/v1/videos')).status, 401)
  disk.free()
  await until('the token is revoked', () => lines(server, /the generated token 'default' is revoked/).length === 1)
  using opened = database()
  assert.deepEqual(
    opened
      .prepare('SELECT name FROM tokens WHERE revoked_at IS NULL')
      .all()
      .map(({ name }) => name),
    ['operator'],
  )
})

const migrations = new URL('../src/stores/migrations/sqlite/', import.meta.url)

it('the error names what has to be written first: a database to migrate or to create, or a token', async (test) => {
  const mounted = mount(test)
  if (!mounted) return
  const { disk, data, path } = mounted
  await fillFolder(data, 'SIGTERM')
  const setVersion = (version: number) => {
    using database = new DatabaseSync(join(data, 'filmgate.db'))
    database.exec(`PRAGMA user_version = ${version}`)
  }
  const newest = readdirSync(migrations)
    .filter((name) => name.endsWith('.sql'))
    .sort()
  setVersion(newest.length - 1)
  disk.fill()
  const cases: [string[], Record<string, string>, RegExp][] = [
    [
      ['--data', data],
      { FILMGATE_TOKEN },
      new RegExp(`its schema must be upgraded first \\(${newest.at(-1)}.*free some space`),
    ],
    [['--data', join(path, 'new')], { FILMGATE_TOKEN }, /filmgate\.db can't be opened: .*(full|I\/O)/],
  ]
  const refuse = async ([args, env, message]: (typeof cases)[number]) => {
    await using server = spawnServer({ args, env })
    assert.deepEqual(await server.exit, { code: 1, signal: null })
    assert.match(server.output.stderr, message)
    // Beside the log.
    assert.equal(lines(server, /^[^{]/).length, 1, server.output.stderr)
  }
  for (const one of cases) await refuse(one)
  disk.free()
  setVersion(newest.length)
  disk.fill()
  await refuse([
    ['--data', data],
    {},
    /there is no token, and none can be generated because the store can't be written; set FILMGATE_TOKEN/,
  ])
})
