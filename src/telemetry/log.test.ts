import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openTelemetry } from './log.ts'

function logged(secrets: string[], fields: Record<string, unknown>): Record<string, unknown> {
  const lines: string[] = []
  const { log } = openTelemetry({ write: (text) => lines.push(text), now: () => 0, secrets })
  log.error('something', fields)
  const line = lines.join('')
  assert.ok(line.endsWith('\n'))
  return JSON.parse(line)
}

it('a secret is cut out wherever it stands, however deep, and quotes in it do not help it', () => {
  const secret = 'my "quoted" secret'
  const line = logged([secret], {
    url: `/x?key=${secret}`,
    deep: [{ [secret]: new Error('no', { cause: new Error(secret) }) }],
  })
  assert.ok(!JSON.stringify(line).includes('quoted'))
  assert.equal(line.url, '/x?key=[redacted]')
})

it('a secret of a few letters does not cut every word to pieces', () => {
  assert.equal(logged(['m'], { word: 'mammal' }).word, 'mammal')
})

it('an error keeps its code, its message and the chain of its causes', () => {
  const { error } = logged([], {
    error: new Error('outer', { cause: Object.assign(new Error('inner'), { code: 'EIO' }) }),
  }) as {
    error: { message: string; cause: { message: string; code: string } }
  }
  assert.deepEqual([error.message, error.cause.message, error.cause.code], ['outer', 'inner', 'EIO'])
})

it('a secret that the service learns while it runs is cut out from then on', () => {
  const lines: string[] = []
  const { log, hide, redact } = openTelemetry({ write: (text) => lines.push(text), now: () => 0, secrets: [] })
  hide(['sk-a-new-key', 'short'])
  log.info('it failed', { why: 'sk-a-new-key is wrong, in short' })
  assert.match(lines.join(''), /"why":"\[redacted\] is wrong, in short"/)
  assert.equal(redact('"sk-a-new-key"'), '"[redacted]"')
})
