import assert from 'node:assert/strict'
import { it } from 'node:test'
import { manualClock } from '../core/clock.fixture.ts'
import { newDelivery } from '../core/webhook.ts'
import type { Posted } from '../outbound.ts'
import { newEndpoint } from '../stores/contract/webhooks.ts'
import type { Store } from '../stores/store.ts'
import { mostSilent, openTries } from './tries.ts'

it('knows who did not answer the last time, of the hosts that were tried last', async () => {
  let posted: Posted = { error: 'timed_out' }
  const store = { recordDelivery: async () => true } as Partial<Store> as Store
  const log = { info() {}, warn() {}, error() {} }
  const world = { store, outbound: { post: async () => posted }, clock: manualClock(0), log, knows: () => true }
  const tries = openTries(
    { ...world, random: (count) => new Uint8Array(count) },
    { signal: new AbortController().signal, onEnd() {} },
  )
  const tryHost = async (number: number) => {
    const endpoint = newEndpoint('1', { url: `https://host${number}.test/hook` })
    tries.begin(newDelivery(endpoint, { task: 'video_1', at: 0, type: 'video.completed' }), endpoint, 60_000)
    await tries.settled()
  }
  for (let number = 0; number < mostSilent; number += 1) await tryHost(number)
  assert.equal(tries.silent.size, mostSilent)
  await tryHost(0)
  await tryHost(mostSilent)
  assert.equal(tries.silent.size, mostSilent)
  const known = [0, 1, 2, mostSilent].map((number) => tries.silent.has(`host${number}.test`))
  assert.deepEqual(known, [true, false, true, true])
  posted = { status: 500, retryAfter: null }
  await tryHost(0)
  assert.equal(tries.silent.has('host0.test'), false)
})
