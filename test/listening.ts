import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openAccess } from '../src/access.ts'
import type { Declared } from '../src/accounts/declared.ts'
import { openDisk } from '../src/buckets/index.ts'
import { loadConfig } from '../src/config.ts'
import type { AccountView } from '../src/core/account.ts'
import { type ManualClock, manualClock } from '../src/core/clock.fixture.ts'
import type { Task } from '../src/core/task.ts'
import { eventsOf } from '../src/core/timeline.ts'
import { digestSecret } from '../src/core/token.ts'
import { openRandom } from '../src/main/random.ts'
import type { Media } from '../src/media/media.ts'
import { openOutbound } from '../src/outbound.ts'
import { newAttempt, newTask, take } from '../src/stores/contract/world.ts'
import { openSqlite } from '../src/stores/index.ts'
import type { Store } from '../src/stores/store.ts'
import { buildBareApp } from './bare-app.ts'
import { until } from './service.ts'

/*
 * The whole HTTP API on a real store, with a clock that stands still and without an engine: the test decides when a task
 * starts, progresses and ends, and when time passes.
 */
export interface Stage extends AsyncDisposable {
  readonly url: string
  readonly store: Store
  readonly clock: ManualClock
  readonly draining: AbortController
  /** The accounts that the service knows: at first none, as in a process of the role `api`. */
  readonly accounts: Map<string, AccountView>
  /** How many listeners the store has for notices: 0 while no client waits or streams. */
  noticeListeners(): number
  fetch(path: string, init?: RequestInit & { token?: string }): Promise<Response>
  queued(number: string, fields?: Partial<Task>): Promise<Task>
  /** Starts this task, which must be the next one in the queue. */
  begin(task: Task): Promise<Task>
  progress(task: Task, progress: number): Promise<Task>
  /** The provider has finished it. */
  collect(task: Task): Promise<Task>
  complete(task: Task): Promise<Task>
  fail(task: Task): Promise<Task>
  /** Breaks every connection. */
  cut(): void
  /** Restarts the service on the same data. */
  restart(): Promise<void>
}

export const startedAt = 1_700_000_000_000

export async function openStage(changes: (store: Store) => Partial<Store> = () => ({})): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'filmgate-test-'))
  mkdirSync(join(folder, 'scratch'))
  const clock = manualClock(startedAt)
  const accounts = new Map<string, AccountView>()
  const openAgain = () => openApp(folder, { clock, accounts }, changes)
  let running = await openAgain()

  const record = async (task: Task, change: Partial<Task>, keepsLease = true): Promise<Task> => {
    const changed = { ...task, ...change }
    const events = eventsOf(task, changed, clock.now())
    assert.ok(await running.store.record({ task: changed, keepsLease, events }))
    return changed
  }
  return {
    get url() {
      return running.url
    },
    get store() {
      return running.store
    },
    clock,
    accounts,
    get draining() {
      return running.draining
    },
    noticeListeners: () => running.noticeListeners(),
    fetch: (path, { token = 'alice', headers, ...init } = {}) =>
      fetch(`${running.url}${path}`, { ...init, headers: { authorization: `Bearer ${token}`, ...headers } }),
    async queued(number, fields = {}) {
      const task = newTask(number, { model: 'studio', card: 'studio', createdAt: clock.now(), ...fields })
      await running.store.insert(task)
      return task
    },
    async begin({ id, card }) {
      const cards = [{ card, cap: null, accounts: [{ name: 'studio', cap: 999, maxNewTasks: 999, spare: 0 }] }]
      const [task] = await take(running.store, { cards, limit: 1, now: clock.now(), leaseUntil: clock.now() + 1e9 })
      assert.equal(task?.id, id)
      const held: Task = { ...task, state: 'held', attempt: `attempt ${id}`, attempts: 1 }
      assert.ok(await running.store.record({ task: held, opened: newAttempt(`attempt ${id}`, task), keepsLease: true }))
      return record(held, { state: 'running', startedAt: clock.now(), progress: 1 })
    },
    progress: (task, progress) => record(task, { progress }),
    collect: (task) => record(task, { state: 'storing' }),
    complete: (task) =>
      record(task, { state: 'completed', progress: 100, completedAt: clock.now(), expiresAt: clock.now() + 1e9 }),
    fail: (task) => record(task, { state: 'failed', error: { code: 'generation_failed', message: 'It failed.' } }),
    cut: () => running.cut(),
    async restart() {
      await running.close()
      running = await openAgain()
    },
    async [Symbol.asyncDispose]() {
      await running.close()
      rmSync(folder, { recursive: true })
    },
  }
}

