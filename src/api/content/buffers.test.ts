import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openBuffers } from './buffers.ts'

it('clients of one token that hold their buffers leave large ones for other tokens, and all can be used again', () => {
  const buffers = openBuffers()
  const takeMany = (owner: string) => Array.from({ length: 100 }, () => buffers.take(owner))
  const large = (taken: readonly Buffer[]) => taken.filter(({ length }) => length === 256 * 1024).length
  for (const round of [1, 2]) {
    const taken = ['alice', 'bob', 'carol'].map((owner) => ({ owner, all: takeMany(owner) }))
    assert.deepEqual(
      taken.map(({ all }) => large(all)),
      [32, 16, 8],
      `round ${round}`,
    )
    assert.equal(new Set(taken.flatMap(({ all }) => all)).size, 300)
    for (const { owner, all } of taken) for (const buffer of all) buffers.give(buffer, owner)
  }
})
