import assert from 'node:assert/strict'
import { createServer, request as forward, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, it } from 'node:test'
import OpenAI from 'openai-7.53'
import { seeded } from './faults/seeded.ts'
import { startService, token } from './service.ts'

const service = await startService({ yaml: 'accounts: { studio: { concurrency: 1 } }' })
after(() => service[Symbol.asyncDispose]())
const film = { model: 'studio', seconds: '1', size: '256x256' } as const

/** A proxy that drops this share of the responses to submits: the client sees its connection close. */
async function lossyProxy(share: number, seed: number) {
  const chance = seeded(seed)
  let dropped = 0
  const pass = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const options = { method: incoming.method, headers: incoming.headers }
    const upstream = forward(`${service.url}${incoming.url}`, options, (answer) => {
      if (incoming.method === 'POST' && chance() < share) {
        dropped += 1
        answer.resume()
        incoming.socket.destroy()
        return
      }
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.pipe(outgoing)
    })
    incoming.pipe(upstream)
  }
  const server = createServer(pass)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    dropped: () => dropped,
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
    },
  }
}

/** How many tasks each prompt has. */
async function countTasks(beginning: string): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  for (let cursor = ''; ; ) {
    const page = (await (await service.fetch(`/v1/videos?limit=100${cursor}`)).json()) as {
      data: { prompt: string }[]
      has_more: boolean
      last_id: string
    }
    for (const { prompt } of page.data.filter(({ prompt }) => prompt.startsWith(beginning)))
      counts.set(prompt, (counts.get(prompt) ?? 0) + 1)
    if (!page.has_more) return counts
    cursor = `&after=${page.last_id}`
  }
}

it('the official SDK makes exactly one task for each of a thousand calls, although 30 % of the answers are lost', async () => {
  await using proxy = await lossyProxy(0.3, 7)
  const client = new OpenAI({ apiKey: token, baseURL: proxy.url, maxRetries: 20 })
  const prompts = Array.from({ length: 1_000 }, (_, at) => `call ${at}`)
  const ids = new Map<string, string>()
  const waiting = [...prompts]
  const caller = async () => {
    for (let prompt = waiting.pop(); prompt; prompt = waiting.pop()) {
      const { id, status } = await client.videos.create({ ...film, prompt } as never)
      assert.equal(status, 'queued', 'a repeat gets the answer that was lost')
      ids.set(prompt, id)
    }
  }
  await Promise.all(Array.from({ length: 50 }, caller))
  assert.ok(proxy.dropped() > 200, `only ${proxy.dropped()} answers were lost`)
  assert.equal(new Set(ids.values()).size, 1_000)
  const counts = await countTasks('call ')
  assert.deepEqual(
    [...counts.entries()].filter(([, count]) => count !== 1),
    [],
  )
  assert.equal(counts.size, 1_000)
})
