import assert from 'node:assert/strict'
import { it } from 'node:test'
import { parseRange } from './range.ts'

it('a Range header is a range, unsatisfiable, or ignored', () => {
  const cases: [string, unknown][] = [
    ['bytes=0-', { start: 0, end: 99 }],
    ['bytes=0-0', { start: 0, end: 0 }],
    ['bytes=10-19', { start: 10, end: 19 }],
    ['bytes=90-1000', { start: 90, end: 99 }],
    ['bytes=-10', { start: 90, end: 99 }],
    ['bytes=-1000', { start: 0, end: 99 }],
    ['Bytes=5-6', { start: 5, end: 6 }],
    ['bytes=100-', 'unsatisfiable'],
    ['bytes=200-300', 'unsatisfiable'],
    ['bytes=-0', 'unsatisfiable'],
    ['bytes=20-10', undefined],
    ['bytes=-', undefined],
    ['bytes=0-1,5-6', undefined],
    ['bytes=a-b', undefined],
    ['lines=0-1', undefined],
    ['bytes=1.5-2', undefined],
    ['bytes=99999999999999999999-', 'unsatisfiable'],
    ['bytes=0-99999999999999999999', { start: 0, end: 99 }],
    ['bytes= 1-2 ', { start: 1, end: 2 }],
    ['bytes=1 - 2', undefined],
    ['bytes=1 0-2 0', undefined],
    ['bytes=1-2=3', undefined],
    [`bytes=${' '.repeat(10_000)}-${' '.repeat(10_000)}x`, undefined],
  ]
  for (const [header, expected] of cases) assert.deepEqual(parseRange(header, 100), expected, header)
})
