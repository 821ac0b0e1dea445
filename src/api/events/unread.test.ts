import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openUnread } from './unread.ts'

it('closes the stream with the most bytes if all streams of a token have too many', () => {
  const unread = openUnread(100)
  const gone: string[] = []
  const stream = (name: string, owner = 'alice') => {
    const drop = () => {
      gone.push(name)
      unread.set(owner, drop, 0)
    }
    return (bytes: number) => unread.set(owner, drop, bytes)
  }
  const [one, two, three, other] = [stream('one'), stream('two'), stream('three'), stream('other', 'bob')]
  one(60)
  two(40)
  other(100)
  assert.deepEqual(gone, [])
  two(0)
  three(40)
  assert.deepEqual(gone, [])
  two(10)
  assert.deepEqual(gone, ['one'])
  two(60)
  assert.deepEqual(gone, ['one'])
  three(41)
  assert.deepEqual(gone, ['one', 'two'])
})
