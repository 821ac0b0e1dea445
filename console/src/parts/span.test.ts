import assert from 'node:assert/strict'
import { it } from 'node:test'
import { en } from '../text/en.ts'
import { toSpan } from './span.ts'

const written = (ms: number) => {
  const [key, values] = toSpan(ms)
  return en[key].replace(/\{(\w+)\}/g, (_, name: string) => String(values[name]))
}

it('a length of time has the unit that fits it, also at the edges', () => {
  const expected = {
    ...{ 0: '0 s', 0.4: '0 ms', 850: '850 ms', 999.6: '1 s', 1949: '1.9 s', 9960: '10 s', 12400: '12 s' },
    ...{ 59600: '1 min 0 s', 239700: '4 min 0 s', 3599700: '1 h 0 min', 90061000: '25 h 1 min' },
  }
  assert.deepEqual(Object.fromEntries(Object.keys(expected).map((ms) => [ms, written(Number(ms))])), expected)
})
