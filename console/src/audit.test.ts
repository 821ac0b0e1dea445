import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { AuditEntry } from '../../src/wire/audit.ts'
import { changesOf, readAuditPlace } from './audit.ts'

const entry: AuditEntry = {
  ...{ id: '7', object: 'operator.audit_entry', at: '2026-11-15T09:30:00.000Z', actor: 'tok_1' },
  ...{ actor_name: 'ops', address: '127.0.0.1', action: 'token.change', target: 'tok_2' },
  before: { name: 'a "b", c', rate: 5, spend: null },
  after: { name: 'a "b", c', rate: 6, spend: { total: 1 } },
}

it('shows only what a change changed', () => {
  assert.deepEqual(changesOf(entry), [
    { name: 'rate', before: '5', after: '6' },
    { name: 'spend', before: null, after: '{"total":1}' },
  ])
  assert.deepEqual(changesOf({ ...entry, before: null, after: null }), [])
})

it('reads the place from the address, whatever it has', () => {
  assert.deepEqual(readAuditPlace({ after: 25 }), { after: 25 })
  assert.deepEqual(readAuditPlace({ after: '25' }), { after: 25 })
  for (const after of [undefined, 'now', -1, 0.5, null]) assert.deepEqual(readAuditPlace({ after }), {})
})
