import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import { openAccess } from '../src/access.ts'
import type { Declared } from '../src/accounts/declared.ts'
import { openDisk } from '../src/buckets/disk.ts'
import { loadConfig } from '../src/config.ts'
import { toRow } from '../src/core/row.ts'
import { newTaskId, type Task } from '../src/core/task.ts'
import { digestSecret } from '../src/core/token.ts'
import { openRandom } from '../src/main/random.ts'
import type { Media } from '../src/media/media.ts'
import { openOutbound } from '../src/outbound.ts'
import { openSqlite } from '../src/stores/index.ts'
import { migrate } from '../src/stores/sqlite/migrate.ts'
import { prepareVerbs } from '../src/stores/sqlite/verbs.ts'
import type { Store } from '../src/stores/store.ts'
import { buildBareApp } from '../test/bare-app.ts'
import { exampleTask } from './fill.ts'
import { now, token } from './listening-clients.ts'

/*
 * Our application in a process of its own, with running tasks and no engine. The tasks complete when `bench/listeners.ts`
 * says so; the reply has the time at which each of these changes was committed.
 */
export type ServerOrder = { folder: string; tasks: number } | { finish: number; everyMs: number }
export type ServerAnswer = { port: number; ids: string[] } | { committed: [id: string, at: number][] }

/** All tasks are running, and due, so that they can be claimed. */
function fill(folder: string, count: number): void {
  mkdirSync(folder, { recursive: true })
  using database = new DatabaseSync(join(folder, 'filmgate.db'))
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF')
  migrate(database)
  const verbs = prepareVerbs(database)
  database.exec('BEGIN')
  for (let at = 0; at < count; at += 1) {
    const createdAt = Date.now() - 60_000 + at
    const begun = { state: 'running', startedAt: createdAt, progress: 1, account: 'p', dueAt: 0 } as const
    verbs.insert(toRow({ ...exampleTask(newTaskId(createdAt, randomBytes), createdAt, 'running'), ...begun }))
  }
  database.exec('COMMIT')
}

async function serve(folder: string, count: number) {
  fill(folder, count)
  const onFatal = (error: Error) => process.abort() ?? error
  const store = await openSqlite({ folder, now: Date.now(), onFatal })
  const lease = { now: Date.now(), leaseUntil: Date.now() + 1e9 }
  const tasks = await store.claim({ state: 'running', account: 'p', limit: count, ...lease })
  const { catalog } = loadConfig({ flags: {}, env: { FILMGATE_CONFIG: '/dev/null' } })
  const sleep = (ms: number, signal?: AbortSignal) =>
    pause(ms, undefined, { ref: false, ...(signal && { signal }) }).catch(() => {})
  const app = buildBareApp({
    catalog,
    store,
    scratch: folder,
    media: {} as Media,
    outbound: openOutbound({ allow: [] }),
    access: openAccess({
      tokens: [{ kind: 'client', name: 'bench', digest: digestSecret(token), models: ['*'] }],
    }),
    bucket: await openDisk({ folder: join(folder, 'bucket') }),
    accounts: new Map(),
    healths: { report: async () => {}, refresh: async () => {} },
    declared: {} as Declared,
    testAccount: async () => undefined,
    clock: { now: () => Date.now(), sleep },
    random: openRandom(),
    log: {
      info() {},
      warn() {},
      error: (event, fields) => process.stderr.write(`${event} ${JSON.stringify(fields)}\n`),
    },
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  return { store, tasks, port: (app.server.address() as { port: number }).port }
}

async function finish(store: Store, tasks: readonly Task[], everyMs: number): Promise<[string, number][]> {
  const committed: Promise<[string, number]>[] = []
  for (const task of tasks) {
    const at = Date.now()
    const done: Task = { ...task, state: 'completed', progress: 100, completedAt: at, expiresAt: at + 1e9 }
    const events = [{ at, name: 'completed', detail: null }]
    committed.push(store.record({ task: done, keepsLease: true, events }).then(() => [task.id, now()]))
    await pause(everyMs)
  }
  return Promise.all(committed)
}

if (process.send) {
  let serving: Awaited<ReturnType<typeof serve>> | undefined
  const answer = (message: ServerAnswer) => void process.send?.(message)
  process.on('message', async (order: ServerOrder) => {
    if ('folder' in order) {
      serving = await serve(order.folder, order.tasks)
      answer({ port: serving.port, ids: serving.tasks.map(({ id }) => id) })
    } else if (serving)
      answer({ committed: await finish(serving.store, serving.tasks.splice(0, order.finish), order.everyMs) })
  })
  process.once('disconnect', () => process.exit())
}
