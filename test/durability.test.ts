import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, it } from 'node:test'
import { pathToFileURL } from 'node:url'
import { assertDurable, type DiskEvent } from '../src/buckets/disk-watch.fixture.ts'
import type { TraceEvent } from './durability-trace.ts'
import { type SpawnOptions, spawnServer } from './process.ts'
import { startService, until } from './service.ts'

/* What is on disk before a client gets its response, seen from inside of the process and, where it works, by strace. */

const folder = mkdtempSync(join(tmpdir(), 'filmgate-durability-'))
after(() => rmSync(folder, { recursive: true }))
const authorization = 'Bearer My API Key'
const rounds = 10

/** Submits some videos one after the other and follows the last one to its end. Returns their ids. */
async function exercise(data: string, options: SpawnOptions): Promise<string[]> {
  const env = { FILMGATE_TOKEN: 'My API Key', ...options.env }
  await using server = spawnServer({ ...options, args: ['--data', data], env })
  const videos = `${await server.url}/v1/videos`
  const ids: string[] = []
  for (let round = 0; round < rounds; round += 1) {
    const body = JSON.stringify({ model: 'studio', prompt: `round ${round}`, seconds: '1', size: '256x256' })
    const headers = { authorization, 'content-type': 'application/json' }
    const response = await fetch(videos, { method: 'POST', headers, body })
    assert.equal(response.status, 200)
    ids.push(((await response.json()) as { id: string }).id)
  }
  await until('the last one is completed', async () => {
    const response = await fetch(`${videos}/${ids.at(-1)}`, { headers: { authorization } })
    const { status } = (await response.json()) as { status: string }
    assert.notEqual(status, 'failed')
    return status === 'completed'
  })
  server.child.kill('SIGTERM')
  await server.exit
  return ids
}

it('a submit is answered after its commit, and a video is completed after its bytes and their name are on disk', async () => {
  const [data, trace] = [join(folder, 'inside'), join(folder, 'inside.trace')]
  const preload = pathToFileURL(join(import.meta.dirname, 'durability-trace.ts'))
  const ids = await exercise(data, { env: { NODE_OPTIONS: `--import=${preload}`, TRACE_FILE: trace } })
  const lines = readFileSync(trace, 'utf8').trim().split('\n')
  const events = lines.map((line) => JSON.parse(line) as TraceEvent)
  /** The next event from there that matches. */
  const next = (from: number, what: string, fits: (event: TraceEvent) => boolean) => {
    const at = events.findIndex((event, place) => place >= from && fits(event))
    assert.ok(at >= 0, `${what} is missing`)
    return at
  }
  for (const id of ids) {
    const inserted = next(0, `the row of ${id}`, (event) => event.kind === 'row' && event.values.includes(id))
    const committed = next(inserted, `the commit of ${id}`, ({ kind }) => kind === 'commit')
    assert.deepEqual(events[committed], { kind: 'commit', synchronous: 2 }, 'a commit returns before its fsync')
    const answered = next(0, `the answer to ${id}`, (event) => event.kind === 'response' && event.body.includes(id))
    assert.ok(answered > committed, `${id} was answered before its commit`)
  }
  const last = ids.at(-1) ?? ''
  const completed = next(0, 'its completion', ({ kind, ...event }) => {
    return kind === 'row' && 'values' in event && event.values.includes(last) && event.values.includes('completed')
  })
  const before = events.slice(0, completed).filter((event): event is DiskEvent => 'path' in event)
  const stored = before.find((event) => event.kind === 'rename' && event.to.includes(`${last}/video`))
  assert.ok(stored?.kind === 'rename', 'it was completed before it had its name')
  assertDurable(before, stored.to, join(data, 'bucket'))
})

it('a submit that can not be committed is not accepted', async () => {
  await using service = await startService()
  using other = new DatabaseSync(join(service.data, 'filmgate.db'))
  // Another connection holds the write lock for longer than the server waits: no commit can happen.
  other.exec('BEGIN IMMEDIATE')
  const film = { model: 'studio', prompt: 'x', seconds: '1', size: '256x256' }
  const refused = await service.submit(film)
  other.exec('ROLLBACK')
  assert.equal(refused.status, 503)
  const ids = async () => ((await (await service.fetch('/v1/videos')).json()) as { data: { id: string }[] }).data
  assert.deepEqual(await ids(), [])
  const accepted = (await (await service.submit(film)).json()) as { id: string }
  assert.deepEqual(
    (await ids()).map(({ id }) => id),
    [accepted.id],
  )
})

it('strace sees the fsync before each answer, and those of a video, its name and its directories', async (test) => {
  const usable = spawnSync('strace', ['-f', '-o', '/dev/null', 'true']).status === 0
  if (!usable) return test.skip('strace is not installed, or may not be used here; the test before saw it from inside')
  const trace = join(folder, 'outside.trace')
  const calls = 'trace=fsync,fdatasync,write,writev,sendmsg,rename'
  // With -D the server itself is our child, so that the signal reaches it.
  await exercise(join(folder, 'outside'), {
    under: ['strace', '-D', '-f', '-y', '-s', '2000', '-e', calls, '-o', trace],
  })
  const isWhole = () => /\+\+\+ exited with 0 \+\+\+\n$/.test(readFileSync(trace, 'utf8'))
  await until('strace has written all', isWhole)
  const lines = readFileSync(trace, 'utf8').split('\n')
  // Its bytes, then its name, then the directories that lead to that, in any order.
  const find = (moment: RegExp, from: number) => {
    const at = lines.findIndex((line, number) => number > from && moment.test(line))
    assert.ok(at > from, `${moment} is missing, or comes too early`)
    return at
  }
  const synced = find(/fsync\(\d+<[^>]*scratch\/video_\w+\.\d+\.mp4>\)/, 0)
  const named = find(/rename\([^)]*video\.\d+\.mp4/, synced)
  for (const directory of [
    /fsync\(\d+<[^>]*bucket\/\w\w\/video_\w+>/,
    /fsync\(\d+<[^>]*bucket\/\w\w>/,
    /fsync\(\d+<[^>]*\/bucket>/,
  ])
    find(directory, named)
  const answers = lines.flatMap((line, at) => (/HTTP\/1\.1 200 OK/.test(line) && line.includes('queued') ? [at] : []))
  assert.ok(answers.length >= rounds)
  let from = lines.findIndex((line) => line.includes('Base URL'))
  // Later responses are for the polls of the last video.
  for (const at of answers.slice(0, rounds)) {
    const synced = lines
      .slice(from, at)
      .some((line) => /f(data)?sync\(\d+<[^>]*filmgate\.db-wal>\)|<\.\.\. f(data)?sync resumed>\) += 0/.test(line))
    assert.ok(synced, `no fsync before line ${at} of the trace`)
    from = at
  }
})
