import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
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

it('keeps nothing of owners that have no place any more', () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const share = openShare({ most: 10, mostOfOne: 2, items: 'streams' })
  const usedAfter = (from: number) => {
    for (let number = from; number < from + 100_000; number += 1) share.take(`a video_${number}`)[Symbol.dispose]()
    collect()
    return process.memoryUsage().heapUsed
  }
  const first = usedAfter(0)
  const growth = usedAfter(100_000) - first
  assert.ok(growth < 2 ** 20, `${growth} bytes for 100000 owners`)
})
