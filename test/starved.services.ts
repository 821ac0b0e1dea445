import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { describe, it } from 'node:test'
import { ask, comes, type FleetProcess, finish, openFleet, submit } from './fleet-world.ts'

/* Processes that share a store: one of them ends, or runs out of file descriptors, and the others go on. */

/** Limits the process to its open files, connections and children; or lifts the limit. */
function limitFiles({ child }: FleetProcess, most: number): void {
  execFileSync('prlimit', ['--pid', String(child.pid), `--nofile=${most}:`])
}
const manyFiles = 1_024

const filesOf = ({ child }: FleetProcess) => readdirSync(`/proc/${child.pid}/fd`).map(Number)

describe('H1: SIGTERM of a worker', () => {
  it('during a submit: the response is recorded, it exits with 0, and another goes on', async () => {
    await using world = await openFleet('none')
    const { upstream: gate } = world.gates
    const api = await world.start('api', 'api')
    const worker = await world.start('worker', 'worker')
    const held = gate.hold(/^POST \/jobs/)
    const id = await submit(api, 'sim-none', 'a film')
    await held
    const queued = Promise.all(['b', 'c'].map((prompt) => submit(api, 'sim-none', prompt)))
    worker.child.kill('SIGTERM')
    await comes('it is not ready', async () =>
      fetch(`${worker.url}/readyz`).then(
        ({ status }) => status === 503,
        () => true,
      ),
    )
    gate.release()
    assert.deepEqual(await worker.exit, { code: 0, signal: null })
    assert.deepEqual(await world.sql(`SELECT state FROM attempts WHERE task = '${id}'`), [{ state: 'accepted' }])
    await world.start('other', 'worker')
    for (const one of [id, ...(await queued)]) await finish(api, one)
    assert.equal(world.upstream.ledger().submits, 3)
  })
})

describe('H3: a process that may open nothing more (EMFILE)', () => {
  it('as a worker: the other generates all videos, the account is not paused, and it goes on when it can again', async () => {
    await using world = await openFleet('none')
    const api = await world.start('api', 'api')
    const starved = await world.start('starved', 'worker')
    // It has its connections to the store by now.
    await finish(api, await submit(api, 'sim-none', 'before'))
    limitFiles(starved, 3)
    await comes('it says so', () => starved.log().includes('no open files left'))
    const lonely = await submit(api, 'sim-none', 'lonely')
    const other = await world.start('other', 'worker')
    const prompts = Array.from({ length: 3 }, (_, at) => `film ${at}`)
    for (const id of await Promise.all(prompts.map((prompt) => submit(api, 'sim-none', prompt)))) await finish(api, id)
    await finish(api, lonely)
    for (const { log } of [starved, other]) assert.ok(!log().includes('account paused'), 'the account is blamed')
    const met = await world.sql("SELECT FROM events WHERE detail LIKE '%EMFILE%'")
    assert.deepEqual(met, [], 'no film went to the one that could not make it')
    other.child.kill('SIGTERM')
    assert.deepEqual(await other.exit, { code: 0, signal: null })
    limitFiles(starved, manyFiles)
    await finish(api, await submit(api, 'sim-none', 'after'))
    const accepts = world.upstream.ledger().accepts.map(({ prompt }) => prompt)
    assert.deepEqual(accepts.sort(), ['after', 'before', ...prompts, 'lonely'])
    assert.equal(starved.child.exitCode, null)
  })

  it('as one that takes requests: others take them, and so does it when connections are closed', async () => {
    await using world = await openFleet('none')
    const starved = await world.start('starved', 'api')
    const other = await world.start('other', 'api')
    await world.start('worker', 'worker')
    await finish(starved, await submit(starved, 'sim-none', 'before'))
    limitFiles(starved, Math.max(...filesOf(starved)) + 5)
    const { port, hostname } = new URL(starved.url)
    const crowd: Socket[] = Array.from({ length: 400 }, () =>
      connect(Number(port), hostname)
        .on('error', () => {})
        .resume(),
    )
    await comes('some are sent away', () => crowd.some((socket) => socket.closed))
    await finish(other, await submit(other, 'sim-none', 'meanwhile'))
    for (const socket of crowd) socket.destroy()
    await comes('it is there again', () =>
      ask(starved, '/readyz').then(
        ({ status }) => status === 200,
        () => false,
      ),
    )
    await finish(starved, await submit(starved, 'sim-none', 'after'))
    assert.equal(starved.child.exitCode, null)
  })
})
