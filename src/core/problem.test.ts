import assert from 'node:assert/strict'
import { it } from 'node:test'
import { inspect } from 'node:util'
import { errorForOperator, Problem } from './problem.ts'

const echo = '{"x": sk-live-0123456789\n    at sk-live-0123456789'

function unreadable(): unknown {
  try {
    return JSON.parse(echo)
  } catch (thrown) {
    return thrown
  }
}

it('a problem never quotes text that is not JSON, but keeps the stack', () => {
  assert.match(String(unreadable()), /sk-l/, 'else this test shows nothing')
  for (const problem of [Problem.from(unreadable()), new Problem('internal', 'x', { cause: unreadable() })]) {
    const { cause } = problem as { cause: Error }
    assert.doesNotMatch(inspect(problem), /sk-l/)
    assert.equal(cause.message, 'the text is not JSON')
    assert.match(cause.stack ?? '', /at unreadable .*problem\.test\.ts/)
  }
})

it('the operator sees the cause of a problem, without a stack and not longer than 500 characters', () => {
  const shown = (cause: unknown) => errorForOperator(new Problem('internal', 'It failed.', { cause })).message
  assert.deepEqual([undefined, new Error('it broke'), 'Error: it broke\n    at child.ts:1', null].map(shown), [
    'It failed.',
    'It failed. (it broke)',
    'It failed. (Error: it broke)',
    'It failed. (null)',
  ])
  assert.equal(shown('x'.repeat(1_000)).length, 500)
})
