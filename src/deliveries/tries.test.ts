import assert from 'node:assert/strict'
import { it } from 'node:test'
import { manualClock } from '../core/clock.fixture.ts'
import { newDelivery } from '../core/webhook.ts'
import type { Posted } from '../outbound.ts'
import { newEndpoint } from '../stores/contract/webhooks.ts'
import type { Store } from '../stores/store.ts'
import { mostSilent, openTries, ownerHostOf, slowMs } from './tries.ts'

it('remembers hosts that did not respond the last time, or slowly', async () => {
  let posted: Posted = { error: 'timed_out' }
  let tookMs = 0
  const clock = manualClock(0)
  const store = { recordDelivery: async () => true } as Partial<Store> as Store
  const log = { info() {}, warn() {}, error() {} }
  const post = async () => {
    clock.advance(tookMs)
    return posted
  }
  const access = { knows: () => true }
  const world = { store, outbound: { of: () => ({ post }) }, clock, log, access, hasFiles: () => true }
  const tries = openTries(
    { ...world, random: (count) => new Uint8Array(count) },
    { signal: new AbortController().signal, onEnd() {} },
  )
  const endpointOf = (number: number, owner = 'alice') =>
    newEndpoint('1', { owner, url: `https://host${number}.test/hook` })
  const isSilent = (number: number, owner?: string) => tries.isSilent(ownerHostOf(endpointOf(number, owner)))
  const tryHost = async (number: number) => {
    const endpoint = endpointOf(number)
    tries.begin(newDelivery(endpoint, { task: 'video_1', at: 0, type: 'video.completed' }), endpoint, 60_000)
    await tries.settled()
  }
  for (let number = 0; number < mostSilent; number += 1) await tryHost(number)
  assert.deepEqual([isSilent(0), isSilent(mostSilent - 1)], [true, true])
  await tryHost(0)
  await tryHost(mostSilent)
  const known = [0, 1, 2, mostSilent].map((number) => isSilent(number))
  assert.deepEqual(known, [true, false, true, true])
  // A host may be silent for one owner and not for another.
  assert.equal(isSilent(0, 'bob'), false)
  posted = { status: 500, retryAfter: null }
  await tryHost(0)
  assert.equal(isSilent(0), false)
  posted = { status: 200, retryAfter: null }
  tookMs = slowMs
  await tryHost(0)
  assert.equal(isSilent(0), true)
})
