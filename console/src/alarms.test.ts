import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { OperatorAlarm } from '../../src/wire/alarms.ts'
import { placeOf, toAlarmRows } from './alarms.ts'

const alarm = (id: string) => ({ id }) as OperatorAlarm
const page = (ids: string[], hasMore: boolean) => ({
  ...{ data: ids.map(alarm), has_more: hasMore, last_id: ids.at(-1) ?? null },
})
const shown = (...given: Parameters<typeof toAlarmRows>) =>
  toAlarmRows(...given)?.map(({ id, isStored }) => [id, isStored])

it('alarms that only the status has are about the database itself', () => {
  assert.deepEqual(shown(page(['a4', 'a2'], false), ['a4', 'a3', 'a1'].map(alarm)), [
    ['a4', true],
    ['a3', false],
    ['a2', true],
    ['a1', false],
  ])
})

it('alarms older than the page are on a later one, where they can be acknowledged', () => {
  assert.deepEqual(shown(page(['a4', 'a2'], true), ['a5', 'a3', 'a1'].map(alarm)), [
    ['a5', false],
    ['a4', true],
    ['a3', false],
    ['a2', true],
  ])
})

it('while the database does not respond, those of the status are shown', () => {
  assert.deepEqual(shown(undefined, [alarm('a1')]), [['a1', false]])
  assert.equal(shown(undefined, []), undefined)
})

it('an alarm leads to the page of what it is about, if there is one', () => {
  const places = {
    circuit_open: ['kling', { to: '/providers/$name', params: { name: 'kling' } }],
    limit_reached: ['tok_mwm7ko6brh1i', { to: '/tokens/$id', params: { id: 'tok_mwm7ko6brh1i' } }],
    endpoint_dead: ['tok_shop', { to: '/tokens', search: { project: 'tok_shop' } }],
    model_retired: ['fal/wan-2.7 at fal', { to: '/models/$', params: { _splat: 'fal/wan-2.7' } }],
    orphan_cost: ['kling', { to: '/money-at-risk', search: { show: 'orphan' } }],
    disk_low: ['machine-1', undefined],
  } as const
  for (const [kind, [subject, place]] of Object.entries(places))
    assert.deepEqual(placeOf({ kind: kind as OperatorAlarm['kind'], subject }), place, kind)
})
