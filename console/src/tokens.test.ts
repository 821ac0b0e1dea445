import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { OperatorToken } from '../../src/wire/tokens.ts'
import { firstAllowed, newTokenValues, toNewToken, toTokenChange, toTokenValues } from './tokens.ts'

const stored: OperatorToken = {
  ...{ id: 'tok_000000000000', object: 'operator.token', kind: 'client', role: null, name: 'default', project: null },
  ...{ owner: 'tok_000000000000', status: 'active', source: 'store', models: ['studio', 'kling-*'], rate: 30 },
  ...{ concurrency: null, queued: 0, stored_bytes: 2_500_000_000, ip_ranges: null, enabled: true, metadata: null },
  spend: { day: { limit: '1', time_zone: 'Europe/Berlin' }, total: { limit: '9', time_zone: 'UTC' } },
  ...{ expires_at: '2030-01-31T00:00:30.000Z', created_at: null, changed_at: null, revoked_at: null },
  old_secret_until: null,
}

it('a form without a change sends nothing, although it has no seconds and one time zone', () => {
  const values = toTokenValues(stored)
  assert.deepEqual(toTokenChange(values, { ...values }), {})
})

it('only what was changed is sent, and of the budget only its period', () => {
  const values = toTokenValues(stored)
  const changed = { ...values, rate: '', stored_bytes: '0.5', models: '*', 'spend.total': '', 'spend.month': '20' }
  assert.deepEqual(toTokenChange(values, changed), {
    rate: null,
    stored_bytes: 500_000_000,
    models: ['*'],
    spend: { month: { limit: '20', time_zone: 'Europe/Berlin' }, total: null },
  })
})

it('a cap keeps its own time zone, unless the time zone is changed', () => {
  const values = toTokenValues(stored)
  const limits = { 'spend.day': '2', 'spend.total': '10' }
  assert.deepEqual(toTokenChange(values, { ...values, ...limits }), {
    spend: { day: { limit: '2' }, total: { limit: '10' } },
  })
  const zone = 'Asia/Tokyo'
  assert.deepEqual(toTokenChange(values, { ...values, time_zone: zone }), {
    spend: { day: { limit: '1', time_zone: zone }, total: { limit: '9', time_zone: zone } },
  })
})

it('an operator token is created without what only clients have', () => {
  const values = { ...newTokenValues(), kind: 'operator', role: 'viewer', name: 'auditor', rate: '5' }
  const wanted = { kind: 'operator', role: 'viewer', name: 'auditor', ip_ranges: null, expires_at: null }
  assert.deepEqual(toNewToken(values), wanted)
  assert.ok(!('role' in toNewToken({ ...values, kind: 'client' })))
})

it('a sample has a model that the token may use', () => {
  const names = ['kling-3.0', 'studio', 'acme/fast']
  assert.equal(firstAllowed(names, ['*']), 'kling-3.0')
  assert.equal(firstAllowed(names, ['st*', '*-none']), 'studio')
  assert.equal(firstAllowed(names, ['acme/fast']), 'acme/fast')
  assert.equal(firstAllowed(names, ['other']), undefined)
})
