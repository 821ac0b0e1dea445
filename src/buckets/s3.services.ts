import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { after, before, describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import {
  CreateMultipartUploadCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { startS3, type TestS3 } from '../../test/services/s3.ts'
import type { Bucket } from './bucket.ts'
import { testBucket } from './contract.ts'
import { openS3 } from './s3.ts'

let server: TestS3
let client: S3Client
let prefixes = 0

before(async () => {
  server = await startS3()
  client = new S3Client({ ...place(), region: 'us-east-1' })
})
after(() => server[Symbol.asyncDispose]())

const place = () => ({ endpoint: server.endpoint, credentials: server.credentials, forcePathStyle: true })
const open = (prefix: string) => openS3({ ...place(), bucket: server.bucket, prefix })
const fresh = () => open(`test-${++prefixes}`)
const never = new AbortController().signal
const mebibyte = 2 ** 20

testBucket('S3', {
  open: () => open(`contract-${prefixes}`),
  wipe: async () => {
    prefixes++
  },
})

async function read(bucket: Bucket, key: string): Promise<Buffer | undefined> {
  const object = await bucket.open(key)
  return object && buffer(object.stream)
}

async function uploads(): Promise<(string | undefined)[]> {
  const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: server.bucket }))
  return Uploads.map(({ Key }) => Key)
}

function* pieces(bytes: Buffer) {
  for (let at = 0; at < bytes.length; at += 100_000) yield bytes.subarray(at, at + 100_000)
}

