import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openaiWire } from '../../simulators/openai.ts'
import { picture, testNetworkProvider } from './contract.ts'
import { openai } from './openai.ts'
import type { Call } from './provider.ts'

const request = {
  ...{ model: 'film', prompt: 'a red fox', seconds: 4, size: { width: 1280, height: 720 }, parameters: { seed: 7 } },
  image: null,
}
const requests = [request, { ...request, prompt: 'a red fox, from a picture', image: picture }] as const

for (const dialect of ['openai', 'vllm-omni', 'sglang'] as const)
  testNetworkProvider(`openai (${dialect})`, {
    ...{ member: openai, path: '/v1', key: 'sk-test-1234567890', requests },
    wire: () => openaiWire(dialect),
    without: {
      'poll-status-expired': 'gateways do say so, of what has failed',
      ...(dialect === 'sglang' && { 'poll-policy': 'it never says why' }),
    },
  })

describe('the videos that an upstream lists', () => {
  const openedAt = 1_800_000_000_000
  const asked = { ...request, prompt: 'a red fox\n in snow', seconds: 5, size: { width: 832, height: 480 } }
  const ours = { id: 'v1', prompt: asked.prompt, seconds: '5', size: '832x480', created_at: openedAt / 1_000 }
  const find = async (data: object[], more: object = {}, headers: Record<string, string> = {}) => {
    const provider = await openai.create({ folder: '', media: undefined as never })
    const fetch = async () => Response.json({ object: 'list', data, ...more }, { headers })
    const call = { fetch, credential: null, signal: AbortSignal.timeout(1_000), now: () => openedAt + 5_000 }
    return provider.find?.(asked, openedAt, call as unknown as Call)
  }
  const likeness = async (change: object) => {
    const found = await find([{ ...ours, ...change }])
    return found?.matches.length === 1 ? 'match' : found?.possible.length === 1 ? 'possible' : 'other'
  }

  it('match by their prompt, and by seconds and a size that may have been adjusted', async () => {
    assert.equal(await likeness({}), 'match')
    assert.equal(await likeness({ prompt: 'a red fox in snow ' }), 'match')
    assert.equal(await likeness({ seconds: '4', size: '848x480' }), 'match')
    assert.equal(await likeness({ seconds: null, size: undefined, created_at: undefined }), 'match')
  })

  it('are possible where they tell too little, or less than was asked', async () => {
    const blind = { prompt: undefined }
    assert.equal(await likeness(blind), 'possible')
    assert.equal(await likeness({ ...blind, seconds: '4', size: '848x480' }), 'possible')
    assert.equal(await likeness({ prompt: 'a red f…' }), 'possible', 'a prompt that is cut off')
    assert.equal(await likeness({ seconds: '20' }), 'possible', 'our prompt, at another length')
  })

  it('are of others where they differ, or are older than the attempt', async () => {
    assert.equal(await likeness({ prompt: 'a hen' }), 'other')
    assert.equal(await likeness({ prompt: undefined, size: '1280x720' }), 'other')
    assert.equal(await likeness({ prompt: undefined, seconds: '20' }), 'other')
    assert.equal(await likeness({ created_at: openedAt / 1_000 - 61 }), 'other')
    assert.equal(await likeness({ created_at: openedAt - 61_000 }), 'other', 'in milliseconds')
    assert.equal(await likeness({ id: '../x' }), 'other')
  })

  it('are dated by a clock that may be wrong, which its Date tells', async () => {
    const slow = { ...ours, created_at: openedAt / 1_000 - 600 }
    assert.deepEqual((await find([slow]))?.matches, [])
    const date = new Date(openedAt + 5_000 - 600_000).toUTCString()
    assert.deepEqual((await find([slow], {}, { date }))?.matches, ['v1'])
  })

  it('are not all where there may be more since the attempt was opened', async () => {
    const others = (count: number, age: number) =>
      Array.from({ length: count }, (_, at) => ({ ...ours, id: `x${at}`, created_at: openedAt / 1_000 - age }))
    assert.equal((await find(others(3, 0)))?.isPartial, false)
    assert.equal((await find(others(3, 0), { has_more: true }))?.isPartial, true)
    assert.equal((await find(others(100, 0)))?.isPartial, true)
    assert.equal((await find([...others(99, 0), ...others(1, 90)], { has_more: true }))?.isPartial, false)
  })
})
