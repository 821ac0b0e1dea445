import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setImmediate, setTimeout } from 'node:timers/promises'
import fastify from 'fastify'
import type { AuditRecord } from '../../core/audit.ts'
import { openPieceTurns } from '../pieces.ts'
import { addRoute } from '../route.ts'
import { auditRoutes } from './audit.ts'

const entry = (number: number): AuditRecord => ({
  ...{ number, at: 1_800_000_000_000, actor: 'tok_1', actorName: '=cmd()', address: '127.0.0.1' },
  ...{ action: 'token.change', target: 'tok_2', before: null, after: { name: 'a "b", c', rate: number } },
})

/** Serves a log of entries that are numbered down from `newest`. */
async function serve(newest: number) {
  const reads: number[] = []
  const store = {
    async auditLog({ after = newest + 1, limit }: { after?: number; limit: number }) {
      reads.push(limit)
      return Array.from({ length: Math.min(limit, after - 1) }, (_, at) => entry(after - 1 - at))
    },
  }
  const app = fastify()
  app.decorateRequest('token')
  const closed = Promise.withResolvers<void>()
  app.addHook('onRequest', async (request, reply) => {
    reply.raw.once('close', closed.resolve)
    request.token = { kind: 'operator', name: 'ops', digest: '', models: [] }
  })
  for (const route of auditRoutes({ store, turns: openPieceTurns() })) addRoute(app, route)
  const url = await app.listen({ port: 0 })
  const get = (query: string, signal?: AbortSignal) =>
    fetch(`${url}/operator/v1/audit${query}`, { ...(signal && { signal }) })
  return { get, reads, closed: closed.promise, [Symbol.asyncDispose]: () => app.close() }
}

it('the whole log is a CSV file that a spreadsheet reads as text', async () => {
  await using served = await serve(250)
  const response = await served.get('?format=csv')
  assert.equal(response.headers.get('content-type'), 'text/csv; charset=utf-8')
  const [head, first, ...others] = (await response.text()).split('\r\n')
  assert.equal(head, 'id,at,actor,actor_name,address,action,target,before,after')
  const start = "250,2027-01-15T08:00:00.000Z,tok_1,'=cmd(),127.0.0.1,token.change,tok_2,,"
  assert.equal(first, `${start}"{""name"":""a \\""b\\"", c"",""rate"":250}"`)
  assert.deepEqual([others.length, others.at(-2)?.split(',')[0], others.at(-1)], [250, '1', ''])
  assert.deepEqual(served.reads, [100, 100, 100])
})

it('the whole log is JSON lines, each as in the API', async () => {
  await using served = await serve(200)
  const response = await served.get('?format=jsonl')
  assert.equal(response.headers.get('content-type'), 'application/jsonl; charset=utf-8')
  const lines = (await response.text()).trimEnd().split('\n')
  assert.equal(lines.length, 200)
  const { data } = (await (await served.get('?limit=1')).json()) as { data: unknown[] }
  assert.deepEqual(JSON.parse(lines[0] ?? ''), data[0])
})

it('a file may begin after an entry, have a limit, and be empty', async () => {
  await using served = await serve(200)
  const lines = async (query: string) =>
    (await (await served.get(`?format=jsonl${query}`)).text()).split('\n').length - 1
  assert.deepEqual(
    [await lines('&after=151'), await lines('&after=151&limit=20'), await lines('&after=1')],
    [150, 20, 0],
  )
})

it('the log is read only as fast as the client reads, and not after it has disconnected', async () => {
  await using served = await serve(100_000_000)
  const client = new AbortController()
  const { body } = await served.get('?format=csv', client.signal)
  await body?.getReader().read()
  // Until no step is read for a while.
  for (let known = -1; known !== served.reads.length; await setTimeout(200)) {
    known = served.reads.length
    assert.ok(known < 10_000, `${known} steps for a client that reads nothing`)
  }
  client.abort()
  await served.closed
  const atClose = served.reads.length
  for (let turn = 0; turn < 1_000; turn += 1) await setImmediate()
  assert.ok(served.reads.length <= atClose + 1)
})
