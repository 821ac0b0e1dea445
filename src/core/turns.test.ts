import assert from 'node:assert/strict'
import { it } from 'node:test'
import { interleaveQueues, newPosition } from './turns.ts'

const lineOf = (owners: string) => [...owners].map((owner, at) => ({ id: String(at), owner }))

it('a new task gets the position that it has in the queue once it is there', async () => {
  const circle = ['d', 'a', 'c', 'b']
  for (const counts of [
    { d: 0, a: 1, c: 0, b: 3 },
    { d: 2, a: 2, c: 2, b: 1 },
    { d: 5, a: 1, c: 1, b: 1 },
    { d: 0, a: 0, c: 0, b: 4 },
  ] as Record<string, number>[]) {
    const queueOf = (more: Record<string, number>) => {
      const lines = circle.map((owner) => Array.from({ length: more[owner] ?? 0 }, (_, at) => `${owner}${at}`))
      const waiting = circle.filter((_, at) => lines[at]?.length)
      return interleaveQueues(waiting, 100, async () => lines.filter(({ length }) => length > 0))
    }
    const places = await queueOf(counts)
    for (const owner of circle) {
      const own = counts[owner] ?? 0
      const after = await queueOf({ ...counts, [owner]: own + 1 })
      const position = after.findIndex(({ id }) => id === `${owner}${own}`) + 1
      const told = newPosition(places, owner, false)
      // Where the turn of an owner without tasks is, only the store knows: it is told the last place of the first turn.
      const last = new Set(places.map((place) => place.owner)).size + 1
      assert.equal(told, own === 0 ? last : position, `${owner} of ${JSON.stringify(counts)}`)
      assert.ok(position <= Number(told))
    }
  }
})

it('what others have in the queue beyond a turn does not matter', () => {
  assert.equal(newPosition(lineOf('b'), 'a', false), 2)
  assert.equal(newPosition(lineOf(`b${'b'.repeat(500)}`), 'a', false), 2)
  assert.equal(newPosition([], 'a', false), 1)
})

it('a position beyond the part that was read is unknown', () => {
  assert.equal(newPosition(lineOf('abcab'), 'a', true), undefined)
  assert.equal(newPosition(lineOf('abcab'), 'c', true), undefined)
  assert.equal(newPosition(lineOf('abcab'), 'd', true), 4)
  assert.equal(newPosition(lineOf('abcab'), 'a', false), 6)
  assert.equal(newPosition(lineOf('abbbb'), 'a', true), 3)
})
