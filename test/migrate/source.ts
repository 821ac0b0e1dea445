import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Bucket } from '../../src/buckets/bucket.ts'
import { openDisk } from '../../src/buckets/disk.ts'
import { deliveryColumns, fromDelivery } from '../../src/core/row.ts'
import { newTaskId, type State, type Task } from '../../src/core/task.ts'
import { digestSecret } from '../../src/core/token.ts'
import { fromUsage, usageColumns } from '../../src/core/usage.ts'
import { newDelivery } from '../../src/core/webhook.ts'
import { newReport } from '../../src/stores/contract/alarms.ts'
import { newAuditEntry, newToken } from '../../src/stores/contract/tokens.ts'
import { newEndpoint } from '../../src/stores/contract/webhooks.ts'
import { newTask } from '../../src/stores/contract/world.ts'
import { openSqlite } from '../../src/stores/sqlite.ts'

/** A stopped service on SQLite and disk with tasks in every state, and all that belongs to them. */
export interface Source extends Disposable {
  data: string
  /** The tasks that their owner can see, the oldest first. */
  visible: Task[]
  /** The bytes of every finished film, by its task. */
  films: Map<string, Buffer>
  /** Tasks that a service with the built-in renderer can finish. */
  drawable: string[]
  sql(text: string): Record<string, unknown>[]
}

export const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
const signal = new AbortController().signal
const day = 86_400_000
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAYAAACqaXHeAAAABHNCSVQICAgIfAhkiAAAAAFzUkdCAK7OHOkAAAC0SURBVHic7dvBDYRADMBAOFEJNVDClb810Ar0AEjzWPufyLLyzTr+y7VMzE8LaAqgBTQF0AKaAmgBTQG0gKYAWkBTAC2gKYAW0GxvFxz7+MbkIeM8Xs1PfwEF0AKaAmgBTQG0gKYAWkBTAC2gKYAW0BRAC2gKoAU0BdACmgJoAU0BtICmAFpAUwAtoCmAFtAUQAto1v4FJqcAWkBTAC2gKYAW0BRAC2gKoAU0BdACmgJoAc0N2JwHn3DAecoAAAAASUVORK5CYII=',
  'base64',
)

const price = { currency: 'USD', charge: 3_000_000, cost: 2_000_000, billsFailures: false }
const trace = `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01`
const videoFacts = { width: 832, height: 480, duration: 5.041667, frameRate: 23.976, codec: 'h264', bytes: 200_000 }

/** Kinds of tasks, 20 of each, and whether they have a video and an image. The account `elsewhere` does not exist. */
const kinds: Partial<Task>[] = [
  { state: 'completed' },
  { state: 'completed', prompt: 'zwölf Boxkämpfer 🦊 "\\u0000" \\ \n\t\u2028' },
  { state: 'completed', videoFacts, warnings: ['`seconds` was 4; the provider generated 5.04 s.', 'ü "'] },
  { state: 'completed', owner: 'another' },
  { state: 'completed', deletedAt: 1 },
  { state: 'completed', video: null, expiresAt: 1 },
  { state: 'failed', error: { code: 'generation_failed', message: "it's no good" } },
  { state: 'queued', card: 'unknown', model: 'unknown', tried: ['elsewhere', 'there'] },
  { state: 'queued', card: 'unknown', model: 'alias', parameters: { seed: 4_294_967_295, caption: false } },
  { state: 'held', account: 'elsewhere' },
  { state: 'held', account: 'elsewhere', deletedAt: 5 },
  { state: 'running', account: 'elsewhere', operation: { id: 'op', nested: [1, null, true] }, progress: 40 },
  { state: 'running', account: 'elsewhere', operation: 'priced', price, trace },
  { state: 'storing', account: 'elsewhere', operation: 'op', output: { url: 'https://example.com/x' } },
  { state: 'fetching', image: { url: 'https://images.invalid/fox.png' }, dueAt: Date.now() + day },
]

export async function makeSource({ each = 20, filmBytes = 200_000 } = {}): Promise<Source> {
  const data = mkdtempSync(join(tmpdir(), 'filmgate-source-'))
  const bucket = await openDisk({ folder: join(data, 'bucket') })
  const films = new Map<string, Buffer>()
  const tasks: Task[] = []
  for (let number = 0; number < each; number += 1)
    for (const kind of kinds) tasks.push(await makeTask(kind, tasks.length, bucket, films, filmBytes))
  const drawable: string[] = []
  for (const withImage of [false, true]) {
    const task = await makeTask({ state: 'queued', seconds: 1 }, tasks.length, bucket, films, 0)
    const asset = withImage ? await bucket.put(`${task.id}/image.0`, [png], signal) : null
    if (asset) task.image = { asset, type: 'image/png', size: { width: 256, height: 256 } }
    drawable.push(task.id)
    tasks.push(task)
  }
  await insert(data, tasks)
  mkdirSync(join(data, 'accounts', 'studio'), { recursive: true })
  return {
    data,
    visible: tasks.filter(({ owner, deletedAt }) => owner === 'default' && deletedAt === null),
    films,
    drawable,
    sql(text) {
      using database = new DatabaseSync(join(data, 'filmgate.db'))
      return database.prepare(text).all()
    },
    [Symbol.dispose]: () => rmSync(data, { recursive: true }),
  }
}

