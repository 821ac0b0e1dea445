import assert from 'node:assert/strict'
import { it } from 'node:test'
import { mapReadable, toHealth, toQueuedTask, toView, viewColumns } from './row.ts'

/* A damaged row must not affect the others. */

it('`tried` of an unreadable row is empty', () => {
  for (const tried of ['5', '{"a":1}', '"x"', '{bad', null])
    assert.deepEqual(toQueuedTask({ id: 'video_1', due_at: 7, tried }), { id: 'video_1', dueAt: 7, tried: [] })
  assert.deepEqual(toQueuedTask({ id: 'video_1', due_at: 7, tried: '["a"]' }).tried, ['a'])
})

it('a task whose error can not be read is shown with one', () => {
  const row = viewColumns.map((name) => (name === 'error' ? '{bad' : name === 'id' ? 'video_1' : null))
  const { id, error } = toView(row)
  assert.deepEqual([id, error?.code], ['video_1', 'internal'])
})

it('a task whose facts, warnings or metadata can not be read is shown without them', () => {
  const damaged = new Set(['video_facts', 'warnings', 'metadata'])
  const row = viewColumns.map((name) => (damaged.has(name) ? '{bad' : name === 'id' ? 'video_1' : null))
  const { id, videoFacts, warnings, metadata } = toView(row)
  assert.deepEqual([id, videoFacts, warnings, metadata], ['video_1', null, [], null])
})

it('a row that can not be read is skipped', () => {
  const rows = ['{bad', '{}'].map((health, at) => ({ account: `${at}`, key_version: '', health, changed_at: 0 }))
  assert.deepEqual(
    mapReadable(rows, toHealth).map(({ account }) => account),
    ['1'],
  )
})
