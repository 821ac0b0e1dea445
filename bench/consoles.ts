import { fork } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { VisitorOrder } from './console-visitors.ts'
import { fillStore } from './fill.ts'
import { compare, type Line, middle, quantile } from './measure.ts'
import { pollRequests } from './polls.ts'
import { load } from './processes.ts'
import { startLauncher, stop } from './starts.ts'

const [secret, operatorToken] = ['the-secret-of-the-bench', 'the-operator-token-of-the-bench']
const consoles = 50
const rows = 10_000

interface ConsoleOptions {
  rounds: number
  seconds: number
  tasks: number
  /** How long each page is watched by the browser. */
  watchSeconds: number
}

/** What `console/visits.ts` returns. It is not imported: its project has the types of a browser. */
interface Visits extends Pick<VisitorOrder, 'cookie' | 'recordings'> {
  firstPaintMs: number[]
  usableMs: number[]
  frameMs: number[]
}

/** What open consoles cost other clients, and how quick the console is on a large store. Needs Debian's chromium. */
export async function benchConsoles(folder: string, options: ConsoleOptions): Promise<Line[]> {
  const { rounds, seconds, tasks, watchSeconds } = options
  const data = join(folder, 'consoles')
  const ids = fillStore(data, tasks, 'elsewhere')
  const config = join(folder, 'consoles.yaml')
  // Nothing listens at the address of the engine: what is submitted stays queued.
  const accounts = { engine: { provider: 'openai', base_url: 'http://127.0.0.1:9/v1', key: 'none' } }
  const tokens = [{ name: 'bench', secret, models: ['*'] }]
  writeFileSync(config, JSON.stringify({ accounts, models: { film: { account: 'engine' } }, tokens }))
  const limits = { FILMGATE_RATE: '0', FILMGATE_QUEUED: '0', FILMGATE_CONFIG: config }
  const { child, url } = await startLauncher(data, { ...limits, FILMGATE_OPERATOR_TOKEN: operatorToken })
  try {
    const { origin, port } = new URL(url)
    const order = { url: origin, operatorToken, seconds: watchSeconds, rounds: 5, rows }
    const seen = await ask<Visits>('../console/visits.ts', order)
    const visitors = {
      port: Number(port),
      cookie: seen.cookie,
      recordings: seen.recordings,
      count: consoles,
      seconds: watchSeconds,
    }
    const rate = async (requests: readonly string[]) =>
      (await load({ port: Number(port), connections: 32, seconds, requests })).perSecond
    const beside = async (requests: readonly string[]) => {
      await using _open = await openConsoles(visitors)
      return rate(requests)
    }
    const [polls, submits] = [pollRequests(ids, 20_000, secret), [submitRequest()]]
    const polled = await compare(
      rounds,
      () => beside(polls),
      () => rate(polls),
    )
    const submitted = await compare(
      rounds,
      () => beside(submits),
      () => rate(submits),
    )
    const requests = seen.recordings.reduce((sum, one) => sum + one.requests.length, 0)
    const how = `${consoles} consoles, which repeat what a browser requests on ${seen.recordings.length} pages (${requests} requests in ${watchSeconds} s each) with their streams of events`
    return [
      ...(
        [
          ['poll', polled],
          ['submit', submitted],
        ] as const
      ).map(([name, { ratio, spread, ours, limit }]) => ({
        name: `${name} beside ${consoles} consoles`,
        value: ratio,
        unit: ' ×',
        must: { atLeast: 0.95 },
        spread,
        detail: `of the same without them; ${Math.round(ours)} against ${Math.round(limit)} a second; ${how}`,
      })),
      ...pageLines(seen, tasks),
    ]
  } finally {
    await stop(child)
  }
}

function pageLines({ firstPaintMs, usableMs, frameMs }: Visits, tasks: number): Line[] {
  const where = `the table of videos of an operator, ${tasks} tasks stored, in chromium without a screen`
  const late = frameMs.filter((ms) => ms > 50).length
  return [
    { name: 'first paint', unit: ' ms', ...middle(firstPaintMs), must: { atMost: 1_000 }, detail: where },
    { name: 'table can be used', unit: ' ms', ...middle(usableMs), detail: `its first row is shown; ${where}` },
    {
      name: `scrolling ${rows} rows`,
      unit: ' ms',
      ...middle(frameMs),
      detail: `between two frames, 120 pixels each; p95 ${quantile(frameMs, 0.95).toFixed(0)} ms, ${late} of ${frameMs.length} frames over 50 ms`,
    },
  ]
}

function submitRequest(): string {
  const body = JSON.stringify({ model: 'film', prompt: 'A red fox trots through fresh snow at dusk.', seconds: '4' })
  const head = `Host: bench\r\nAuthorization: Bearer ${secret}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`
  return `POST /v1/videos HTTP/1.1\r\n${head}\r\n\r\n${body}`
}

async function ask<Answer>(program: string, order: object): Promise<Answer> {
  const child = fork(new URL(program, import.meta.url))
  const answered = Promise.race([once(child, 'message'), once(child, 'exit').then(() => [])])
  child.send(order)
  const [answer] = (await answered) as [Answer?]
  if (answer === undefined) throw new Error(`${program} failed`)
  if (child.connected) child.disconnect()
  return answer
}

/** Open until it is disposed. */
async function openConsoles(order: VisitorOrder): Promise<AsyncDisposable> {
  const child = fork(new URL('./console-visitors.ts', import.meta.url))
  child.send(order)
  // What each page reads first is not what an open console costs.
  await once(child, 'message')
  return {
    async [Symbol.asyncDispose]() {
      const gone = once(child, 'exit')
      child.disconnect()
      await gone
    },
  }
}
