import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { openMedia } from '../src/media/pool.ts'
import { seeded } from './faults/seeded.ts'
import { spawnServer } from './process.ts'

const rounds = 50
const folder = mkdtempSync(join(tmpdir(), 'filmgate-kill-'))
after(() => rmSync(folder, { recursive: true }))
const authorization = 'Bearer My API Key'
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

type Task = { id: string; status: string; progress: number; completed_at?: number }

/** Everything that responses said so far. No later response may contradict it. */
interface History {
  accepted: Map<string, Task>
  answers: Set<number>
  log: string
}

it(`kill -9 at ${rounds} random moments: every accepted task finishes once, no file is torn, no read fails`, async (test) => {
  const history: History = { accepted: new Map(), answers: new Set(), log: '' }
  const seed = Number(process.env.SEED ?? 20261115)
  test.diagnostic(`SEED=${seed}`)
  const chance = seeded(seed)
  let startMs = 0
  for (let round = 0; round < rounds; round += 1) {
    await using server = spawnServer({ args: ['--data', join(folder, 'data')], env: { FILMGATE_TOKEN: 'My API Key' } })
    const stop = new AbortController()
    const clients = [submitting(server.url, history, stop.signal), polling(server.url, history, stop.signal)]
    // Some moments lie in the start, where the database is opened and migrated; it takes as long as the machine is slow.
    if (round > 0 && chance() < 0.3) await pause(chance() * startMs)
    else {
      const from = Date.now()
      await server.url
      startMs = Date.now() - from
      await pause(chance() * 900)
    }
    server.child.kill('SIGKILL')
    stop.abort()
    await Promise.all([...clients, server.exit])
    history.log += server.output.stderr
  }
  test.diagnostic(`${history.accepted.size} tasks accepted`)
  assert.ok(history.accepted.size >= rounds / 2, 'too few tasks to show anything')

  await using server = spawnServer({ args: ['--data', join(folder, 'data')], env: { FILMGATE_TOKEN: 'My API Key' } })
  const url = await server.url
  for (const id of history.accepted.keys()) {
    while ((await check(url, id, history)).status !== 'completed') await pause(100)
    await checkContent(url, id)
  }
  history.log += server.output.stderr
  for (const id of history.accepted.keys()) {
    const completions = history.log.split('\n').filter((line) => line.includes('"task completed"') && line.includes(id))
    assert.ok(completions.length <= 1, `${id} was completed ${completions.length} times`)
  }
  assert.deepEqual(
    [...history.answers].filter((status) => status !== 200),
    [],
  )
})

async function submitting(url: Promise<string>, history: History, signal: AbortSignal): Promise<void> {
  for (let round = 0; !signal.aborted && round < 3; round += 1) {
    try {
      const body = JSON.stringify({
        model: 'studio',
        prompt: `film ${history.accepted.size}`,
        seconds: '1',
        size: '256x256',
      })
      const headers = { authorization, 'content-type': 'application/json' }
      const answer = await fetch(`${await url}/v1/videos`, { method: 'POST', headers, body })
      history.answers.add(answer.status)
      const task = (await answer.json()) as Task
      history.accepted.set(task.id, task)
    } catch {
      // The server was killed: without a response, nothing was promised.
    }
    await pause(60)
  }
}

async function polling(url: Promise<string>, history: History, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    for (const id of [...history.accepted.keys()].slice(-20)) {
      if (signal.aborted) return
      try {
        await check(await url, id, history)
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error
      }
    }
    await pause(50)
  }
}

/** Reads a task and compares it with earlier responses. */
async function check(url: string, id: string, history: History): Promise<Task> {
  const answer = await fetch(`${url}/v1/videos/${id}`, { headers: { authorization } })
  history.answers.add(answer.status)
  const now = (await answer.json()) as Task
  const before = history.accepted.get(id)
  const order = ['queued', 'in_progress', 'completed']
  assert.ok(
    before && order.indexOf(now.status) >= order.indexOf(before.status),
    `${id} went from ${before?.status} to ${now.status}`,
  )
  assert.ok(now.progress >= before.progress)
  if (before.status === 'completed') assert.equal(now.completed_at, before.completed_at)
  history.accepted.set(id, now)
  return now
}

async function checkContent(url: string, id: string): Promise<void> {
  const answer = await fetch(`${url}/v1/videos/${id}/content`, { headers: { authorization } })
  assert.equal(answer.status, 200)
  const bytes = Buffer.from(await answer.arrayBuffer())
  assert.equal(answer.headers.get('etag'), `"${createHash('sha256').update(bytes).digest('hex')}"`)
  const file = join(folder, 'film.mp4')
  writeFileSync(file, bytes)
  assert.deepEqual(await probe(file), { codec: 'h264', width: 256, height: 256, seconds: 1 })
}

const clock = { now: () => Date.now(), sleep: async (ms: number) => void (await pause(ms)) }

/** By ffprobe if it is installed, because it shares no code with us; otherwise by our own check. */
async function probe(file: string) {
  const query = [
    '-v',
    'error',
    '-count_frames',
    '-show_entries',
    'stream=codec_name,width,height,nb_read_frames:format=duration',
    '-of',
    'json',
    file,
  ]
  const { status, stdout } = spawnSync('ffprobe', query, { encoding: 'utf8' })
  if (status === 0) {
    const { streams, format } = JSON.parse(stdout)
    assert.equal(streams[0].nb_read_frames, '24')
    return {
      codec: streams[0].codec_name,
      width: streams[0].width,
      height: streams[0].height,
      seconds: Number(format.duration),
    }
  }
  await using media = openMedia({ clock, renderers: 1 })
  const { codec, size, seconds } = await media.verify(file, 'alice', new AbortController().signal)
  return { codec, ...size, seconds }
}
