import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { it } from 'node:test'
import type { Bucket } from '../../buckets/bucket.ts'
import { manualClock } from '../../core/clock.fixture.ts'
import { openSoundness } from './soundness.ts'

it('a video that was read with wrong bytes is refused for a minute, and then read and compared again', async () => {
  const bytes = Buffer.from('a film')
  const asset = { key: 'a/b', bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') }
  const object = { version: '1', async [Symbol.asyncDispose]() {} }
  const clock = manualClock()
  await using soundness = openSoundness({ open: async () => object } as unknown as Bucket, clock)
  const read = async (found: string) => {
    using check = soundness.begin(asset, object, 'alice')
    await check?.add(Buffer.from(found))
    return check !== undefined
  }
  await assert.rejects(read('a fiml'), { code: 'internal' })
  await assert.rejects(soundness.refuse(asset, true), { code: 'internal' })
  clock.advance(60_001)
  // A part of it is not checked.
  await assert.rejects(soundness.refuse(asset, false), { code: 'internal' })
  await soundness.refuse(asset, true)
  await assert.rejects(read('a fiml'), { code: 'internal' })
  await assert.rejects(soundness.refuse(asset, true), { code: 'internal' })
  clock.advance(60_001)
  assert.equal(await read('a film'), true)
  await soundness.refuse(asset, false)
  assert.equal(await read('a film'), false)
})
