import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { OperatorTaskSummary } from '../../src/wire/operator.ts'
import type { Video } from '../../src/wire/videos.ts'
import type { LiveEvent } from './live.ts'
import { fromTask, fromVideo, listPath, pageAfter, readVideoFilters } from './videos.ts'

it('reads only what the list can be filtered by from an address', () => {
  const search = { status: 'lost', model: 'studio', text: 7, from: '2026-02-31x', until: '2026-11-15', colour: 'red' }
  assert.deepEqual(readVideoFilters(search), { model: 'studio', text: '7', until: '2026-11-15' })
  for (const from of ['banana', '2026-13-45', '99999-01-01', '0001-01-01', 2026])
    assert.deepEqual(readVideoFilters({ from }), {})
  const after = `video_${'0'.repeat(48)}`
  assert.deepEqual(readVideoFilters({ after }), { after })
  for (const wrong of ['tok_0123456789ab', 'video_1', 7, ['x']])
    assert.deepEqual(readVideoFilters({ after: wrong }), {})
  for (const text of ['a\0b', 'a'.repeat(201)]) assert.deepEqual(readVideoFilters({ text }), {})
})

it('days begin and end at the midnight of the reader, and the last one counts', () => {
  const { searchParams } = new URL(listPath({ from: '2026-11-15', until: '2026-11-15' }, true), 'http://console')
  const [since, before] = ['created_since', 'created_before'].map((name) => Number(searchParams.get(name)) * 1_000)
  assert.deepEqual([since, before], [new Date(2026, 10, 15).getTime(), new Date(2026, 10, 16).getTime()])
  assert.equal(
    listPath({ from: '2026-11-15', error_code: 'timeout', status: 'failed' }, false),
    '/v1/videos?status=failed&limit=25',
  )
})

describe('a page of the list after an event', () => {
  const video = (id: string, status: Video['status'], progress = 0): Video => ({
    ...{ id, object: 'video', model: 'studio', status, progress, prompt: 'a fox' },
    ...{ created_at: 1_700_000_000, seconds: '4', size: '640x360' },
  })
  const page = { rows: [fromVideo(video('shown', 'queued'))], hasMore: false, lastId: 'shown' }
  const event = (name: LiveEvent['name'], id: string, status: Video['status']): LiveEvent => ({
    name,
    video: video(id, status, 50),
  })
  const deleted = (id: string): LiveEvent => ({
    name: 'deleted',
    video: { id, object: 'video.deleted', deleted: true },
  })

  it('has the new row of a video on it', () => {
    const next = pageAfter(event('progress', 'shown', 'in_progress'), page, {})
    assert.deepEqual(next, { ...page, rows: [fromVideo(video('shown', 'in_progress', 50))] })
  })

  it('is read again if a row no longer meets the filter, or was deleted', () => {
    assert.equal(pageAfter(event('completed', 'shown', 'completed'), page, { status: 'queued' }), 'reread')
    assert.equal(pageAfter(deleted('shown'), page, {}), 'reread')
  })

  it('is read again if another video may join it', () => {
    assert.equal(pageAfter(event('queued', 'new', 'queued'), page, {}), 'reread')
    assert.equal(pageAfter(event('failed', 'old', 'failed'), page, { status: 'failed', after: 'x' }), 'reread')
  })

  it('stays the same after events of videos that are not on it', () => {
    assert.equal(pageAfter(event('progress', 'other', 'in_progress'), page, {}), page)
    assert.equal(pageAfter(event('completed', 'other', 'completed'), page, { status: 'queued' }), page)
    assert.equal(pageAfter(event('queued', 'new', 'queued'), page, { after: 'x' }), page)
    assert.equal(pageAfter(deleted('other'), page, {}), page)
  })
})

it('operators see the length and the size of what was generated, as clients do', () => {
  const task = { seconds: '5', size: '1280x720', created_at: '', completed_at: null, expires_at: null }
  const output = { duration: 0.96, width: 64, height: 36 }
  const shown = (fields: object) => fromTask({ ...task, ...fields } as OperatorTaskSummary)
  assert.deepEqual([shown({ output: null }).seconds, shown({ output: null }).size], ['5', '1280x720'])
  assert.deepEqual([shown({ output }).seconds, shown({ output }).size], ['1', '64x36'])
})
