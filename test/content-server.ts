import { createHash } from 'node:crypto'
import { openAccess } from '../src/access.ts'
import type { AppDependencies } from '../src/api/app.ts'
import type { Bucket } from '../src/buckets/bucket.ts'
import { buildCatalog } from '../src/core/catalog.ts'
import type { Handover } from '../src/core/handover.ts'
import type { Task } from '../src/core/task.ts'
import { digestSecret, type Token } from '../src/core/token.ts'
import { openTelemetry } from '../src/telemetry/log.ts'
import { buildBareApp } from './bare-app.ts'

/** The real API over a real bucket with one finished video in it, and as little as possible around them. */
export interface ContentServer {
  url: string
  path: string
  video: Buffer
  etag: string
  /** May be changed: the next request sees it. */
  task: Task
  /** Stores another finished video, of the client by default. Returns its path. */
  add(video: Buffer, owner?: string): Promise<string>
  remove(path: string): void
  /** What was logged as an error, each as JSON. */
  errors: string[]
  stop(): Promise<void>
}

const tokenOf = (name: string): Token => ({ kind: 'client', name, digest: digestSecret(name), models: ['*'] })
/** Of the client, and of another one. */
export const [authorization, otherAuthorization] = ['Bearer me', 'Bearer you']

export async function serveContent(
  bucket: Bucket,
  handover: Handover,
  { length = 100_000, mostConnections }: { length?: number; mostConnections?: number | undefined } = {},
): Promise<ContentServer> {
  const tasks = new Map<string, Task>()
  let count = 0
  const completedAt = Date.now() - 60_000
  const times = { completedAt, expiresAt: completedAt + 3_600_000, deletedAt: null }
  const store = async (video: Buffer, owner = 'me'): Promise<Task> => {
    const id = `video_${String(count++).padStart(48, '0')}`
    const asset = await bucket.put(`${id}/video.1.mp4`, [video], new AbortController().signal)
    const task = { id, owner, state: 'completed', video: asset, ...times } as Task
    tasks.set(id, task)
    return task
  }
  const video = Buffer.from(Array.from({ length }, (_, index) => index % 251))
  const task = await store(video)
  const errors: string[] = []
  const clock = { now: () => Date.now() }
  const app = buildBareApp({
    bucket,
    handover,
    access: openAccess({ tokens: [tokenOf('me'), tokenOf('you')] }),
    store: { find: async (id: string) => tasks.has(id) && { ...tasks.get(id) } },
    catalog: buildCatalog([], {}, null),
    clock,
    ...(mostConnections && { connections: { most: mostConnections, clock } }),
    random: (count: number) => new Uint8Array(count),
    log: {
      ...openTelemetry({ write: (line) => errors.push(line), now: Date.now, secrets: [] }).log,
      info() {},
      warn() {},
    },
  } as unknown as AppDependencies)
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const etag = `"${createHash('sha256').update(video).digest('hex')}"`
  const add = async (other: Buffer, owner?: string) => pathOf(await store(other, owner))
  const remove = (path: string) => void tasks.delete(path.split('/')[3] ?? '')
  return { url, path: pathOf(task), video, etag, task, add, remove, errors, stop: () => app.close() }
}

function pathOf({ id }: Task): string {
  return `/v1/videos/${id}/content`
}
