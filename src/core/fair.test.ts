import assert from 'node:assert/strict'
import { it } from 'node:test'
import { type FairTurns, openFairTurns } from './fair.ts'

const never = new AbortController().signal
const settled = () => new Promise((resolve) => setImmediate(resolve))

/** Takes a turn for each name, in this order; `served` has the names of those that got theirs. */
function ask(turns: FairTurns, ...names: string[]) {
  const served: string[] = []
  const slots: Disposable[] = []
  for (const name of names) {
    const [owner = ''] = name
    void turns.take(owner, never).then((slot) => {
      served.push(name)
      slots.push(slot)
    })
  }
  return {
    served,
    /** Ends the oldest turns, one after the other. */
    async end(count = 1) {
      await settled()
      for (let index = 0; index < count; index += 1) {
        slots.shift()?.[Symbol.dispose]()
        await settled()
      }
      return served
    },
  }
}

it('an owner waits only for what is running, however many requests of another came first', async () => {
  const line = ask(openFairTurns({ slots: 2 }), 'a1', 'a2', 'a3', 'a4', 'a5', 'b1')
  assert.deepEqual(await line.end(0), ['a1', 'a2'])
  assert.deepEqual(await line.end(), ['a1', 'a2', 'b1'])
})

it('owners take turns, each in its own order', async () => {
  const line = ask(openFairTurns({ slots: 1 }), 'a1', 'a2', 'a3', 'b1', 'b2', 'c1')
  assert.deepEqual(await line.end(5), ['a1', 'b1', 'c1', 'a2', 'b2', 'a3'])
})

it('no owner holds two slots while another that holds none waits', async () => {
  const line = ask(openFairTurns({ slots: 2 }), 'a1', 'b1', 'b2', 'b3', 'c1')
  assert.deepEqual(await line.end(), ['a1', 'b1', 'c1'])
})

it('a slot that one owner may not hold is kept for another, which need not wait', async () => {
  const line = ask(openFairTurns({ slots: 3, mostHeld: 2 }), 'a1', 'a2', 'a3', 'a4')
  assert.deepEqual(await line.end(0), ['a1', 'a2'])
  assert.deepEqual(await line.end(), ['a1', 'a2', 'a3'])
  const turns = openFairTurns({ slots: 3, mostHeld: 2 })
  assert.deepEqual(await ask(turns, 'a1', 'a2', 'a3', 'b1', 'b2').end(0), ['a1', 'a2', 'b1'])
})

it('owners that come back at once do not overtake an owner that waits', async () => {
  const turns = openFairTurns({ slots: 1 })
  const first = await turns.take('b', never)
  const waiting = ask(turns, 'a1')
  const back = ask(turns, 'c1', 'b1')
  first[Symbol.dispose]()
  await settled()
  assert.deepEqual([waiting.served, back.served], [['a1'], []])
})

it('an owner with too many waiting is refused, another is not, and may wait again after a turn', async () => {
  const turns = openFairTurns({ slots: 1, mostWaiting: 2, what: 'images' })
  const line = ask(turns, 'a1', 'a2', 'a3')
  await assert.rejects(turns.take('a', never), {
    code: 'rate_limit_exceeded',
    retryable: true,
    message: 'This token has 2 images waiting already. Try again shortly.',
  })
  const other = ask(turns, 'b1')
  await line.end()
  assert.deepEqual(other.served, ['b1'])
  await other.end()
  assert.deepEqual(line.served, ['a1', 'a2'])
  ask(turns, 'a4')
})

it('a signal ends the wait with its reason, and the others keep their order', async () => {
  const turns = openFairTurns({ slots: 1 })
  const line = ask(turns, 'a1')
  const stop = new AbortController()
  const left = assert.rejects(turns.take('a', stop.signal), { message: 'gone' })
  const last = ask(turns, 'a3')
  stop.abort(new Error('gone'))
  await left
  await line.end()
  assert.deepEqual(last.served, ['a3'])
  await assert.rejects(turns.take('a', stop.signal), { message: 'gone' })
})

it('a turn that comes at the same moment as the abort is given back', async () => {
  const turns = openFairTurns({ slots: 1 })
  const first = await turns.take('a', never)
  const stop = new AbortController()
  const late = assert.rejects(turns.take('b', stop.signal), { message: 'gone' })
  first[Symbol.dispose]()
  stop.abort(new Error('gone'))
  await late
  await turns.take('c', never)
})

it('a slot that is given back twice counts once', async () => {
  const turns = openFairTurns({ slots: 1 })
  const slot = await turns.take('a', never)
  slot[Symbol.dispose]()
  slot[Symbol.dispose]()
  assert.deepEqual(await ask(turns, 'a1', 'b1').end(0), ['a1'])
})
