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
import { quantile } from './listeners.ts'
import type { Line } from './measure.ts'

export interface NewsBench {
  films: number
  /** How long the simulated provider takes to make one. */
  seconds: number
}

/**
 * From the moment in which a provider is done to the moment in which a client knows: the whole way, with our own polls of
 * the provider, the download and the decoding of the film. Each film is followed in every way at once.
 */
export async function benchNews(folder: string, { films, seconds }: NewsBench): Promise<Line[]> {
  await using upstream = await startUpstream({ speed: seconds * 1_000 })
  await using receiver = await startReceiver()
  await using service = await startService(folder, upstream, receiver)
  const url = `${service.url}/v1/videos`
  await receiver.subscribe(`${service.url}/v1/webhook_endpoints`)
  // What is known of the past decides when a client is told to ask again.
  await Promise.all(Array.from({ length: 3 }, async () => polling(url, await submit(url, 'the past'))))
  const known = Object.entries(waysOf(receiver)).map(([name, follow]) => ({ name, follow, delays: [] as number[] }))
  const followed = Array.from({ length: films }, async (_, at) => {
    // Not in step: neither with each other nor with anybody's timer.
    await pause(at * 137)
    const id = await submit(url, `film ${at}`)
    await Promise.all(
      known.map(async ({ follow, delays }) => {
        await follow(url, id)
        delays.push(Date.now() - doneAt(upstream, `film ${at}`, seconds))
      }),
    )
  })
  await Promise.all(followed)
  return known.flatMap(({ name, delays }) =>
    [0.5, 0.9, 0.99].map((share): Line => {
      const value = quantile(delays, share) / 1_000
      const detail = `from the provider's end to the client, ${films} films of ${seconds} s`
      return { name: `news by ${name}, p${share * 100}`, value, unit: ' s', spread: spreadOf(delays), detail }
    }),
  )
}

const spreadOf = (delays: readonly number[]): [number, number] => [
  Math.min(...delays) / 1_000,
  Math.max(...delays) / 1_000,
]

const headers = { authorization: 'Bearer bench', 'content-type': 'application/json' }

/** How a client can learn of the end of its video. Whoever adds one gets its lines. */
const waysOf = (receiver: Receiver) => ({
  polling,
  waiting: async (url: string, id: string) => {
    while (!isDone(await (await fetch(`${url}/${id}?wait=60`, { headers })).json())) {}
  },
  'a stream': async (url: string, id: string) => {
    const { body } = await fetch(`${url}/${id}/events`, { headers })
    for await (const text of body?.pipeThrough(new TextDecoderStream()) ?? [])
      if (text.includes('event: video.completed')) return
  },
  webhooks: (_: string, id: string) => receiver.told(id),
})

/** Where the service sends webhooks. */
interface Receiver extends AsyncDisposable {
  readonly host: string
  /** Asks the service to. */
  subscribe(endpoints: string): Promise<void>
  /** Resolves when it knows of the end of that video. */
  told(id: string): Promise<void>
}

async function startReceiver(): Promise<Receiver> {
  const known = new Map<string, PromiseWithResolvers<void>>()
  const of = (id: string) => {
    const one = known.get(id) ?? Promise.withResolvers<void>()
    known.set(id, one)
    return one
  }
  const server = createServer(async (request, response) => {
    const { data } = (await json(request)) as { data: { id: string } }
    of(data.id).resolve()
    response.end()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const host = `127.0.0.1:${(server.address() as { port: number }).port}`
  return {
    host,
    async subscribe(endpoints) {
      const body = JSON.stringify({ name: 'bench', url: `http://${host}/`, event_types: ['video.completed'] })
      const answer = await fetch(endpoints, { method: 'POST', headers, body })
      if (!answer.ok) throw new Error(`no webhooks: ${await answer.text()}`)
    },
    told: (id) => of(id).promise,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** As OpenAI's SDKs do: when the server says, or each second. It begins at any time, so that it ends at any time. */
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
  if (status === 'failed') throw new Error(`a film failed: ${JSON.stringify(video)}`)
  return status === 'completed'
}

async function submit(url: string, prompt: string): Promise<string> {
  const body = JSON.stringify({ model: 'sim-none', prompt, seconds: '4' })
  return ((await (await fetch(url, { method: 'POST', headers, body })).json()) as { id: string }).id
}

function doneAt(upstream: Upstream, prompt: string, seconds: number): number {
  const accept = upstream.ledger().accepts.find((one) => one.prompt === prompt)
  return (accept?.at ?? Number.NaN) + seconds * 1_000
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
