import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { simulated } from '../simulators/provider.ts'
import { startUpstream, type Upstream } from '../simulators/upstream.ts'
import { loadConfig } from '../src/config.ts'
import { start } from '../src/main.ts'
import { type Line, quantile } from './measure.ts'

interface NewsBench {
  videos: number
  /** How long the simulated provider takes for each. */
  seconds: number
}

/**
 * The time from the end of a job at the provider until the client knows: our own polls of the provider, the download and
 * the decoding are part of it. Each video is followed by all methods at once.
 */
export async function benchNews(folder: string, { videos, seconds }: NewsBench): Promise<Line[]> {
  await using upstream = await startUpstream({ speed: seconds * 1_000 })
  await using receiver = await startReceiver()
  await using service = await startService(folder, upstream, receiver)
  const url = `${service.url}/v1/videos`
  await receiver.subscribe(`${service.url}/v1/webhook_endpoints`)
  // The durations of past tasks decide which poll interval clients are given.
  await Promise.all(Array.from({ length: 3 }, async () => polling(url, await submit(url, 'the past'))))
  const methods = Object.entries(methodsOf(receiver)).map(([name, follow]) => ({
    name,
    follow,
    delays: [] as number[],
  }))
  const followed = Array.from({ length: videos }, async (_, at) => {
    // Not in step with each other, nor with any timer.
    await pause(at * 137)
    const id = await submit(url, `film ${at}`)
    await Promise.all(
      methods.map(async ({ follow, delays }) => {
        await follow(url, id)
        delays.push(Date.now() - doneAt(upstream, `film ${at}`, seconds))
      }),
    )
  })
  await Promise.all(followed)
  return methods.flatMap(({ name, delays }) =>
    [0.5, 0.9, 0.99].map((share): Line => {
      const value = quantile(delays, share) / 1_000
      const detail = `from the provider's end to the client, ${videos} videos of ${seconds} s`
      return { name: `news by ${name}, p${share * 100}`, value, unit: ' s', spread: spreadOf(delays), detail }
    }),
  )
}

const spreadOf = (delays: readonly number[]): [number, number] => [
  Math.min(...delays) / 1_000,
  Math.max(...delays) / 1_000,
]

const headers = { authorization: 'Bearer bench', 'content-type': 'application/json' }

/** How a client can learn that its video is completed. Each method gets lines of its own. */
const methodsOf = (receiver: Receiver) => ({
  polling,
  waiting: async (url: string, id: string) => {
    while (!isDone(await (await fetch(`${url}/${id}?wait=60`, { headers })).json())) {}
  },
  'a stream': async (url: string, id: string) => {
    const { body } = await fetch(`${url}/${id}/events`, { headers })
    for await (const text of body?.pipeThrough(new TextDecoderStream()) ?? [])
      if (text.includes('event: video.completed')) return
  },
  webhooks: (_: string, id: string) => receiver.notified(id),
})

/** Where the service sends webhooks. */
interface Receiver extends AsyncDisposable {
  readonly host: string
  /** Creates a webhook endpoint for this receiver. */
  subscribe(endpoints: string): Promise<void>
  /** Resolves when the webhook for that video has arrived. */
  notified(id: string): Promise<void>
}

async function startReceiver(): Promise<Receiver> {
  const arrivals = new Map<string, PromiseWithResolvers<void>>()
  const arrivalOf = (id: string) => {
    const arrival = arrivals.get(id) ?? Promise.withResolvers<void>()
    arrivals.set(id, arrival)
    return arrival
  }
  const server = createServer(async (request, response) => {
    const { data } = (await json(request)) as { data: { id: string } }
    arrivalOf(data.id).resolve()
    response.end()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const host = `127.0.0.1:${(server.address() as { port: number }).port}`
  return {
    host,
    async subscribe(endpoints) {
      const body = JSON.stringify({ name: 'bench', url: `http://${host}/`, event_types: ['video.completed'] })
      const answer = await fetch(endpoints, { method: 'POST', headers, body })
      if (!answer.ok) throw new Error(`the webhook endpoint was refused: ${await answer.text()}`)
    },
    notified: (id) => arrivalOf(id).promise,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** As OpenAI's SDKs do: at the interval that the server gives, or every second. Starts at a random time. */
async function polling(url: string, id: string): Promise<void> {
  await pause(Math.random() * 2_000)
  for (;;) {
    const answer = await fetch(`${url}/${id}`, { headers })
    if (isDone(await answer.json())) return
    await pause(Number(answer.headers.get('openai-poll-after-ms') ?? 1_000))
  }
}

function isDone(video: unknown): boolean {
  const { status } = video as { status: string }
  if (status === 'failed') throw new Error(`a video failed: ${JSON.stringify(video)}`)
  return status === 'completed'
}

async function submit(url: string, prompt: string): Promise<string> {
  const body = JSON.stringify({ model: 'sim-none', prompt, seconds: '4' })
  return ((await (await fetch(url, { method: 'POST', headers, body })).json()) as { id: string }).id
}

function doneAt(upstream: Upstream, prompt: string, seconds: number): number {
  const found = upstream.ledger().accepts.find((accept) => accept.prompt === prompt)
  return (found?.at ?? Number.NaN) + seconds * 1_000
}

function startService(folder: string, upstream: Upstream, receiver: Receiver) {
  mkdirSync(folder, { recursive: true })
  const file = join(folder, 'filmgate.yaml')
  const account = { provider: 'sim-none', base_url: upstream.url, key: 'bench', concurrency: 200 }
  const outbound = { allow: [receiver.host] }
  writeFileSync(file, JSON.stringify({ accounts: { sim: account }, outbound }))
  const env = {
    FILMGATE_DATA: join(folder, 'data'),
    FILMGATE_CONFIG: file,
    FILMGATE_PORT: '0',
    FILMGATE_TOKEN: 'bench',
  }
  return start(loadConfig({ flags: {}, env, members: simulated }), { members: simulated, writeLog: () => {} })
}
