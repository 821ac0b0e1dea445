import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { describe, it } from 'node:test'
import { ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3'
import { tinyFilm } from '../simulators/upstream/tiny-film.ts'
import { markOf, withoutMark } from '../simulators/upstream.ts'
import { ask, comes, type FleetProcess, type FleetWorld, finish, openFleet, submit } from './fleet-world.ts'

/* Two workers on one store. One of them is wrong about the time: it was stopped past its lease, or its clock is wrong. */

const prompt = 'a film'

async function rowOf({ sql }: FleetWorld, id: string): Promise<Record<string, unknown>> {
  const [row] = await sql(`SELECT * FROM tasks WHERE id = '${id}'`)
  assert.ok(row, `${id} is gone`)
  return row
}

const fenceOf = async (world: FleetWorld, id: string) => Number((await rowOf(world, id)).fence)

const acceptsOf = ({ upstream }: FleetWorld, text = prompt) =>
  upstream.ledger().accepts.filter((accept) => accept.prompt === text)

/** Completed with the right bytes, accepted once, and no attempt is left open. */
async function isMadeOnce(world: FleetWorld, api: FleetProcess, id: string): Promise<void> {
  const content = await ask(api, `/v1/videos/${id}/content`)
  const film = Buffer.from(await content.arrayBuffer())
  assert.ok(withoutMark(film).equals(tinyFilm))
  const accepts = acceptsOf(world)
  assert.equal(markOf(film)?.id, accepts[0]?.id)
  assert.equal(accepts.length, 1, 'it was paid for that often')
  const attempts = await world.sql(`SELECT state, operation FROM attempts WHERE task = '${id}'`)
  assert.deepEqual(attempts, [{ state: 'accepted', operation: JSON.stringify(accepts[0]?.id) }])
  assert.deepEqual(await world.sql('SELECT * FROM slots'), [])
}

async function stop({ child, exit }: FleetProcess): Promise<void> {
  child.kill('SIGTERM')
  assert.deepEqual(await exit, { code: 0, signal: null })
}

/** Generates a video by itself: what it had begun before it was stopped is over by then. */
async function worksAlone(mode: string, api: FleetProcess, other: FleetProcess): Promise<void> {
  await stop(other)
  await finish(api, await submit(api, `sim-${mode}`, 'another film'))
}

async function keysOf({ s3 }: FleetWorld, id: string): Promise<string[]> {
  const client = new S3Client({ ...s3, region: 'us-east-1', forcePathStyle: true })
  const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: s3.bucket, Prefix: `films/${id}/` }))
  return Contents.map(({ Key = '' }) => Key.slice('films/'.length)).sort()
}

describe('C2: a worker that is stopped beyond its lease, and wakes when another has its task', () => {
  for (const mode of ['key', 'lookup'] as const)
    it(`in a submit, where the provider offers ${mode}: the other goes on with the same job`, async () => {
      await using world = await openFleet(mode)
      const { upstream: gate } = world.gates
      const api = await world.start('api', 'api')
      const sleeper = await world.start('sleeper', 'worker')
      const held = gate.hold(/^POST \/jobs/)
      const id = await submit(api, `sim-${mode}`, prompt)
      await held
      sleeper.child.kill('SIGSTOP')
      gate.release()
      const other = await world.start('other', 'worker')
      await finish(api, id)
      const row = await rowOf(world, id)
      sleeper.child.kill('SIGCONT')
      await worksAlone(mode, api, other)
      assert.deepEqual(await rowOf(world, id), row, 'the one that slept changed it')
      await isMadeOnce(world, api, id)
      assert.ok(!sleeper.log().includes(`"task completed","task":"${id}"`))
    })

  it('in a submit to a provider without recovery: the other waits, and the response is not lost', async () => {
    await using world = await openFleet('none')
    const { upstream: gate } = world.gates
    const api = await world.start('api', 'api')
    const sleeper = await world.start('sleeper', 'worker')
    const held = gate.hold(/^POST \/jobs/)
    const id = await submit(api, 'sim-none', prompt)
    await held
    sleeper.child.kill('SIGSTOP')
    gate.release()
    const fence = await fenceOf(world, id)
    await world.start('other', 'worker')
    await comes('the other takes it', async () => (await fenceOf(world, id)) > fence)
    assert.equal((await rowOf(world, id)).state, 'held')
    assert.equal(world.upstream.ledger().submits, 1)
    sleeper.child.kill('SIGCONT')
    await finish(api, id)
    assert.equal(world.upstream.ledger().submits, 1, 'it was sent again')
    await isMadeOnce(world, api, id)
  })

  it('while it stores a video: what it stored is not used, and is removed with the task', async () => {
    await using world = await openFleet('none')
    const { s3: gate } = world.gates
    const api = await world.start('api', 'api')
    const sleeper = await world.start('sleeper', 'worker')
    const held = gate.hold(/^PUT \/films\/films\/video_/)
    const id = await submit(api, 'sim-none', prompt)
    await held
    const fence = await fenceOf(world, id)
    sleeper.child.kill('SIGSTOP')
    gate.release()
    const other = await world.start('other', 'worker')
    await finish(api, id)
    const row = await rowOf(world, id)
    sleeper.child.kill('SIGCONT')
    await worksAlone('none', api, other)
    assert.deepEqual(await rowOf(world, id), row, 'the one that slept changed it')
    assert.ok(Number(row.fence) > fence)
    assert.equal((JSON.parse(String(row.video)) as { key: string }).key, `${id}/video.${row.fence}.mp4`)
    await isMadeOnce(world, api, id)
    assert.deepEqual(await keysOf(world, id), [`${id}/video.${fence}.mp4`, `${id}/video.${row.fence}.mp4`])
    assert.equal((await ask(api, `/v1/videos/${id}`, { method: 'DELETE' })).status, 200)
    await comes('all of it is removed', async () => (await keysOf(world, id)).length === 0)
  })
})

