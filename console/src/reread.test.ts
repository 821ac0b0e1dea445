import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { createReread } from './reread.ts'

it('many calls during a read are one more read, which begins after it', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const reads: PromiseWithResolvers<void>[] = []
  const reread = createReread(() => {
    const read = Promise.withResolvers<void>()
    reads.push(read)
    return read.promise
  }, 1_000)
  for (let at = 0; at < 50; at += 1) reread()
  assert.equal(reads.length, 1)
  t.mock.timers.tick(60_000)
  await setImmediate()
  assert.equal(reads.length, 1, 'the first read is still running')
  reads[0]?.resolve()
  await setImmediate()
  reread()
  t.mock.timers.tick(999)
  await setImmediate()
  assert.equal(reads.length, 1, 'the pause is not over')
  t.mock.timers.tick(1)
  await setImmediate()
  assert.equal(reads.length, 2)
  reads[1]?.resolve()
  await setImmediate()
  t.mock.timers.tick(1_000)
  await setImmediate()
  assert.equal(reads.length, 2, 'nothing was called meanwhile')
  reread()
  assert.equal(reads.length, 3)
})
