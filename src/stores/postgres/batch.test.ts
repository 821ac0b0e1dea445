import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Problem } from '../../core/problem.ts'
import { openBatches, runEach } from './batch.ts'

const turn = () => new Promise((resolve) => setImmediate(resolve))

/** A database whose responses the test controls, and the batches in flight. */
function openStage(weigh?: (item: number) => number) {
  const asked: { items: readonly number[]; answer(): void; fail(error: unknown): void }[] = []
  const ask = openBatches((items: readonly number[]) => {
    const { promise, resolve, reject } = Promise.withResolvers<{ value: number }[]>()
    asked.push({ items, answer: () => resolve(items.map((item) => ({ value: 10 * item }))), fail: reject })
    return promise
  }, weigh)
  const askAll = async (count: number, first = 0) => {
    const answers = Array.from({ length: count }, (_, at) => ask(first + at))
    await turn()
    return answers
  }
  return { asked, askAll, sizes: () => asked.map(({ items }) => items.length) }
}

it('items of one moment go in one batch, and each gets its own result', async () => {
  const { asked, askAll, sizes } = openStage()
  const answers = await askAll(20)
  assert.deepEqual(sizes(), [20])
  asked[0]?.answer()
  assert.deepEqual(
    await Promise.all(answers),
    Array.from({ length: 20 }, (_, at) => 10 * at),
  )
})

it('enough items for two batches go as two halves', async () => {
  const { askAll, sizes } = openStage()
  await askAll(64)
  assert.deepEqual(sizes(), [32, 32])
})

it('few items wait for the batch in flight, enough items do not', async () => {
  const { asked, askAll, sizes } = openStage()
  const first = await askAll(20)
  const few = await askAll(3, 20)
  assert.deepEqual(sizes(), [20])
  asked[0]?.answer()
  await Promise.all(first)
  await turn()
  assert.deepEqual(sizes(), [20, 3])
  await askAll(16, 23)
  assert.deepEqual(sizes(), [20, 3, 16])
  asked[1]?.answer()
  assert.deepEqual(await Promise.all(few), [200, 210, 220])
})

it('heavy items are divided', async () => {
  const { askAll, sizes } = openStage(() => 400_000)
  await askAll(6)
  assert.deepEqual(sizes(), [2, 2])
})

it('items that wait fail with the batch if the database is unavailable', async () => {
  const { asked, askAll } = openStage()
  const first = await askAll(2)
  const later = await askAll(1, 2)
  asked[0]?.fail(Problem.ofStorage(new Error('it is away')))
  for (const answer of await Promise.allSettled([...first, ...later])) assert.equal(answer.status, 'rejected')
  assert.equal(asked.length, 1)
})

const locked = () => Problem.ofStorage(Object.assign(new Error('lock timeout'), { code: '55P03' }))

it('a few locked rows fail nothing that waits, and many do', async () => {
  for (const [count, expected] of [
    [2, 'fulfilled'],
    [20, 'rejected'],
  ] as const) {
    const { asked, askAll } = openStage()
    const first = Promise.allSettled(await askAll(count))
    // The second batch keeps the third from being sent.
    const second = Promise.allSettled(await askAll(count, 100))
    const third = Promise.allSettled(await askAll(1, 200))
    asked[0]?.fail(locked())
    await first
    for (let at = 1; at < 3; at += 1) {
      asked[at]?.answer()
      await turn()
    }
    await second
    assert.equal((await third)[0]?.status, expected, `${count} items`)
  }
})

it('items of a batch that failed run alone: those with the key of a locked one fail with it, and after a few keys all', async () => {
  const tried: string[] = []
  const run = async (item: string) => {
    tried.push(item)
    return item.startsWith('x') ? { error: locked() } : { value: item }
  }
  const shown = (results: readonly object[]) => results.map((result) => ('value' in result ? result.value : 'failed'))
  const results = await runEach(['a1', 'x1', 'x1', 'b1', 'x2', 'x1', 'c1'], (item) => item, run)
  assert.deepEqual(shown(results), ['a1', 'failed', 'failed', 'b1', 'failed', 'failed', 'c1'])
  assert.deepEqual(tried.splice(0), ['a1', 'x1', 'b1', 'x2', 'c1'])
  const many = Array.from({ length: 500 }, (_, at) => `x${at}`)
  assert.deepEqual(new Set(shown(await runEach(many, (item) => item, run))), new Set(['failed']))
  assert.equal(tried.length, 3)
})
