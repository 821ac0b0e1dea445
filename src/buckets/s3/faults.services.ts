import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { buffer, text } from 'node:stream/consumers'
import { after, before, describe, it } from 'node:test'
import { ListMultipartUploadsCommand, S3Client } from '@aws-sdk/client-s3'
import { type Fate, startFaultyProxy } from '../../../test/services/faulty-proxy.ts'
import { startS3, type TestS3 } from '../../../test/services/s3.ts'
import { Problem } from '../../core/problem.ts'
import type { Bucket } from '../bucket.ts'
import { openS3, type S3Options } from '../s3.ts'

let server: TestS3
let sound: Bucket

before(async () => {
  server = await startS3()
  sound = await open({})
})
after(() => server[Symbol.asyncDispose]())

const never = new AbortController().signal
const small = Buffer.from('0123456789')
const large = randomBytes(20 * 2 ** 20)

function open(options: Partial<S3Options>): Promise<Bucket> {
  const { endpoint, bucket, credentials } = server
  return openS3({ endpoint, bucket, credentials, prefix: 'faults', forcePathStyle: true, ...options })
}

async function unavailable(doing: Promise<unknown> | undefined, because: RegExp): Promise<void> {
  await assert.rejects(doing ?? Promise.resolve(), (thrown) => {
    const problem = Problem.from(thrown)
    assert.deepEqual([problem.code, problem.retryable], ['storage_unavailable', true])
    assert.match(String(problem.cause), because)
    return true
  })
}

/** Every operation fails. */
async function refusesAll(bucket: Bucket, because: RegExp): Promise<void> {
  await unavailable(bucket.put('a/small', [small], never), because)
  await unavailable(bucket.put('a/large', [large], never), because)
  await unavailable(bucket.open('a/there'), because)
  await unavailable(bucket.removeFolder('a'), because)
  await unavailable(bucket.checkWritable(), because)
}

async function nothingWasDone(): Promise<void> {
  for (const key of ['a/small', 'a/large']) assert.equal(await sound.open(key), undefined)
  const client = new S3Client({ ...server, region: 'us-east-1', forcePathStyle: true })
  const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: server.bucket }))
  assert.deepEqual(Uploads, [])
}

/** A bucket behind a proxy that does this to the requests it is asked about. */
async function behind(fateOf: (request: string) => Fate, act: (bucket: Bucket, seen: string[]) => Promise<void>) {
  const proxy = await startFaultyProxy(server.endpoint, fateOf)
  try {
    await act(await open({ endpoint: proxy.endpoint, requestMs: 400 }), proxy.seen)
  } finally {
    await proxy.stop()
  }
}

const isComplete = (request: string) => /^POST .*uploadId=/.test(request)
const isPublish = (request: string) =>
  request.startsWith('PUT') && !request.includes('uploadId') ? true : isComplete(request)

