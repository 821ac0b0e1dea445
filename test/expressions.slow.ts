import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { findExpressions } from './expressions/find.ts'
import { measure } from './expressions/measure.ts'
import { trusted, trustOf } from './expressions/trusted.ts'

/*
 * An expression that backtracks stops the whole process while it reads a long text. Each one in src/ that may see what a
 * client sent takes linear time. `node test/expressions/table.ts` prints the worst time of each on 1 MB.
 */
const { written, built } = findExpressions(join(import.meta.dirname, '..'))
const exposed = written.filter(({ file }) => trustOf(file) === undefined)

it('finds the expressions of literals, of splits and of schemas', () => {
  const found = exposed.map(({ file, expression }) => `${file} ${expression}`)
  assert.ok(found.includes('src/api/wait.ts /^\\d{1,2}$/'))
  assert.ok(found.includes('src/outbound/base.ts /\\/|%2f|%5c/gi'))
  assert.ok(found.includes('src/wire/videos.ts /^[1-9][0-9]*$/u'))
})

it('no expression that may see what a client sent is built while the service runs', () => {
  assert.deepEqual(
    built.filter((file) => trustOf(file) === undefined),
    [],
  )
})

it('every reason to leave expressions out leaves some out', () => {
  const unused = trusted.filter(([files]) => !written.some(({ file }) => files.test(file)))
  assert.deepEqual(unused, [])
})

describe('takes linear time:', () => {
  for (const { file, expression } of exposed) {
    it(`${file} ${expression}`, () => {
      const { fault, worst } = measure(expression)
      assert.equal(fault, undefined, `${fault}, with ${JSON.stringify(worst)}`)
    })
  }
})

it('knows an expression that is slow', () => {
  const quadratic = [/\[[^\]]+\]$/, /\s+$/, /^Bearer +(.+)$/, /a.*b/, /^\s*(x)?\s*$/, /a(?=.*b)/g]
  const worse = [/(\d+),?\d+x/, /^bytes= *(\d*) *- *(\d*) *$/, /<(\w+\s*)+>/]
  for (const expression of [...quadratic, ...worse])
    assert.notEqual(measure(expression).fault, undefined, String(expression))
})
