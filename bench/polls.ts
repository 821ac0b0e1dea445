import { compare, type Line, median } from './measure.ts'
import { load, startServer } from './processes.ts'
import { limitedToken, token } from './servers.ts'
import { submitRequests } from './submits.ts'

const connections = 32
/** How many turns a comparison of nearly equal processes makes of one. */
const turns = 4

/** Random tasks of the whole store, so that no cache is warm. */
export function pollRequests(ids: readonly string[], count: number, secret = token): string[] {
  return Array.from({ length: count }, () => {
    const id = ids[Math.floor(Math.random() * ids.length)]
    return `GET /v1/videos/${id} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer ${secret}\r\nAccept: application/json\r\n\r\n`
  })
}

export async function benchPolls(
  folder: string,
  ids: readonly string[],
  { rounds, seconds }: { rounds: number; seconds: number },
): Promise<Line[]> {
  const requests = pollRequests(ids, 20_000)
  await using app = await startServer({ kind: 'app', folder, store: 'sqlite' })
  const sample = await fetch(`http://127.0.0.1:${app.port}/v1/videos/${ids[1]}`, {
    headers: { authorization: `Bearer ${token}` },
  })
  // Node's server adds these by itself.
  const own = ['date', 'connection', 'keep-alive', 'content-length']
  const headers = Object.fromEntries([...sample.headers].filter(([name]) => !own.includes(name)))
  await using bare = await startServer({ kind: 'bare', answer: await sample.text(), headers })
  const rate = async (port: number) => (await load({ port, connections, seconds, requests })).perSecond
  const result = await compare(
    rounds,
    () => rate(app.port),
    () => rate(bare.port),
  )
  const limitedRequests = pollRequests(ids, 20_000, limitedToken)
  const limited = await compare(
    rounds,
    async () => (await load({ port: app.port, connections, seconds, requests: limitedRequests })).perSecond,
    () => rate(app.port),
  )
  const beside = { folder, requests, rounds, seconds }
  const metrics = await besideAnother(beside, { metrics: true })
  const seeing = await besideAnother(beside, { metrics: true, traces: true })
  const busy = await underSubmits(app.port, requests, { rounds, seconds })
  return [
    {
      name: 'poll',
      value: result.ratio,
      unit: ' ×',
      must: { atLeast: 0.55 },
      goal: 0.7,
      spread: result.spread,
      detail: `of bare node:http; ${Math.round(result.ours)} against ${Math.round(result.limit)} a second, random ids of ${ids.length} tasks, ${connections} connections`,
    },
    {
      name: 'poll with limits',
      value: limited.ratio,
      unit: ' ×',
      must: { atLeast: 0.9 },
      spread: limited.spread,
      detail: `of a poll by a token without limits; ${Math.round(limited.ours)} against ${Math.round(limited.limit)} a second; a rate, tasks at once, a budget, ranges of addresses and an expiry`,
    },
    {
      name: 'poll with metrics',
      value: metrics.ratio,
      unit: ' ×',
      must: { atLeast: 0.95 },
      goal: 0.98,
      spread: metrics.spread,
      detail: `of a poll without metrics; ${Math.round(metrics.ours)} against ${Math.round(metrics.limit)} a second, two processes on the same store, ${rounds * turns} pairs`,
    },
    {
      name: 'poll with metrics and traces',
      value: seeing.ratio,
      unit: ' ×',
      must: { atLeast: 0.95 },
      spread: seeing.spread,
      detail: `of a poll without both; ${Math.round(seeing.ours)} against ${Math.round(seeing.limit)} a second, two processes on the same store, ${rounds * turns} pairs`,
    },
    {
      name: 'poll p99 while submitting',
      value: median(busy.map(({ ratio }) => ratio)),
      unit: ' ×',
      must: { atMost: 2 },
      goal: 1.5,
      spread: [Math.min(...busy.map(({ ratio }) => ratio)), Math.max(...busy.map(({ ratio }) => ratio))],
      detail: `of poll p99 alone; ${median(busy.map(({ busyMs }) => busyMs)).toFixed(1)} ms against ${median(busy.map(({ aloneMs }) => aloneMs)).toFixed(1)} ms, beside 16 connections that submit as fast as they can`,
    },
  ]
}

interface Beside {
  folder: string
  requests: readonly string[]
  rounds: number
  seconds: number
}

/**
 * Two processes of the same age on the same store: one reports more to its operator. They differ by less than the machine
 * does from one second to the next, so they take turns often.
 */
async function besideAnother({ folder, requests, rounds, seconds }: Beside, more: { metrics?: true; traces?: true }) {
  const rate = async (port: number) => (await load({ port, connections, seconds: seconds / turns, requests })).perSecond
  await using plain = await startServer({ kind: 'app', folder, store: 'sqlite' })
  await using other = await startServer({ kind: 'app', folder, store: 'sqlite', ...more })
  // Not counted: the code of a new process is not compiled yet.
  for (const { port } of [plain, other]) await load({ port, connections, seconds, requests })
  return await compare(
    rounds * turns,
    () => rate(other.port),
    () => rate(plain.port),
  )
}

async function underSubmits(
  port: number,
  requests: readonly string[],
  { rounds, seconds }: { rounds: number; seconds: number },
) {
  const results: { ratio: number; aloneMs: number; busyMs: number }[] = []
  for (let round = 0; round < rounds; round += 1) {
    const alone = await load({ port, connections, seconds, requests })
    const beside = { connections: 16, requests: submitRequests }
    const busy = await load({ port, connections, seconds, requests, beside })
    results.push({ ratio: busy.p99Ms / alone.p99Ms, aloneMs: alone.p99Ms, busyMs: busy.p99Ms })
  }
  return results
}
