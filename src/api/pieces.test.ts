import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openPieceTurns, readInTurn } from './pieces.ts'

it('a read begins in its turn, and does not keep it while the database reads', async () => {
  const turns = openPieceTurns()
  const begun: string[] = []
  const rows = Promise.withResolvers<number>()
  const read = () => {
    begun.push('read')
    return rows.promise
  }
  const first = await turns.take('bob')
  const reading = readInTurn(() => turns.take('alice'), read)
  await new Promise(setImmediate)
  assert.deepEqual(begun, [], 'it waits for its turn')
  first[Symbol.dispose]()
  // Resolves although the database has not responded.
  const next = await turns.take('bob')
  assert.deepEqual(begun, ['read'])
  next[Symbol.dispose]()
  rows.resolve(7)
  assert.equal(await reading, 7)
})
