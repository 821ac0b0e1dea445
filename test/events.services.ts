import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import pg from 'pg'
import { readEvents } from './listening.ts'
import { startService, type TestService, until } from './service.ts'
import { startPgBouncer } from './services/pgbouncer.ts'
import { startPlaces } from './services/places.ts'

/* Streams and waiting clients of one process get the changes of another, through PostgreSQL. */

const film = { model: 'studio', prompt: 'a red fox', seconds: 1, size: '256x256' }
/** The token of `startService`, which is the owner of its tasks. */
const owner = 'default'
const places = await startPlaces()
after(() => places[Symbol.asyncDispose]())
const { postgres, settings } = places

async function submit(service: TestService): Promise<string> {
  const answer = await service.submit(film)
  assert.equal(answer.status, 200)
  return ((await answer.json()) as { id: string }).id
}

const isChange = (event: string) => event !== 'video.progress'

async function follow(stream: ReturnType<typeof readEvents>, id: string): Promise<string[]> {
  const names: string[] = []
  for (let event = await stream.next(); event; event = await stream.next()) {
    if (event.data.id !== id || !isChange(event.event)) continue
    names.push(event.event)
    if (event.event === 'video.completed') break
  }
  return names
}

it('what a worker does reaches streams and waiting clients on another process', async () => {
  await using api = await startService({ env: settings('api') })
  await using _worker = await startService({ env: settings('worker') })
  const all = readEvents(await api.fetch('/v1/videos/events'))
  const id = await submit(api)
  const one = readEvents(await api.fetch(`/v1/videos/${id}/events`))
  const waited = async () => {
    const seen: string[] = []
    while (seen.at(-1) !== 'completed') {
      const video = (await (await api.fetch(`/v1/videos/${id}?wait=30`)).json()) as { status: string }
      seen.push(video.status)
    }
    return seen
  }
  const [ofAll, ofOne, polled] = await Promise.all([follow(all, id), follow(one, id), waited()])
  assert.deepEqual(ofAll, ['video.in_progress', 'video.completed'])
  assert.equal(ofOne.at(-1), 'video.completed')
  assert.ok(polled.length <= 2, `it was asked ${polled.length} times`)
  await all.cancel()
})

it('behind a pooler, without notifications, they poll the store by themselves', async () => {
  await using pooler = await startPgBouncer(postgres.port)
  await using api = await startService({ env: settings('api', pooler.url) })
  await using _worker = await startService({ env: settings('worker', pooler.url) })
  const id = await submit(api)
  const stream = readEvents(await api.fetch(`/v1/videos/${id}/events`))
  assert.equal((await follow(stream, id)).at(-1), 'video.completed')
})

it('a notice whose transaction commits after a later one is not lost, and no client gets a position after it', async () => {
  await using api = await startService({ env: settings('api') })
  const [slow, quick] = [new pg.Client(postgres.url), new pg.Client(postgres.url)]
  await Promise.all([slow.connect(), quick.connect()])
  const deleted = async (client: pg.Client, task: string) => {
    const text = "INSERT INTO notices (owner, task, at, kind) VALUES ($1, $2, 1, 'deleted') RETURNING number::int"
    const { rows } = await client.query(text, [owner, task])
    return Number(rows[0].number)
  }
  try {
    const stream = readEvents(await api.fetch('/v1/videos/events'))
    await stream.nextBlock()
    await slow.query('BEGIN')
    const first = await deleted(slow, 'slow')
    const second = await deleted(quick, 'quick')
    const early = await stream.next()
    assert.equal(early?.data.id, 'quick')
    assert.ok(first < second && Number(early?.id) < first, `${early?.id} is beyond ${first}`)
    // A client that reconnects now gets both, although the first one is not committed yet.
    const again = readEvents(await api.fetch('/v1/videos/events', { headers: { 'last-event-id': String(early?.id) } }))
    assert.equal((await again.next())?.data.id, 'quick')
    await slow.query('COMMIT')
    for (const one of [stream, again]) assert.equal((await one.next())?.data.id, 'slow')
    const third = await deleted(quick, 'third')
    const last = await stream.next()
    assert.deepEqual([last?.data.id, last?.id], ['third', String(third)])
    await Promise.all([stream.cancel(), again.cancel()])
  } finally {
    await Promise.all([slow.end(), quick.end()])
  }
})

it('a stream outlives the loss of every connection to the database, and misses nothing', async () => {
  await using api = await startService({ env: settings('api') })
  const client = new pg.Client(postgres.url)
  await client.connect()
  try {
    const stream = readEvents(await api.fetch('/v1/videos/events'))
    await stream.nextBlock()
    for (const task of ['one', 'two', 'three']) {
      await client.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'",
      )
      await client.query("INSERT INTO notices (owner, task, at, kind) VALUES ($1, $2, 1, 'deleted')", [owner, task])
      assert.equal((await stream.next())?.data.id, task)
    }
    await stream.cancel()
    await until('it answers', async () => (await api.fetch('/v1/models')).status === 200)
  } finally {
    await client.end()
  }
})