/** Every clock of that process except the monotonic one is this far ahead. */
function ahead(ms: number): Record<string, string> {
  const code = `
    const Real = Date
    globalThis.Date = class Date extends Real {
      constructor(...given) { super(...(given.length > 0 ? given : [Date.now()])) }
      static now() { return Real.now() + ${ms} }
    }`
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` }
}

const hour = 3_600_000

describe('C1: a process whose clock is wrong', () => {
  for (const [what, ms] of [
    ['an hour ahead', hour],
    ['an hour behind', -hour],
  ] as const)
    it(`${what} takes nothing that others hold, loses nothing that it holds, and expires nothing`, async () => {
      await using world = await openFleet('none')
      const retention = { FILMGATE_RETENTION: '30m' }
      const [wrong, right] = [{ ...retention, ...ahead(ms) }, retention]
      const told = Number(execFileSync(process.execPath, ['-p', 'Date.now()'], { env: ahead(ms) }))
      assert.ok(Math.abs(told - ms - Date.now()) < 60_000, 'its clock is right')
      const one = await world.start('wrong', 'all', wrong)
      // At first it signs requests to S3 by its own clock, then it learns the clock of S3.
      const first = await submit(one, 'sim-none', 'the first film')
      await finish(one, first)
      // It keeps its task when the other worker starts;
      const other = await keeps(world, one, () => world.start('right', 'all', right))
      await stop(one)
      // and the other way round.
      const again = await keeps(world, other, () => world.start('wrong-again', 'all', wrong))
      for (const process of [other, again]) {
        const content = await ask(process, `/v1/videos/${first}/content`)
        assert.equal(content.status, 200)
        assert.equal(markOf(Buffer.from(await content.arrayBuffer()))?.prompt, 'the first film')
      }
      const times = await world.sql(`
        SELECT abs(created_at - now) < 600000 AND abs(completed_at - now) < 600000 AND expires_at - completed_at <= 1800000
          AND completed_at >= created_at AND state = 'completed' AS sound
        FROM tasks, (SELECT extract(epoch FROM clock_timestamp()) * 1000 AS now) AS clock`)
      assert.ok(times.length > 3 && times.every(({ sound }) => sound), JSON.stringify(times))
      for (const { prompt: text } of world.upstream.ledger().accepts)
        assert.equal(acceptsOf(world, text).length, 1, text)
    })

  /** The holder claims a task alone, and keeps it while the other one starts and works. Returns the task. */
  async function keeps(world: FleetWorld, holder: FleetProcess, comer: () => Promise<FleetProcess>) {
    const { upstream: gate } = world.gates
    const held = gate.hold(/^POST \/jobs/)
    const id = await submit(holder, 'sim-none', `film ${films++}`)
    await held
    const fence = await fenceOf(world, id)
    const other = await comer()
    while (!other.log().includes('task completed'))
      await finish(other, await submit(other, 'sim-none', `film ${films++}`))
    const { fence: now, state, leased } = await rowOf(world, id)
    assert.deepEqual([Number(now), state, leased], [fence, 'held', true], 'another took it')
    gate.release()
    await finish(other, id)
    return other
  }
  let films = 0
})
