import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { toRow } from '../src/core/row.ts'
import { newTaskId, queueTask, type Task } from '../src/core/task.ts'
import { migrate } from '../src/stores/sqlite/migrate.ts'
import { prepareVerbs } from '../src/stores/sqlite/verbs.ts'

/** The first one polls its tasks. The others only have tasks in the same queue. */
const owners = ['bench', 'second', 'third', 'fourth']

/**
 * Fills a store with `count` tasks: one in ten is unfinished, half of these queued. None is due before the next century; a service that
 * starts there has doubts about that, so it generates them unless they are of a card that no account has. Returns the ids that the token of
 * the bench may poll.
 */
export function fillStore(folder: string, count: number, unfinishedCard = 'studio'): string[] {
  const ids: string[] = []
  fill(folder, count, (at, id, createdAt) => {
    const state = at % 10 > 0 ? 'completed' : at % 20 === 0 ? 'queued' : 'running'
    // All owners have equally many queued tasks.
    const owner = (state === 'queued' && owners[(at / 20) % owners.length]) || 'bench'
    if (owner === 'bench') ids.push(id)
    const card = state === 'completed' ? 'studio' : unfinishedCard
    return { ...exampleTask(id, createdAt, state), owner, card }
  })
  return ids
}

/** Fills a store with `count` tasks: one in five is queued and due, for a card that no account has. */
export function fillBacklog(folder: string, count: number): void {
  fill(folder, count, (at, id, createdAt) =>
    at % 5 > 0
      ? exampleTask(id, createdAt, 'completed')
      : { ...exampleTask(id, createdAt, 'queued'), card: 'elsewhere', dueAt: createdAt },
  )
}

function fill(folder: string, count: number, make: (at: number, id: string, createdAt: number) => Task): void {
  mkdirSync(folder, { recursive: true })
  using database = new DatabaseSync(join(folder, 'filmgate.db'))
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF')
  migrate(database)
  const verbs = prepareVerbs(database)
  const start = 1_790_000_000_000
  for (let at = 0; at < count; at += 1) {
    if (at % 10_000 === 0) database.exec(at === 0 ? 'BEGIN' : 'COMMIT; BEGIN')
    verbs.insert(toRow(make(at, newTaskId(start + at, randomBytes), start + at)))
  }
  database.exec('COMMIT; PRAGMA wal_checkpoint(TRUNCATE)')
}

export function exampleTask(id: string, createdAt: number, state: 'queued' | 'running' | 'completed'): Task {
  const task = queueTask(
    {
      id,
      owner: 'bench',
      model: 'studio',
      card: 'studio',
      digest: 0,
      startBy: 4_000_000_000_000,
      finishBy: 4_000_000_000_000,
      image: null,
      parameters: {},
      prompt: 'A red fox trots through fresh snow at dusk, the camera follows slowly, soft light between the trees.',
      seconds: 4,
      size: { width: 1280, height: 720 },
    },
    createdAt,
  )
  const dueAt = 4_000_000_000_000
  const operation = { film: id, prompt: task.prompt, seconds: 4, width: 1280, height: 720, image: false }
  if (state === 'queued') return { ...task, dueAt: dueAt + (createdAt % 1_000_000_000) }
  if (state === 'running') return { ...task, state, startedAt: createdAt, progress: 40, operation }
  const video = { key: `${id}/video.3.mp4`, bytes: 1_450_027, sha256: '0'.repeat(64) }
  const times = { startedAt: createdAt, completedAt: createdAt + 9_000, expiresAt: dueAt }
  const videoFacts = {
    width: 1280,
    height: 720,
    duration: 4,
    frameRate: 24,
    codec: 'h264',
    bytes: video.bytes,
  }
  return { ...task, state, progress: 100, operation, video, videoFacts, ...times, dueAt }
}
