import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openPieceTurns } from './pieces.ts'

it('a read begins in its turn, and does not keep it while the database reads', async () => {
  const turns = openPieceTurns()
  const begun: string[] = []
  const rows = Promise.withResolvers<number>()
  const read = () => {
    begun.push('read')
    return rows.promise
  }
  const first = await turns.take('bob')
  const reading = turns.read('alice', read)
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

it('few reads are under way at once, however many reports there are, and each owner has a turn', async () => {
  const turns = openPieceTurns()
  const begun: string[] = []
  const rows = new Map<string, PromiseWithResolvers<string>>()
  const read = (owner: string, name: string) =>
    turns.read(owner, () => {
      begun.push(name)
      const answer = Promise.withResolvers<string>()
      rows.set(name, answer)
      return answer.promise
    })
  const settle = async () => {
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate)
  }
  const all = [...Array.from({ length: 6 }, (_, at) => read('alice', `alice ${at}`)), read('bob', 'bob 0')]
  await settle()
  assert.deepEqual(begun, ['alice 0', 'alice 1'])
  rows.get('alice 0')?.resolve('done')
  await settle()
  assert.deepEqual(begun, ['alice 0', 'alice 1', 'bob 0'])
  for (let left = all.length; left > 0; left -= 1) {
    for (const answer of rows.values()) answer.resolve('done')
    await settle()
  }
  assert.deepEqual(
    await Promise.all(all),
    all.map(() => 'done'),
  )
})
