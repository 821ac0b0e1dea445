import { randomBytes } from 'node:crypto'
import { linkSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { openDisk } from '../src/buckets/disk.ts'
import { type Asset, newTaskId, queueTask } from '../src/core/task.ts'
import { openSqlite } from '../src/stores/sqlite.ts'
import { compare, type Line } from './measure.ts'
import { hasNginx, type Nginx, startNginx } from './nginx.ts'
import { load, startServer } from './processes.ts'
import { token } from './servers.ts'

interface Shape {
  megabytes: number
  connections: number
}

const quickShapes: readonly Shape[] = [
  { megabytes: 8, connections: 8 },
  { megabytes: 8, connections: 1 },
]
const otherShapes: readonly Shape[] = [
  { megabytes: 1, connections: 8 },
  { megabytes: 64, connections: 8 },
  { megabytes: 512, connections: 8 },
  { megabytes: 8, connections: 4 },
  { megabytes: 64, connections: 1 },
]
/** The digest of each is computed when it is first read. More than are read in one repetition. */
const firstReads = { megabytes: 8, connections: 4, videos: 1_000 }

interface Rounds {
  rounds: number
  seconds: number
  isQuick: boolean
}

/** One process of ours against one worker of nginx with sendfile, with the same files. */
export async function benchContent(folder: string, { rounds, seconds, isQuick }: Rounds): Promise<Line[]> {
  if (!hasNginx()) {
    process.stdout.write('Skipped: content (needs nginx: apt-get install nginx-light).\n')
    return []
  }
  const data = join(folder, 'content')
  const shapes = isQuick ? quickShapes : [...quickShapes, ...otherShapes]
  const ids = await storeVideos(data, new Set(shapes.map(({ megabytes }) => megabytes)))
  const many = isQuick ? [] : await storeCopies(data, firstReads)
  await using app = await startServer({ kind: 'app', folder: data, store: 'sqlite' })
  await using nginx = await startNginx(join(folder, 'nginx'), data, app.port)
  const lines: Line[] = []
  for (const shape of shapes) {
    const path = contentPath(ids.get(shape.megabytes) ?? '')
    const ours = () => rate({ ...shape, port: app.port, paths: [path], seconds })
    const limit = () => rate({ ...shape, port: nginx.port, paths: [`/${shape.megabytes}.mp4`], seconds })
    const name = `content, ${shape.megabytes} MiB × ${shape.connections}`
    lines.push({ ...lineOf(name, shape, await compare(rounds, ours, limit)), must: { atLeast: 0.3 }, goal: 0.6 })
  }
  if (!isQuick) {
    lines.push(await benchTls(nginx, contentPath(ids.get(8) ?? ''), { rounds, seconds }))
    lines.push(await benchFirstReads(data, nginx, many, { rounds, seconds }))
  }
  return lines
}

/** Behind nginx, which encrypts, as in deploy/nginx. Only for information: most of the time is spent in nginx. */
async function benchTls({ tlsPort: port }: Nginx, path: string, { rounds, seconds }: Omit<Rounds, 'isQuick'>) {
  const shape = { megabytes: 8, connections: 8 }
  const through = (paths: string[]) => () => rate({ ...shape, port, paths, seconds, isTls: true })
  return lineOf('content, TLS', shape, await compare(rounds, through([path]), through(['/8.mp4'])))
}

/** A new process each time, because it remembers which videos are intact. Only for information. */
async function benchFirstReads(
  data: string,
  nginx: Nginx,
  ids: readonly string[],
  { rounds, seconds }: Omit<Rounds, 'isQuick'>,
) {
  const ours = async () => {
    await using app = await startServer({ kind: 'app', folder: data, store: 'sqlite' })
    return await rate({ ...firstReads, port: app.port, paths: ids.map(contentPath), seconds })
  }
  const limit = () => rate({ ...firstReads, port: nginx.port, paths: ['/8.mp4'], seconds })
  return lineOf('content, first reads', firstReads, await compare(Math.min(rounds, 5), ours, limit))
}

function lineOf(name: string, { megabytes, connections }: Shape, result: Awaited<ReturnType<typeof compare>>): Line {
  const { ratio: value, spread, ours, limit } = result
  const rates = `${Math.round(ours)} against ${Math.round(limit)} MiB a second`
  const detail = `of nginx sendfile; ${rates}, ${megabytes} MiB, ${connections} connection${connections === 1 ? '' : 's'}`
  return { name, value, unit: ' ×', spread, detail }
}

interface Transfer {
  port: number
  paths: readonly string[]
  connections: number
  seconds: number
  isTls?: boolean
}

/** In MiB a second. */
async function rate({ paths, port, connections, seconds, isTls = false }: Transfer): Promise<number> {
  const head = `Host: bench\r\nAuthorization: Bearer ${token}\r\n\r\n`
  const requests = paths.map((path) => `GET ${path} HTTP/1.1\r\n${head}`)
  return (await load({ port, connections, seconds, requests, isTls })).bytesPerSecond / 2 ** 20
}

function contentPath(id: string): string {
  return `/v1/videos/${id}/content`
}

/** One video of each size, and the same file for nginx. Returns their ids. */
async function storeVideos(data: string, sizes: ReadonlySet<number>): Promise<Map<number, string>> {
  mkdirSync(data, { recursive: true })
  const folder = join(data, 'bucket')
  const bucket = await openDisk({ folder })
  const block = randomBytes(2 ** 20)
  const ids = new Map<number, string>()
  for (const megabytes of sizes) {
    const id = newTaskId(Date.now(), randomBytes)
    const body = Array.from({ length: megabytes }, () => block)
    const video = await bucket.put(`${id}/video.1.mp4`, body, new AbortController().signal)
    linkSync(join(folder, bucket.path?.(video.key) ?? ''), join(data, `${megabytes}.mp4`))
    await storeTasks(data, [{ id, video }])
    ids.set(megabytes, id)
  }
  return ids
}

/** Many videos with the bytes of one file. */
async function storeCopies(data: string, { megabytes, videos }: typeof firstReads): Promise<string[]> {
  const folder = join(data, 'bucket')
  const bucket = await openDisk({ folder })
  const first = await bucket.put('copied/video.1.mp4', [randomBytes(megabytes * 2 ** 20)], new AbortController().signal)
  const source = join(folder, bucket.path?.(first.key) ?? '')
  const tasks = Array.from({ length: videos }, () => {
    const id = newTaskId(Date.now(), randomBytes)
    const key = `${id}/video.1.mp4`
    const file = join(folder, bucket.path?.(key) ?? '')
    mkdirSync(dirname(file), { recursive: true })
    linkSync(source, file)
    return { id, video: { ...first, key } }
  })
  await storeTasks(data, tasks)
  return tasks.map(({ id }) => id)
}

async function storeTasks(data: string, tasks: readonly { id: string; video: Asset }[]): Promise<void> {
  const now = Date.now()
  await using store = await openSqlite({ folder: data, now, onFatal: (error) => process.abort() ?? error })
  const common = {
    owner: 'bench',
    model: 'studio',
    card: 'studio',
    digest: 0,
    startBy: now,
    finishBy: now,
    image: null,
  }
  const film = { prompt: 'x', seconds: 4, size: { width: 2, height: 2 }, parameters: {} }
  const expiresAt = now + 86_400_000
  const done = { progress: 100, startedAt: now, completedAt: now, expiresAt, dueAt: expiresAt }
  await Promise.all(
    tasks.map(({ id, video }) =>
      store.insert({ ...queueTask({ ...common, ...film, id }, now), ...done, state: 'completed', video }),
    ),
  )
}
