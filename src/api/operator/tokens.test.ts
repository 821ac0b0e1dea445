import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { openAccess } from '../../access.ts'
import { manualClock } from '../../core/clock.fixture.ts'
import { Problem } from '../../core/problem.ts'
import { digestSecret } from '../../core/token.ts'
import type { OperatorTokenWithUse } from '../../wire/tokens.ts'
import { type TokenDependencies, tokenRoutes } from './tokens.ts'

/** What the route shows of a token whose project has this many waiting tasks. */
async function usedWith(countQueued: (owner: string, most: number) => Promise<number>) {
  const access = openAccess({
    tokens: [{ kind: 'client', name: 'anna', digest: digestSecret('secret'), models: ['*'] }],
  })
  const dependencies = { access, store: { countQueued }, clock: manualClock(), random: () => new Uint8Array() }
  const routes = tokenRoutes(dependencies as unknown as TokenDependencies, { of: async () => 7 })
  const show = routes.find(({ id }) => id === 'showToken') ?? assert.fail()
  const request = { params: { id: 'config:anna' } } as unknown as FastifyRequest
  const shown = (await show.handler(request, {} as FastifyReply)) as OperatorTokenWithUse
  assert.equal(shown.name, 'anna')
  return shown.used
}

it('counts waiting tasks up to a limit, and says whether there are more', async () => {
  const counted: number[] = []
  const waiting = (count: number) => async (_owner: string, most: number) => {
    counted.push(most)
    return Math.min(count, most)
  }
  const rest = { stored_bytes: 7, spend: [] }
  assert.deepEqual(await usedWith(waiting(3)), { queued: 3, more_queued: false, ...rest })
  assert.deepEqual(await usedWith(waiting(10_000)), { queued: 10_000, more_queued: false, ...rest })
  assert.deepEqual(await usedWith(waiting(90_000)), { queued: 10_000, more_queued: true, ...rest })
  assert.ok(counted.every((most) => most <= 10_001))
})

it('shows a token without what is used if the store is unavailable, and hides no other error', async () => {
  assert.equal(await usedWith(() => Promise.reject(Problem.ofStorage(new Error('it is gone')))), null)
  await assert.rejects(
    usedWith(() => Promise.reject(new Error('a bug'))),
    /a bug/,
  )
})
