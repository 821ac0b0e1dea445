import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { buffer, text } from 'node:stream/consumers'
import { describe, it } from 'node:test'
import type { Bucket } from './bucket.ts'

/** The tests that every bucket passes. `open` opens a bucket with the same objects again, `wipe` removes them all. */
export function testBucket(name: string, world: { open(): Promise<Bucket>; wipe(): Promise<void> }): void {
  const fresh = async () => {
    await world.wipe()
    return world.open()
  }
  const signal = new AbortController().signal
  const read = async (bucket: Bucket, key: string) => {
    const object = await bucket.open(key)
    return object && text(object.stream)
  }

  describe(`the ${name} bucket`, () => {
    it('returns the bytes and their facts, also after it was opened again', async () => {
      const bytes = Buffer.alloc(3_000_000, 'filmgate')
      const asset = await (await fresh()).put('video_1/video.mp4', chunks(bytes), signal)
      assert.deepEqual(asset, {
        key: 'video_1/video.mp4',
        bytes: bytes.length,
        sha256: createHash('sha256').update(bytes).digest('hex'),
      })
      const object = await (await world.open()).open(asset.key)
      assert.equal(object?.bytes, bytes.length)
      assert.ok(object && bytes.equals(await buffer(object.stream)))
    })

    it('returns parts, both ends included', async () => {
      const bucket = await fresh()
      await bucket.put('a/b', chunks(Buffer.from('0123456789')), signal)
      const part = async (start: number, end: number) => {
        const object = await bucket.open('a/b', { start, end })
        return object && [object.bytes, await text(object.stream)]
      }
      assert.deepEqual(await part(0, 0), [10, '0'])
      assert.deepEqual(await part(3, 5), [10, '345'])
      assert.deepEqual(await part(9, 9), [10, '9'])
    })

    it('keeps an empty object', async () => {
      const bucket = await fresh()
      assert.equal((await bucket.put('a/b', chunks(Buffer.alloc(0)), signal)).bytes, 0)
      assert.equal(await read(bucket, 'a/b'), '')
    })

    it('has nothing under a key whose bytes did not all arrive', async () => {
      const bucket = await fresh()
      const broken = async function* () {
        yield Buffer.from('half')
        throw new Error('the source broke')
      }
      await assert.rejects(bucket.put('a/b', broken(), signal), /the source broke/)
      assert.equal(await bucket.open('a/b'), undefined)
      assert.equal(await (await world.open()).open('a/b'), undefined)
    })

    it('stops when it is aborted, and stores nothing', async () => {
      const bucket = await fresh()
      const abort = new AbortController()
      const endless = async function* () {
        for (;;) {
          yield Buffer.from('more')
          abort.abort(new Error('enough'))
        }
      }
      await assert.rejects(bucket.put('a/b', endless(), abort.signal), /enough/)
      assert.equal(await bucket.open('a/b'), undefined)
    })

    it('lets a reader finish although the object is removed meanwhile', async () => {
      const bucket = await fresh()
      await bucket.put('a/b', chunks(Buffer.from('still here')), signal)
      const object = await bucket.open('a/b')
      await bucket.removeFolder('a')
      assert.ok(object)
      assert.equal(await text(object.stream), 'still here')
      assert.equal(await bucket.open('a/b'), undefined)
    })

    it('closes an object that was not read', async () => {
      const bucket = await fresh()
      await bucket.put('a/b', chunks(Buffer.alloc(3_000_000)), signal)
      const object = await bucket.open('a/b')
      await object?.[Symbol.asyncDispose]()
      assert.ok(object?.stream.destroyed)
    })

    it('removes one whole folder and no other, and again without an error', async () => {
      const bucket = await fresh()
      for (const key of ['a/1', 'a/2', 'b/1']) await bucket.put(key, chunks(Buffer.from(key)), signal)
      await bucket.removeFolder('a')
      await bucket.removeFolder('a')
      assert.deepEqual(
        [await read(bucket, 'a/1'), await read(bucket, 'a/2'), await read(bucket, 'b/1')],
        [undefined, undefined, 'b/1'],
      )
    })

    it('refuses a key that could lead elsewhere', async () => {
      const bucket = await fresh()
      for (const key of ['../x', 'a/../b', '/a', 'a', 'a/b/c', 'a/.b', '..', '', 'a/b\0', 'A/b']) {
        await assert.rejects(bucket.put(key, chunks(Buffer.from('x')), signal), /not a key/)
        await assert.rejects(bucket.open(key), /not a key/)
      }
    })
  })
}

async function* chunks(bytes: Uint8Array) {
  for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536)
}
