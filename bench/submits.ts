import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { compare, type Line } from './measure.ts'
import { load, startServer } from './processes.ts'
import { token } from './servers.ts'

const body = JSON.stringify({
  model: 'studio',
  prompt: 'A red fox trots through fresh snow at dusk, the camera follows slowly, soft light between the trees.',
  seconds: '4',
  size: '1280x720',
})

export const submitRequests = [
  `POST /v1/videos HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
]

const connections = 64

export async function benchSubmits(
  folder: string,
  { rounds, seconds }: { rounds: number; seconds: number },
): Promise<Line[]> {
  const rate = async (port: number) => (await load({ port, connections, seconds, requests: submitRequests })).perSecond
  const makeFolder = (name: string) => {
    const path = join(folder, name)
    mkdirSync(path, { recursive: true })
    return path
  }
  await using durable = await startServer({ kind: 'app', folder: makeFolder('durable'), store: 'sqlite' })
  await using storeless = await startServer({ kind: 'app', folder: makeFolder('storeless'), store: 'none' })
  const plain = await compare(
    rounds,
    () => rate(durable.port),
    () => rate(storeless.port),
  )
  const lines: Line[] = [
    {
      name: 'durable submit',
      value: plain.ratio,
      unit: ' ×',
      must: { atLeast: 0.7 },
      goal: 0.8,
      spread: plain.spread,
      detail: `of the same handler without a store; ${Math.round(plain.ours)} against ${Math.round(plain.limit)} a second, ${connections} connections`,
    },
  ]
  const preload = buildSlowFsync(folder)
  if (!preload) return lines
  const env = { LD_PRELOAD: preload }
  await using grouped = await startServer({ kind: 'app', folder: makeFolder('grouped'), store: 'sqlite' }, env)
  await using single = await startServer({ kind: 'app', folder: makeFolder('single'), store: 'ungrouped' }, env)
  const slow = await compare(
    rounds,
    () => rate(grouped.port),
    () => rate(single.port),
  )
  lines.push({
    name: 'submit, fsync + 2 ms',
    value: slow.ratio,
    unit: ' ×',
    must: { atLeast: 8 },
    spread: slow.spread,
    detail: `of one commit for each; ${Math.round(slow.ours)} against ${Math.round(slow.limit)} a second`,
  })
  return lines
}

function buildSlowFsync(folder: string): string | undefined {
  const target = join(folder, 'slow-fsync.so')
  const source = fileURLToPath(new URL('./slow-fsync.c', import.meta.url))
  const { status } = spawnSync('cc', ['-shared', '-fPIC', '-O2', '-o', target, source])
  if (status === 0) return target
  process.stdout.write('Skipped: submit with a slow fsync (needs a C compiler, cc).\n')
  return undefined
}
