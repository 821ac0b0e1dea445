import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import { fillBacklog } from './fill.ts'
import { compare, type Line, median } from './measure.ts'
import { residentMb } from './processes.ts'

const launcher = fileURLToPath(new URL('../bin/filmgate.js', import.meta.url))

/** The whole program as an operator starts it: time to the banner, idle memory, and the first video. */
export async function benchStart(folder: string, { rounds }: { rounds: number }): Promise<Line[]> {
  const [starts, sizes, videos]: number[][] = [[], [], []]
  for (let round = 0; round < rounds; round += 1) {
    const started = await startLauncher(join(folder, `start-${round}`))
    starts?.push(started.ms)
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    sizes?.push(residentMb(started.child.pid ?? 0))
    videos?.push(await firstVideo(started.url))
    await stop(started.child)
  }
  const line = (name: string, values: number[] = [], unit: string, atMost: number, detail: string): Line => ({
    name,
    value: median(values),
    unit,
    must: { atMost },
    spread: [Math.min(...values), Math.max(...values)],
    detail,
  })
  return [
    { ...line('cold start', starts, ' s', 1.5, 'from the command to the banner, an empty data folder'), goal: 0.3 },
    line('idle memory', sizes, ' MB', 120, 'resident, a second after the start'),
    line('first film', videos, ' s', 15, 'from the banner to completed: 4 s of 1280x720'),
  ]
}

/** Whether a start reads more rows if there are more. */
export async function benchLargeStart(
  folder: string,
  { rounds, tasks }: { rounds: number; tasks: number },
): Promise<Line[]> {
  const [large, small] = [join(folder, 'large'), join(folder, 'small')]
  fillBacklog(large, tasks)
  const seconds = async (data: string) => {
    const started = await startLauncher(data)
    await stop(started.child)
    return started.ms
  }
  // The first start of each creates files, which the others find.
  for (const data of [large, small]) await seconds(data)
  const { ratio, spread, ours, limit } = await compare(
    rounds,
    () => seconds(large),
    () => seconds(small),
  )
  const detail = `of the same without tasks; ${ours.toFixed(2)} s against ${limit.toFixed(2)} s, ${tasks} tasks, a fifth of them queued`
  return [{ name: 'start on a large store', value: ratio, unit: ' ×', must: { atMost: 2 }, spread, detail }]
}

export async function stop(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit')
  child.kill('SIGTERM')
  await gone
}

export async function startLauncher(
  data: string,
  more: Record<string, string> = {},
): Promise<{ child: ChildProcess; url: string; ms: number }> {
  const from = performance.now()
  const env = { ...process.env, FILMGATE_TOKEN: 'bench', ...more }
  const child = spawn(process.execPath, [launcher, 'serve', '--port', '0', '--data', data], {
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  let printed = ''
  for await (const chunk of child.stdout as NodeJS.ReadableStream) {
    printed += chunk
    const url = /Base URL +(\S+)/.exec(printed)?.[1]
    if (url) return { child, url, ms: (performance.now() - from) / 1000 }
  }
  throw new Error('the server did not start')
}

async function firstVideo(url: string): Promise<number> {
  const from = performance.now()
  const headers = { authorization: 'Bearer bench', 'content-type': 'application/json' }
  const body = JSON.stringify({ model: 'studio', prompt: 'a red fox in snow at dusk' })
  const { id } = (await (await fetch(`${url}/videos`, { method: 'POST', headers, body })).json()) as { id: string }
  for (;;) {
    const { status } = (await (await fetch(`${url}/videos/${id}`, { headers })).json()) as { status: string }
    if (status === 'failed') throw new Error('the first video failed')
    if (status === 'completed') return (performance.now() - from) / 1000
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}