describe('an S3 server at fault is a storage that is not available, and nothing can be read of what was not stored', () => {
  it('the secret is wrong', async () => {
    const credentials = { ...server.credentials, secretAccessKey: 'not the secret' }
    await refusesAll(await open({ credentials }), /SignatureDoesNotMatch/)
    await nothingWasDone()
  })

  it('the access key or the bucket does not exist', async () => {
    const credentials = { ...server.credentials, accessKeyId: 'nobody' }
    await refusesAll(await open({ credentials }), /access key/i)
    await refusesAll(await open({ bucket: 'no-such-bucket' }), /NoSuchBucket/)
    await nothingWasDone()
  })

  it('the server is down', async () => {
    await refusesAll(await open({ endpoint: 'http://127.0.0.1:9' }), /ECONNREFUSED/)
  })

  for (const [status, code] of [
    [403, 'ExpiredToken'],
    [500, 'InternalError'],
    [503, 'SlowDown'],
    [507, 'InsufficientStorage'],
  ] as const) {
    it(`it answers ${status} ${code}, always or only at the end`, async () => {
      await behind(
        () => ({ status, code }),
        async (bucket, seen) => {
          await unavailable(bucket.put('a/small', [small], never), new RegExp(code))
          assert.ok(seen.length <= 3, `${seen.length} requests for one`)
          await refusesAll(bucket, new RegExp(code))
        },
      )
      await behind(
        (request) => (isPublish(request) ? { status, code } : { pass: true }),
        async (bucket) => {
          await unavailable(bucket.put('a/small', [small], never), new RegExp(code))
          await unavailable(bucket.put('a/large', [large], never), new RegExp(code))
        },
      )
      await nothingWasDone()
    })
  }

  it('it does not answer', async () => {
    const start = Date.now()
    await behind(
      () => ({ silent: true }),
      (bucket) => refusesAll(bucket, /requestTimeout/),
    )
    assert.ok(Date.now() - start < 30_000)
    await nothingWasDone()
  })

  it('is left at once when the put is aborted, or when its time is over', async () => {
    await behind(
      () => ({ silent: true }),
      async (bucket) => {
        const start = Date.now()
        for (const body of [small, large]) {
          const abort = new AbortController()
          const put = bucket.put('a/small', [body], abort.signal)
          setTimeout(() => abort.abort(new Error('enough')), 50)
          await assert.rejects(put, /enough/)
          await unavailable(bucket.put('a/small', [body], AbortSignal.timeout(50)), /AbortError/)
        }
        assert.ok(Date.now() - start < 2_000)
      },
    )
  })

  it('it reports a conflict for a key that does not exist', async () => {
    await behind(
      (request) => (isPublish(request) ? { status: 409, code: 'ConditionalRequestConflict' } : { pass: true }),
      async (bucket) => {
        await unavailable(bucket.put('a/small', [small], never), /ConditionalRequestConflict/)
        await unavailable(bucket.put('a/large', [large], never), /ConditionalRequestConflict/)
      },
    )
    await nothingWasDone()
  })

  it('bytes change on the way: it refuses them', async () => {
    const flip = (bytes: Buffer) => {
      bytes.writeUInt8(bytes.readUInt8(5) ^ 1, 5)
      return bytes
    }
    await behind(
      (request) => (request.startsWith('PUT') ? { body: flip } : { pass: true }),
      async (bucket) => {
        await unavailable(bucket.put('a/small', [small], never), /Mismatch|BadDigest|InvalidDigest/)
        await unavailable(bucket.put('a/large', [large], never), /Mismatch|BadDigest|InvalidDigest/)
      },
    )
    await nothingWasDone()
  })
})

describe('an S3 server that recovers', () => {
  it('is asked again, and stores once', async () => {
    let faults = 0
    await behind(
      () => (faults++ % 2 === 0 ? { status: 503, code: 'SlowDown' } : { pass: true }),
      async (bucket) => {
        for (const [name, bytes] of Object.entries({ small, large })) {
          await bucket.put(`again/${name}`, [bytes], never)
          const object = await bucket.open(`again/${name}`)
          assert.ok(object && bytes.equals(await buffer(object.stream)))
        }
      },
    )
  })

  it('stored the object, and the response was lost: it counts as stored', async () => {
    const lost = new Set<string>()
    await behind(
      (request) => {
        if (!isPublish(request) || lost.has(request)) return { pass: true }
        lost.add(request)
        return { loseAnswer: true }
      },
      async (bucket) => {
        for (const [name, bytes] of Object.entries({ small, large })) {
          const asset = await bucket.put(`lost/${name}`, [bytes], never)
          assert.equal(asset.bytes, bytes.length)
          const object = await sound.open(`lost/${name}`)
          assert.ok(object && bytes.equals(await buffer(object.stream)))
        }
        assert.equal(lost.size, 2)
      },
    )
  })

  it('closes the connection while an object is read: the reader gets an error', async () => {
    await sound.put('cut/off', [large], never)
    await behind(
      (request) => (request.startsWith('GET /films/faults/cut') ? { cutAfter: 1_000_000 } : { pass: true }),
      async (bucket) => {
        const object = await bucket.open('cut/off')
        await unavailable(object && text(object.stream), /aborted|ECONNRESET/)
      },
    )
  })

  it('returns the whole object instead of a part: the reader never gets the wrong bytes', async () => {
    await sound.put('whole/one', [small], never)
    await behind(
      () => ({ status: 200, code: 'nothing' }),
      async (bucket) => unavailable(bucket.open('whole/one', { start: 2, end: 3 }), /no Content-Range/),
    )
  })
})
