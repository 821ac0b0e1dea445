import assert from 'node:assert/strict'
import { it } from 'node:test'
import { manualClock } from '../../core/clock.fixture.ts'
import { deliveryIdsFrom } from '../../core/webhook.ts'
import { newEndpoint } from '../../stores/contract/webhooks.ts'
import type { ReplayStep, Store } from '../../stores/store.ts'
import type { ReplayWebhookEndpoint } from '../../wire/webhooks.ts'
import type { BodyRequest } from '../route.ts'
import { openDeliveries } from './deliveries.ts'

it('replays each failed delivery once, however many they are and however soon they fail again', async () => {
  const endpoint = newEndpoint('1')
  const failed = Array.from({ length: 2_500 }, (_, at) => `${deliveryIdsFrom(5_000 + at)}${'0'.repeat(32)}`)
  const replayed: string[] = []
  const store = {
    endpoint: async () => endpoint,
    // They all stay failed: the receiver refuses them faster than they are replayed.
    async replayFailed(_: string, { state, after, limit }: ReplayStep) {
      if (state === 'pending') return []
      const ids = failed.filter((id) => id > after).slice(0, limit)
      replayed.push(...ids)
      return ids
    },
  } as Partial<Store> as Store
  const fields = { params: { id: endpoint.id }, token: { name: endpoint.owner }, body: { since: 6 } }
  const request = fields as BodyRequest<ReplayWebhookEndpoint>
  const answer = await openDeliveries({ store, clock: manualClock(0) }).replayFailed(request)
  assert.equal(answer.replayed, 1_500)
  assert.deepEqual(replayed, failed.slice(1_000))
})
