import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Task } from '../../core/task.ts'
import type { Store } from '../store.ts'
import { cardOf, decide, fresh, newAttempt, newTask, type StoreWorld, seeded } from './world.ts'

const cards = [cardOf('m', { a: 3, b: 2 }, 4), cardOf('n', { b: 2, a: 3 })]
const ownerCaps = { alice: 2 }
const leaseMs = 20

/** Everything that can happen to tasks, at random. Claimers die, or write late. */
class Crowd {
  readonly store: Store
  readonly random: (limit: number) => number
  now = 10
  inserted = 0
  /** Leases that were not given back; some of them ended long ago. */
  claimed: Task[] = []
  leases = new Map<string, number>()

  constructor(store: Store, seed: number) {
    this.store = store
    this.random = seeded(seed)
  }

  pick<T>(from: readonly T[]): T {
    return from[this.random(from.length)] as T
  }

  async step(): Promise<void> {
    this.now += this.random(4)
    const acts = [this.insert, this.claimQueued, this.claimWork, this.decide, this.decide, this.decide]
    await this.pick(acts).call(this)
  }

  async insert(): Promise<void> {
    this.inserted += 1
    const fields = { owner: this.pick(['alice', 'bob', 'carol']), card: this.pick(['m', 'n']), dueAt: this.now }
    await this.store.insert(newTask(String(this.inserted), fields))
  }

  async claimQueued(): Promise<void> {
    const leaseUntil = this.now + leaseMs
    const wanted = { cards, ownerCaps, limit: 1 + this.random(3), now: this.now, leaseUntil }
    const claims = await Promise.all([this.store.claimQueued(wanted), this.store.claimQueued(wanted)])
    this.hold(claims.flatMap(({ tasks }) => tasks))
  }

  async claimWork(): Promise<void> {
    const lane = { state: this.pick(['held', 'running'] as const), account: this.pick(['a', 'b']) }
    this.hold(await this.store.claim({ ...lane, limit: 2, now: this.now, leaseUntil: this.now + leaseMs }))
  }

  hold(tasks: Task[]): void {
    this.claimed.push(...tasks)
    for (const { id } of tasks) this.leases.set(id, this.now + leaseMs)
  }

  async decide(): Promise<void> {
    if (this.claimed.length === 0) return
    const task = this.pick(this.claimed)
    const state = this.pick(['held', 'held', 'running', 'running', 'queued', 'storing', 'failed', 'removed'] as const)
    if (state === 'held' && task.state === 'queued') return this.open(task)
    this.claimed = this.claimed.filter((other) => other !== task)
    const held = await (state === 'removed'
      ? this.store.remove(task)
      : this.store.record(decide(task, { state, dueAt: this.now + this.random(9) })))
    if (held) this.leases.delete(task.id)
  }

  /** As a submit does: the lease is kept. */
  async open(task: Task): Promise<void> {
    const opened = newAttempt(`${task.id} ${task.fence}`, task)
    const held: Task = { ...task, state: 'held', attempt: opened.id }
    const kept = await this.store.record({ task: held, opened, keepsLease: true })
    this.claimed = this.claimed.flatMap((other) => (other !== task ? [other] : kept ? [held] : []))
  }

  async tasks(): Promise<Task[]> {
    const all = Array.from({ length: this.inserted }, (_, at) => this.store.find(newTask(String(at + 1)).id))
    return (await Promise.all(all)).filter((task) => task !== undefined)
  }

  /** Tasks that count against the caps: held, running, or about to be. */
  async inWork(): Promise<Task[]> {
    const leased = ({ id }: Task) => (this.leases.get(id) ?? 0) > this.now
    return (await this.tasks()).filter(
      (task) => ['held', 'running'].includes(task.state) || (task.state === 'queued' && leased(task)),
    )
  }

  /** Ends everything that runs or is queued. */
  async end(): Promise<void> {
    this.now += 2 * leaseMs
    const leaseUntil = this.now + leaseMs
    for (const { id, state, account } of await this.inWork()) {
      if (state !== 'held' && state !== 'running') continue
      const lane = { state, account: account ?? '', limit: 1000, now: this.now, leaseUntil }
      for (const task of await this.store.claim(lane)) assert.ok(await this.store.remove(task), id)
    }
    for (;;) {
      const { tasks } = await this.store.claimQueued({ cards, ownerCaps, limit: 9, now: this.now, leaseUntil })
      if (tasks.length === 0) return
      await Promise.all(tasks.map((task) => this.store.remove(task)))
    }
  }
}

export function testLoad(world: StoreWorld): void {
  for (const seed of [1, 2, 3])
    it(`keeps to every cap whatever happens to the tasks, and loses no slot (${seed})`, async () => {
      await using store = await fresh(world)
      const crowd = new Crowd(store, seed)
      let most = 0
      for (let at = 0; at < 400; at += 1) {
        await crowd.step()
        const work = await crowd.inWork()
        const count = (matches: (task: Task) => boolean) => work.filter(matches).length
        assert.ok(count(({ account }) => account === 'a') <= 3, `account a after ${at}`)
        assert.ok(count(({ account }) => account === 'b') <= 2, `account b after ${at}`)
        assert.ok(count(({ card }) => card === 'm') <= 4, `card m after ${at}`)
        assert.ok(count(({ owner }) => owner === 'alice') <= 2, `alice after ${at}`)
        most = Math.max(most, work.length)
      }
      assert.equal(most, 5)
      await crowd.end()
      for (let at = 0; at < 20; at += 1) await crowd.insert()
      const { now } = crowd
      const all = await store.claimQueued({ cards, ownerCaps, limit: 99, now, leaseUntil: now + 1 })
      assert.equal(all.tasks.length, 5)
    })
}
