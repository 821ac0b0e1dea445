import { spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { openDisk } from '../src/buckets/disk.ts'
import { newTaskId, queueTask } from '../src/core/task.ts'
import { openSqlite } from '../src/stores/sqlite.ts'
import { compare, type Line } from './measure.ts'
import { load, startServer } from './processes.ts'
import { token } from './servers.ts'

const megabytes = 8
const connections = 8

/** One process of ours against one worker of nginx with sendfile, with the same file. */
export async function benchContent(
  folder: string,
  { rounds, seconds }: { rounds: number; seconds: number },
): Promise<Line[]> {
  if (spawnSync('nginx', ['-v']).status !== 0) {
    process.stdout.write('Skipped: content (needs nginx: apt-get install nginx-light).\n')
    return []
  }
  const bytes = randomBytes(megabytes * 2 ** 20)
  const data = join(folder, 'content')
  const id = await storeVideo(data, bytes)
  await using app = await startServer({ kind: 'app', folder: data, store: 'sqlite' })
  await using nginx = await startNginx(join(folder, 'nginx'), bytes)
  const head = `Host: bench\r\nAuthorization: Bearer ${token}\r\n\r\n`
  const rate = async (port: number, path: string) =>
    (await load({ port, connections, seconds, requests: [`GET ${path} HTTP/1.1\r\n${head}`] })).bytesPerSecond / 2 ** 20
  const result = await compare(
    rounds,
    () => rate(app.port, `/v1/videos/${id}/content`),
    () => rate(nginx.port, '/video.mp4'),
  )
  return [
    {
      name: 'content',
      value: result.ratio,
      unit: ' ×',
      must: { atLeast: 0.3 },
      goal: 0.5,
      spread: result.spread,
      detail: `of nginx sendfile; ${Math.round(result.ours)} against ${Math.round(result.limit)} MiB a second, ${megabytes} MiB, ${connections} connections`,
    },
  ]
}

async function storeVideo(data: string, bytes: Buffer): Promise<string> {
  mkdirSync(data, { recursive: true })
  const now = Date.now()
  const id = newTaskId(now, randomBytes)
  const bucket = await openDisk({ folder: join(data, 'bucket') })
  const body = async function* () {
    yield bytes
  }
  const video = await bucket.put(`${id}/video.1.mp4`, body(), new AbortController().signal)
  const fields = {
    id,
    owner: 'bench',
    model: 'studio',
    card: 'studio',
    digest: 0,
    startBy: now,
    finishBy: now,
    image: null,
    parameters: {},
  }
  const task = queueTask({ ...fields, prompt: 'x', seconds: 4, size: { width: 2, height: 2 } }, now)
  await using store = await openSqlite({ folder: data, now, onFatal: (error) => process.abort() ?? error })
  const expiresAt = now + 86_400_000
  await store.insert({
    ...task,
    state: 'completed',
    progress: 100,
    startedAt: now,
    completedAt: now,
    expiresAt,
    dueAt: expiresAt,
    video,
  })
  return id
}

async function startNginx(folder: string, bytes: Buffer): Promise<AsyncDisposable & { port: number }> {
  mkdirSync(join(folder, 'logs'), { recursive: true })
  writeFileSync(join(folder, 'video.mp4'), bytes)
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as { port: number }
  probe.close()
  await once(probe, 'close')
  const config = `daemon off; worker_processes 1; pid ${folder}/pid; error_log ${folder}/error.log; user root;
    events { worker_connections 256; }
    http { access_log off; sendfile on; tcp_nopush on; types { video/mp4 mp4; }
      server { listen 127.0.0.1:${port}; root ${folder}; } }`
  writeFileSync(join(folder, 'nginx.conf'), config)
  const child = spawn('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf')], { stdio: 'ignore' })
  const up = () =>
    fetch(`http://127.0.0.1:${port}/video.mp4`, { method: 'HEAD' }).then(
      () => true,
      () => false,
    )
  while (!(await up())) {
    if (child.exitCode !== null) throw new Error('nginx did not start')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return {
    port,
    async [Symbol.asyncDispose]() {
      const gone = once(child, 'exit')
      child.kill('SIGTERM')
      await gone
    },
  }
}
