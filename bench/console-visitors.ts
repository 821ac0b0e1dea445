import { Agent, request } from 'node:http'

/* Many open consoles in one process: each repeats what a browser requested on one page, and keeps its stream of events open. */

export interface VisitorOrder {
  port: number
  cookie: string
  count: number
  /** How long the recordings are. */
  seconds: number
  recordings: readonly { requests: readonly { path: string; atMs: number }[] }[]
}

/** The first requests of a page, which are not repeated while it is open, are within this time. */
const openingMs = 1_000

/** Resolves when each page has what it reads first. */
async function visit({ port, cookie, count, seconds, recordings }: VisitorOrder): Promise<void> {
  // As many connections as a browser opens to one host.
  const agents = Array.from({ length: count }, () => new Agent({ keepAlive: true, maxSockets: 6 }))
  const get = (agent: Agent, path: string) => {
    const headers = { cookie, 'sec-fetch-site': 'same-origin', 'x-filmgate-console': '1' }
    const sent = request({ port, host: '127.0.0.1', path, agent, headers }, (response) => response.resume())
    sent.on('error', () => {})
    sent.end()
    return new Promise((resolve) => sent.once('close', resolve))
  }
  const opening: Promise<unknown>[] = []
  agents.forEach((agent, at) => {
    const { requests = [] } = recordings[at % recordings.length] ?? {}
    const isStream = (path: string) => path.includes('/events')
    for (const { path } of requests.filter(({ path }) => isStream(path))) void get(agent, path)
    const first = requests.filter(({ atMs, path }) => atMs < openingMs && !isStream(path))
    opening.push(...first.map(({ path }) => get(agent, path)))
    const later = requests.filter(({ atMs, path }) => atMs >= openingMs && !isStream(path))
    // Not all at the same moment.
    const shift = (at / count) * seconds * 1_000
    for (const { path, atMs } of later)
      setTimeout(
        () => {
          void get(agent, path)
          setInterval(() => get(agent, path), seconds * 1_000)
        },
        (atMs + shift) % (seconds * 1_000),
      )
  })
  await Promise.all(opening)
}

if (process.send && import.meta.main) {
  process.once('message', async (order: VisitorOrder) => {
    await visit(order)
    process.send?.('visiting')
  })
  process.once('disconnect', () => process.exit())
}