async function makeTask(
  kind: Partial<Task>,
  number: number,
  bucket: Bucket,
  films: Map<string, Buffer>,
  filmBytes: number,
): Promise<Task> {
  const now = Date.now() - day + number * 1000
  const id = newTaskId(now, randomBytes)
  const times = { createdAt: now, startBy: now + 30 * day, finishBy: now + 30 * day, dueAt: now + 30 * day }
  const size = { width: 256, height: 256 }
  const base = { id, owner: 'default', model: 'studio', card: 'studio', size, digest: 2 ** 48 - 1 - number, ...times }
  const task = newTask('0', { ...base, dueAt: kind.state === 'queued' ? now : times.dueAt, ...kind })
  if (task.state !== 'completed' || kind.video === null) return task
  const film = randomBytes(Math.max(1, filmBytes - number))
  films.set(id, film)
  const video = await bucket.put(`${id}/video.3.mp4`, [film], signal)
  return { ...task, video, progress: 100, startedAt: now, completedAt: now + 5, expiresAt: now + 30 * day, fence: 3 }
}

/** Of a token that does not exist: nothing is sent for them. */
const endpoints = [
  newEndpoint('1', { owner: 'gone', name: 'zwölf "Hooks"', url: 'https://hooks.invalid/' }),
  newEndpoint('2', { owner: 'gone', oldSecret: 'whsec_BBBB', oldSecretUntil: 9, disabledAt: 8, disabledWhy: 'gone' }),
] as const

const attemptStates: Partial<Record<State, string>> = { held: 'open', completed: 'accepted', failed: 'refused' }

async function insert(data: string, tasks: Task[]): Promise<void> {
  const onFatal = (error: Error) => {
    throw error
  }
  {
    await using store = await openSqlite({ folder: data, now: Date.now(), onFatal })
    await Promise.all(tasks.map((task) => store.insert(task)))
    const token = newToken('7', { name: 'team', project: 'team', digest: digestSecret('the token of the team') })
    await store.insertToken(token, newAuditEntry(token.id))
    await store.raiseAlarm(newReport('1'))
    for (const endpoint of endpoints) await store.insertEndpoint(endpoint, 9)
  }
  using database = new DatabaseSync(join(data, 'filmgate.db'))
  const attempt = database.prepare('INSERT INTO attempts VALUES (?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?)')
  const event = database.prepare('INSERT INTO events (task, at, name, detail) VALUES (?, ?, ?, ?)')
  const slot = database.prepare('INSERT INTO slots VALUES (?, ?)')
  database.exec('BEGIN')
  for (const [at, { id, state, createdAt, attempt: own }] of tasks.entries()) {
    event.run(id, createdAt, state, at % 2 ? null : '{"code":"internal","message":"ü"}')
    if (state === 'queued' || state === 'fetching' || own) continue
    const operation = state === 'held' ? null : JSON.stringify({ id: `op ${at}`, long: 'x'.repeat(9_000 * (at % 2)) })
    const settled = [attemptStates[state] ?? 'accepted', operation, state === 'held' ? null : createdAt, null] as const
    attempt.run(`att_${id.slice(6)}`, id, 'elsewhere', 'key', 'model', createdAt, ...settled, at % 3 ? null : 1)
    database.prepare('UPDATE tasks SET attempt = ?, attempts = 1 WHERE id = ?').run(`att_${id.slice(6)}`, id)
    if (state === 'held' || state === 'running') slot.run('account elsewhere', id)
  }
  database.exec("INSERT INTO healths VALUES ('a-b', 'k', '{}', 1), ('a_b', 'k', '{}', 2), ('B', 'k', '{}', 3)")
  const columns = deliveryColumns.map((name) => `:${name}`).join(', ')
  const delivery = database.prepare(`INSERT INTO deliveries (${deliveryColumns.join(', ')}) VALUES (${columns})`)
  for (const { id: task, createdAt: at } of tasks.filter(({ state }) => state === 'completed'))
    delivery.run(fromDelivery(newDelivery(endpoints[0], { task, at, type: 'video.completed' })))
  const marks = usageColumns.map(() => '?').join(', ')
  const usage = database.prepare(`INSERT INTO usages (${usageColumns.join(', ')}) VALUES (${marks})`)
  for (const { id, owner, card, createdAt } of tasks.filter(({ state }) => state === 'completed')) {
    const about = { owner, token: 'config:default', model: card, account: 'elsewhere', code: null }
    const counted = { seconds: 4, tookMs: 5, revenue: 3_000_000, cost: 2_000_000, currency: 'USD' }
    usage.run(...fromUsage({ id, task: id, at: createdAt + 5, outcome: 'completed', ...about, ...counted }))
  }
  database.exec("INSERT INTO cursors VALUES ('usage', 7, 'a process', 9)")
  // As after the kill of a process.
  database.exec('UPDATE deliveries SET leased = 1, fence = 1, due_at = 4000000000000 WHERE rowid % 3 = 0')
  database.exec("UPDATE tasks SET leased = 1, fence = 9, due_at = 4000000000000 WHERE state = 'storing'")
  database.exec(`INSERT INTO slots SELECT 'account studio', id FROM tasks WHERE state = 'queued' AND card = 'studio'`)
  database.exec("DELETE FROM events WHERE number % 7 = 0; UPDATE tasks SET leased = 1 WHERE state = 'queued'; COMMIT")
}