/**
 * A stage whose first read of a queued task returns the old state, and only when the test calls `release`.
 * `hasReadChange`: the feed has read a later state of the task, of which all listeners are notified in the same turn.
 */
export async function openSlowStage(): Promise<
  Stage & { isReading(): boolean; hasReadChange(): boolean; release(): void }
> {
  const gate = Promise.withResolvers<void>()
  let isHeld = false
  let hasReadChange = false
  const stage = await openStage((store) => ({
    async read(owner, id) {
      const view = await store.read(owner, id)
      hasReadChange ||= view?.state !== 'queued'
      if (isHeld || view?.state !== 'queued') return view
      isHeld = true
      await gate.promise
      return view
    },
  }))
  return Object.assign(stage, { isReading: () => isHeld, hasReadChange: () => hasReadChange, release: gate.resolve })
}

export const untilNoListeners = (stage: Stage) => until('no listener is left', () => stage.noticeListeners() === 0, 5)

interface World {
  clock: ManualClock
  accounts: ReadonlyMap<string, AccountView>
}

async function openApp(folder: string, { clock, accounts }: World, changes: (store: Store) => Partial<Store>) {
  const { catalog } = loadConfig({ flags: {}, env: { FILMGATE_CONFIG: '/dev/null' } })
  const sqlite = await openSqlite({ folder, now: clock.now(), onFatal: () => {} })
  const noticeListeners = new Set<() => void>()
  const onNotice = (listener: () => void) => {
    const stop = sqlite.onNotice(listener)
    noticeListeners.add(listener)
    return () => {
      stop()
      noticeListeners.delete(listener)
    }
  }
  const store = { ...sqlite, onNotice, ...changes(sqlite) }
  const draining = new AbortController()
  const secrets = ['alice', 'bob']
  const outbound = openOutbound({ allow: [] })
  const app = buildBareApp({
    catalog,
    store,
    clock,
    outbound,
    draining: draining.signal,
    random: openRandom(),
    access: openAccess({
      tokens: secrets.map((name) => ({ kind: 'client', name, digest: digestSecret(name), models: ['*'] })),
    }),
    bucket: await openDisk({ folder: join(folder, 'bucket') }),
    scratch: join(folder, 'scratch'),
    media: {} as Media,
    accounts,
    healths: { report: async () => {}, refresh: async () => {} },
    declared: {} as Declared,
    testAccount: async () => undefined,
    log: { info() {}, warn() {}, error() {} },
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  return {
    store,
    draining,
    noticeListeners: () => noticeListeners.size,
    cut: () => app.server.closeAllConnections(),
    url: `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`,
    async close() {
      draining.abort()
      const closed = app.close()
      app.server.closeAllConnections()
      await closed
      await outbound[Symbol.asyncDispose]()
      await sqlite[Symbol.asyncDispose]()
    },
  }
}

export interface ServerEvent {
  event: string
  id: string | null
  data: Record<string, unknown> & { id?: string; status?: string; progress?: number }
}

/** Reads a stream block by block. */
export function readEvents(response: Response) {
  assert.equal(response.status, 200)
  assert.equal(response.headers.get('content-type'), 'text/event-stream')
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  assert.ok(reader)
  const blocks: string[] = []
  let rest = ''
  const nextBlock = async (): Promise<string | undefined> => {
    while (blocks.length === 0) {
      const { done, value } = await reader.read()
      if (done) return undefined
      const parts = (rest + value).split('\n\n')
      rest = parts.pop() ?? ''
      blocks.push(...parts)
    }
    return blocks.shift()
  }
  return {
    nextBlock,
    /** The next event, or undefined if the server ended the stream. */
    async next(): Promise<ServerEvent | undefined> {
      for (;;) {
        const block = await nextBlock()
        if (block === undefined) return undefined
        const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1] ?? null
        const data = field('data')
        if (data !== null) return { event: field('event') ?? '', id: field('id'), data: JSON.parse(data) }
      }
    },
    cancel: () => reader.cancel(),
  }
}

/** Opens a stream at that path. */
export const open = async (stage: Stage, path: string, headers: Record<string, string> = {}, token = 'alice') =>
  readEvents(await stage.fetch(path, { headers, token }))

export const shown = (event: ServerEvent | undefined) => event && [event.event, event.data.id, event.data.status]
