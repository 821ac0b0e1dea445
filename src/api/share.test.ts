import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openShare } from './share.ts'

it('a token at its limit is refused, another is served, and all together have a limit too', () => {
  const share = openShare({ most: 3, mostOfOne: 2, items: 'streams', advice: 'Poll instead' })
  const [first] = [share.take('a'), share.take('a')]
  assert.throws(() => share.take('a'), { code: 'rate_limit_exceeded', message: /^This token already has 2 streams \(/ })
  share.take('b')
  assert.throws(() => share.take('c'), { code: 'overloaded', message: /^The service already has 3 .+ Poll instead\.$/ })
  first?.[Symbol.dispose]()
  first?.[Symbol.dispose]()
  share.take('c')
  assert.throws(() => share.take('b'), { code: 'overloaded' })
})