describe('the S3 bucket, in what only S3 does', () => {
  for (const [size, bytes] of [
    ['small', 1000],
    ['large', 20 * mebibyte],
  ] as const) {
    it(`never replaces a ${size} object: the same bytes count as stored, others are refused`, async () => {
      const bucket = await fresh()
      const [one, other] = [randomBytes(bytes), randomBytes(bytes)]
      const asset = await bucket.put('a/b', pieces(one), never)
      assert.deepEqual(await bucket.put('a/b', pieces(one), never), asset)
      await assert.rejects(bucket.put('a/b', pieces(other), never), /a\/b has other bytes already/)
      await assert.rejects(bucket.put('a/b', pieces(one.subarray(1)), never), /a\/b has other bytes already/)
      assert.ok((await read(bucket, 'a/b'))?.equals(one))
      assert.deepEqual(await uploads(), [])
    })

    it(`has one winner where ${size} objects race for a key`, async () => {
      const bucket = await fresh()
      const racers = Array.from({ length: 5 }, () => randomBytes(bytes))
      const ends = await Promise.allSettled(racers.map((racer) => bucket.put('a/b', pieces(racer), never)))
      const winners = racers.filter((_, index) => ends[index]?.status === 'fulfilled')
      assert.equal(winners.length, 1)
      assert.ok(winners[0]?.equals((await read(bucket, 'a/b')) ?? Buffer.alloc(0)))
      assert.deepEqual(await uploads(), [])
    })

    it(`accepts all puts that race for a key with the same ${size} object`, async () => {
      const bucket = await fresh()
      const bytesOfAll = randomBytes(bytes)
      const assets = await Promise.all([1, 2, 3].map(() => bucket.put('a/b', pieces(bytesOfAll), never)))
      assert.equal(new Set(assets.map(({ sha256 }) => sha256)).size, 1)
      assert.ok((await read(bucket, 'a/b'))?.equals(bytesOfAll))
    })
  }

  it('accepts a body of unknown length with bounded memory, and returns ranges across its parts', async () => {
    const bucket = await fresh()
    const block = randomBytes(mebibyte)
    let most = 0
    const before = process.memoryUsage().arrayBuffers
    const body = async function* () {
      for (let count = 0; count < 160; count++) {
        block.writeUInt32BE(count)
        yield block
        most = Math.max(most, process.memoryUsage().arrayBuffers - before)
      }
    }
    const { bytes } = await bucket.put('a/b', body(), never)
    assert.equal(bytes, 160 * mebibyte)
    assert.ok(most < 32 * mebibyte, `${most} bytes of buffers`)
    const border = 8 * mebibyte
    const object = await bucket.open('a/b', { start: border - 2, end: border + 3 })
    assert.equal(object?.bytes, bytes)
    const part = object && (await buffer(object.stream))
    assert.deepEqual(part, Buffer.concat([block.subarray(-2), Buffer.from([0, 0, 0, 8])]))
    await bucket.removeFolder('a')
  })

  it('accepts exactly one part, exactly two, and chunks larger than a part', async () => {
    const bucket = await fresh()
    for (const [name, size] of Object.entries({ one: 8, two: 16, three: 17 })) {
      const bytes = randomBytes(size * mebibyte)
      await bucket.put(`a/${name}`, [bytes], never)
      assert.ok((await read(bucket, `a/${name}`))?.equals(bytes), name)
    }
  })

  it('leaves no parts after the source failed or it was aborted', async () => {
    const bucket = await fresh()
    const abort = new AbortController()
    const body = async function* (end: () => void) {
      for (let count = 0; count < 30; count++) {
        if (count === 25) end()
        yield randomBytes(mebibyte)
      }
    }
    const broken = body(() => {
      throw new Error('the source broke')
    })
    await assert.rejects(bucket.put('a/b', broken, never), /the source broke/)
    assert.deepEqual(await uploads(), [])
    const stopped = body(() => abort.abort(new Error('enough')))
    await assert.rejects(bucket.put('a/b', stopped, abort.signal), /enough/)
    assert.equal(await bucket.open('a/b'), undefined)
    await bucket.removeFolder('a')
    assert.deepEqual(await uploads(), [])
  })

  it('closes a source that it does not read to the end', async () => {
    const bucket = await fresh()
    let closed = false
    const body = async function* () {
      try {
        for (;;) yield randomBytes(mebibyte)
      } finally {
        closed = true
      }
    }
    await assert.rejects(bucket.put('a/b', body(), AbortSignal.timeout(500)))
    assert.ok(closed)
    // A part that was under way may arrive after the upload was dropped, and keep it there: the task's end takes it.
    await bucket.removeFolder('a')
    assert.deepEqual(await uploads(), [])
  })

  it('removes the unfinished uploads of a dead process with their folder, and of no other folder', async () => {
    const bucket = await open('left')
    for (const Key of ['left/a/b', 'left/a/c', 'left/ab/c']) {
      const at = { Bucket: server.bucket, Key }
      const { UploadId } = await client.send(new CreateMultipartUploadCommand(at))
      await client.send(new UploadPartCommand({ ...at, UploadId, PartNumber: 1, Body: Buffer.from('half') }))
    }
    await bucket.removeFolder('a')
    // A late part of the test before may have kept its upload.
    const left = (await uploads()).filter((key) => key?.startsWith('left/'))
    assert.deepEqual(left, ['left/ab/c'])
    await bucket.removeFolder('ab')
  })

  it('removes more objects than fit on a page, and not those of a folder whose name is longer', async () => {
    const bucket = await open('many')
    const keys = Array.from({ length: 1001 }, (_, index) => `a/${index}`)
    const put = async () => {
      for (let key = keys.pop(); key; key = keys.pop()) await bucket.put(key, [Buffer.from(key)], never)
    }
    await Promise.all([...Array.from({ length: 16 }, put), bucket.put('ab/1', [Buffer.from('stays')], never)])
    await bucket.removeFolder('a')
    const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: server.bucket, Prefix: 'many/' }))
    assert.deepEqual(
      Contents.map(({ Key }) => Key),
      ['many/ab/1'],
    )
  })

  it('lets a slow reader finish a large object although it is removed meanwhile', async () => {
    const bucket = await fresh()
    const bytes = randomBytes(24 * mebibyte)
    await bucket.put('a/b', pieces(bytes), never)
    const object = await bucket.open('a/b')
    await bucket.removeFolder('a')
    await setTimeout(200)
    assert.ok(object && bytes.equals(await buffer(object.stream)))
    assert.equal(await bucket.open('a/b'), undefined)
  })

  it('creates links that return the object, also in parts, until they expire or are changed', async () => {
    const bucket = await fresh()
    await bucket.put('a/b', [Buffer.from('0123456789')], never)
    await bucket.put('a/c', [Buffer.from('another')], never)
    const link = async (expiresInSeconds: number) =>
      (await bucket.link?.('a/b', { expiresInSeconds, type: 'video/mp4', filename: 'film.mp4' })) ?? ''
    const [long, short] = [await link(60), await link(1)]
    const whole = await fetch(long)
    assert.deepEqual(
      [whole.status, whole.headers.get('content-type'), whole.headers.get('content-disposition'), await whole.text()],
      [200, 'video/mp4', 'attachment; filename="film.mp4"', '0123456789'],
    )
    const part = await fetch(long, { headers: { range: 'bytes=3-5' } })
    assert.deepEqual([part.status, await part.text()], [206, '345'])
    for (const other of [
      long.replace('/a/b?', '/a/c?'),
      long.replace('video%2Fmp4', 'text%2Fhtml'),
      long.split('?')[0],
    ]) {
      assert.notEqual(other, long)
      assert.equal((await fetch(other ?? '')).status, 403)
    }
    await setTimeout(2_100)
    assert.equal((await fetch(short)).status, 403)
    assert.equal(await (await fetch(long)).text(), '0123456789')
  })
})
