import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import fastify, { type FastifyReply, type FastifyRequest } from 'fastify'
import { newTask } from '../../stores/contract/world.ts'
import { openPieceTurns } from '../pieces.ts'
import { addRoute } from '../route.ts'
import { searchRoute } from './search.ts'

it('a search stops when its client has disconnected', async () => {
  let steps = 0
  const client = new AbortController()
  const store = {
    async search() {
      steps += 1
      if (steps === 3) client.abort()
      await setTimeout(steps < 3 ? 0 : 20)
      return { tasks: [], next: newTask('1').id }
    },
  }
  const ended = Promise.withResolvers<void>()
  const route = searchRoute({ store, turns: openPieceTurns() })
  const handler = async (request: FastifyRequest, reply: FastifyReply) => {
    request.token = { kind: 'operator', name: 'ops', digest: '', models: [] }
    try {
      return await route.handler(request, reply)
    } finally {
      ended.resolve()
    }
  }
  await using app = fastify()
  addRoute(app, { ...route, handler })
  const url = await app.listen({ port: 0 })
  await assert.rejects(fetch(`${url}/operator/v1/tasks?text=fox`, { signal: client.signal }), /aborted/)
  await ended.promise
  assert.ok(steps < 20, `${steps} steps`)
})
