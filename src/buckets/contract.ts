import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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

    it('names a version of an object that stays the same, and is another after it was replaced', async () => {
      const bucket = await fresh()
      const version = async (range?: { start: number; end: number }) => {
        await using object = await bucket.open('a/b', range)
        return object?.version
      }
      await bucket.put('a/b', chunks(Buffer.from('one')), signal)
      const first = await version()
      assert.deepEqual([await version(), await version({ start: 1, end: 1 })], [first, first])
      await bucket.removeFolder('a')
      await bucket.put('a/b', chunks(Buffer.from('another')), signal)
      assert.notEqual(await version(), first)
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

    it('reads whole objects and parts into the buffers of its reader', async () => {
      const bucket = await fresh()
      const bytes = randomBytes(1_000_000)
      await bucket.put('a/b', chunks(bytes), signal)
      for (const range of [undefined, { start: 0, end: 0 }, { start: 99_999, end: 700_000 }]) {
        await using object = await bucket.open('a/b', range)
        assert.ok(object)
        const wanted = bytes.subarray(range?.start ?? 0, range ? range.end + 1 : bytes.length)
        const into = Buffer.alloc(30_000)
        for (let at = 0; at < wanted.length; ) {
          const filled = await object.read(into)
          assert.ok(filled > 0 && into.subarray(0, filled).equals(wanted.subarray(at, at + filled)), `at ${at}`)
          at += filled
        }
        assert.deepEqual([await object.read(into), await object.read(into)], [0, 0])
      }
    })

    it('refuses to read from an object that was closed', async () => {
      const bucket = await fresh()
      await bucket.put('a/b', chunks(Buffer.alloc(1_000_000)), signal)
      const object = await bucket.open('a/b')
      assert.ok(object)
      assert.ok((await object.read(Buffer.alloc(10))) > 0)
      await object[Symbol.asyncDispose]()
      await assert.rejects(object.read(Buffer.alloc(500_000)))
      await object[Symbol.asyncDispose]()
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

    it('adopts a file if it has a folder, and has nothing under the key of a missing file', async () => {
      const bucket = await fresh()
      assert.equal(bucket.adopt === undefined, bucket.path === undefined)
      if (!bucket.adopt) return
      const folder = mkdtempSync(join(tmpdir(), 'filmgate-adopt-'))
      const file = join(folder, 'video.mp4')
      const asset = { key: 'a/b', bytes: 6, sha256: createHash('sha256').update('a film').digest('hex') }
      writeFileSync(file, 'a film')
      assert.equal(await bucket.adopt(file, asset), true)
      assert.deepEqual([await read(await world.open(), 'a/b'), existsSync(file)], ['a film', false])
      await assert.rejects(bucket.adopt(file, { ...asset, key: 'a/c' }), { code: 'ENOENT' })
      assert.equal(await bucket.open('a/c'), undefined)
      rmSync(folder, { recursive: true })
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
      const stream = object?.stream
      await object?.[Symbol.asyncDispose]()
      assert.ok(stream?.destroyed)
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

    it('can be checked by a write again and again, and keeps its objects', async () => {
      const bucket = await fresh()
      await bucket.checkWritable()
      await bucket.put('a/b', chunks(Buffer.from('film')), signal)
      await Promise.all([bucket.checkWritable(), (await world.open()).checkWritable()])
      await bucket.checkWritable()
      assert.equal(await read(bucket, 'a/b'), 'film')
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
