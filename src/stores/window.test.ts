import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openFairTurns } from '../core/fair.ts'
import { searchWindows, type Window } from './window.ts'

const never = new AbortController().signal

/** An owner's tasks, none of which match, in that many steps. */
function tasks(steps: number): Window & { taken: number } {
  return {
    taken: 0,
    async end(after) {
      this.taken += 1
      return Number(after) + 1 < steps ? String(Number(after) + 1) : undefined
    },
    fitting: async () => [],
  }
}

it('an owner with very many tasks delays another by one step, however many lists it requests', async () => {
  const turns = openFairTurns({ slots: 1 })
  const look = (owner: string, window: Window) =>
    searchWindows(window, '0', { limit: 1, enoughBytes: 1, turn: () => turns.take(owner, never) })
  const many = [tasks(500), tasks(500), tasks(500)]
  const few = tasks(1)
  const looks = many.map((window) => look('many', window))
  await look('few', few)
  const taken = many.reduce((sum, window) => sum + window.taken, 0)
  assert.ok(taken <= 4, `${taken} steps of the other came before`)
  await Promise.all(looks)
  assert.deepEqual(
    many.map((window) => window.taken),
    [500, 500, 500],
  )
})

it('a list that is refused a turn ends, and gives back the turns that it had', async () => {
  const turns = openFairTurns({ slots: 1 })
  const gone = new AbortController()
  const looking = searchWindows(tasks(500), '0', { limit: 1, enoughBytes: 1, turn: () => turns.take('a', gone.signal) })
  gone.abort(new Error('gone'))
  await assert.rejects(looking, { message: 'gone' })
  await searchWindows(tasks(2), '0', { limit: 1, enoughBytes: 1, turn: () => turns.take('b', never) })
})
