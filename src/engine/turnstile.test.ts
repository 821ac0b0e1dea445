import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openTurnstile } from './turnstile.ts'

const { signal } = new AbortController()

it('lets so many in at once, and the others in their order as those leave', async () => {
  const { enter, leave } = openTurnstile(2)
  const [a, b, c, d] = [{}, {}, {}, {}]
  const seen: string[] = []
  await Promise.all([enter(a, signal), enter(b, signal)])
  const waiting = [enter(c, signal).then(() => seen.push('c')), enter(d, signal).then(() => seen.push('d'))]
  leave(c)
  await Promise.resolve()
  assert.deepEqual(seen, [], 'one who is not in can not leave')
  leave(a)
  leave(a)
  await waiting[0]
  assert.deepEqual(seen, ['c'])
  leave(b)
  await waiting[1]
  assert.deepEqual(seen, ['c', 'd'])
})

it('forgets who gave up waiting', async () => {
  const { enter, leave } = openTurnstile(1)
  const [a, b, c] = [{}, {}, {}]
  await enter(a, signal)
  const stop = new AbortController()
  const given = enter(b, stop.signal)
  const next = enter(c, signal)
  stop.abort(new Error('no more'))
  await assert.rejects(given, /no more/)
  leave(a)
  await next
  await assert.rejects(enter(b, stop.signal), /no more/)
})
