import assert from 'node:assert/strict'
import { it } from 'node:test'
import { call } from './contract.ts'
import { replicate, toUpstream } from './replicate.ts'

it('a prediction from before the submit is not taken for it, also where the list is not limited to a time', async () => {
  const openedAt = Date.parse('2026-11-15T12:00:00Z')
  const request = {
    ...{ model: 'google/veo-3.1', prompt: 'a red fox', seconds: 8, size: { width: 1280, height: 720 } },
    ...{ parameters: {}, image: null },
  }
  const { model, input } = toUpstream(request, null)
  const listed = (id: string, ageMs: number) => ({
    ...{ id, model, source: 'api', status: 'processing', input },
    created_at: new Date(openedAt - ageMs).toISOString(),
  })
  const results = [listed('new', -1_000), listed('early', 59_000), listed('old', 61_000), listed('older', 3_600_000)]
  const provider = await replicate.create({ folder: '', media: undefined as never })
  const found = await provider.find?.(request, openedAt, { ...call(), fetch: async () => Response.json({ results }) })
  const ids = JSON.stringify(found)
  assert.deepEqual(
    results.map(({ id }) => [id, ids.includes(`"${id}"`)]),
    [
      ['new', true],
      ['early', true],
      ['old', false],
      ['older', false],
    ],
  )
})
