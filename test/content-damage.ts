import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { it } from 'node:test'
import type { Bucket } from '../src/buckets/bucket.ts'
import { authorization, type ContentServer, serveContent } from './content-server.ts'

/*
 * Stored videos that were damaged: no client gets a complete wrong file, and the log names the video. The same for every
 * bucket.
 */

export interface Place {
  bucket: Bucket
  /** Replaces the bytes without the bucket, or removes the object. */
  replace(key: string, bytes: Buffer | null): Promise<void>
}

/** Several chunks, whatever the chunk size of the bucket is. */
const long = 3_000_000

const digestOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

function flipped(bytes: Buffer): Buffer {
  const other = Buffer.from(bytes)
  const middle = other.length >> 1
  other.writeUInt8(other.readUInt8(middle) ^ 1, middle)
  return other
}

const get = ({ url, path }: ContentServer, headers: Record<string, string> = {}, method = 'GET') =>
  fetch(`${url}${path}`, { method, headers: { authorization, ...headers }, signal: AbortSignal.timeout(30_000) })

const keyOf = ({ task }: ContentServer) => task.video?.key ?? ''

async function isRefused(server: ContentServer, because: RegExp, headers: Record<string, string> = {}): Promise<void> {
  server.errors.length = 0
  const answer = await get(server, headers)
  const { error } = (await answer.json()) as { error: { type: string; code: string; message: string } }
  assert.deepEqual([answer.status, error.type, error.code], [500, 'server_error', 'internal'])
  assert.match(error.message, /stored video is damaged or missing/)
  assert.deepEqual([answer.headers.get('etag'), answer.headers.get('content-disposition')], [null, null])
  const line = server.errors.find((text) => text.includes(server.task.id))
  assert.match(line ?? '', because)
}

/** How many bytes arrived before the response was cut off. */
async function bytesUntilCut(answer: Response): Promise<number> {
  let bytes = 0
  await assert.rejects(async () => {
    for await (const chunk of answer.body ?? []) bytes += chunk.length
  }, /terminated|aborted/)
  return bytes
}

export function testDamage(open: () => Promise<Place>): void {
  it('a video that is deleted while it is opened is not found, which is no damage', async () => {
    const place = await open()
    const { bucket } = place
    let deleted = () => {}
    const server = await serveContent(
      {
        ...bucket,
        async open(key, range) {
          deleted()
          await place.replace(key, null)
          return bucket.open(key, range)
        },
      },
      'proxy',
    )
    deleted = () => Object.assign(server.task, { deletedAt: 1 })
    try {
      assert.equal((await get(server)).status, 404)
      assert.deepEqual(server.errors, [])
    } finally {
      await server.stop()
    }
  })

  const serving = (length: number, act: (server: ContentServer, place: Place) => Promise<void>) => async () => {
    const place = await open()
    const server = await serveContent(place.bucket, 'proxy', { length })
    try {
      await act(server, place)
    } finally {
      await server.stop()
    }
  }

  it(
    'a flipped byte in the middle: the answer is cut before its end, the log has both digests, and it is sent no more',
    serving(long, async (server, { replace }) => {
      const wrong = flipped(server.video)
      await replace(keyOf(server), wrong)
      const answer = await get(server)
      assert.equal(answer.status, 200)
      const bytes = await bytesUntilCut(answer)
      assert.ok(bytes < long, `${bytes} bytes came`)
      const [line = ''] = server.errors
      assert.equal(server.errors.length, 1, server.errors.join(''))
      for (const part of [server.task.id, digestOf(server.video), digestOf(wrong)]) assert.ok(line.includes(part), line)
      await isRefused(server, /other bytes than were stored/)
      await isRefused(server, /other bytes than were stored/, { range: 'bytes=0-9' })
      assert.equal((await get(server, {}, 'HEAD')).status, 500)
      // A client with the right bytes may keep them.
      assert.equal((await get(server, { 'if-none-match': server.etag })).status, 304)
    }),
  )

  it(
    'a damaged video that is restored is sent again, and one that is damaged after it was sent is not',
    serving(1_000, async (server, { replace }) => {
      const wrong = flipped(server.video)
      await replace(keyOf(server), wrong)
      await isRefused(server, new RegExp(digestOf(wrong)))
      await replace(keyOf(server), server.video)
      assert.equal((await get(server, {}, 'HEAD')).status, 200)
      assert.equal((await get(server, { range: 'bytes=0-9' })).status, 206)
      assert.ok(server.video.equals(Buffer.from(await (await get(server)).arrayBuffer())))
      await replace(keyOf(server), wrong)
      await isRefused(server, new RegExp(digestOf(wrong)))
      await isRefused(server, /other bytes than were stored/, { range: 'bytes=0-9' })
    }),
  )

  it(
    'a flipped byte of a small video: nothing of it is sent',
    serving(1_000, async (server, { replace }) => {
      const wrong = flipped(server.video)
      await replace(keyOf(server), wrong)
      await isRefused(server, new RegExp(digestOf(wrong)))
      await isRefused(server, /other bytes than were stored/)
    }),
  )

  it(
    'a part of a damaged video that was not read as a whole yet is sent as it is, and so is its HEAD',
    serving(long, async (server, { replace }) => {
      await replace(keyOf(server), flipped(server.video))
      const part = await get(server, { range: 'bytes=0-99' })
      assert.equal(part.status, 206)
      assert.ok(server.video.subarray(0, 100).equals(Buffer.from(await part.arrayBuffer())))
      assert.equal((await get(server, {}, 'HEAD')).status, 200)
      assert.deepEqual(server.errors, [])
    }),
  )

  it(
    'a truncated video is an error, whole or in parts',
    serving(long, async (server, { replace }) => {
      await replace(keyOf(server), server.video.subarray(0, long - 1))
      await isRefused(server, /has 2999999 bytes, 3000000 were stored/)
      await isRefused(server, /has 2999999 bytes, 3000000 were stored/, { range: 'bytes=0-9' })
    }),
  )

  it(
    'a deleted video is an error, whole or in parts',
    serving(long, async (server, { replace }) => {
      await replace(keyOf(server), null)
      await isRefused(server, /is missing from the bucket/)
      await isRefused(server, /is missing from the bucket/, { range: 'bytes=0-9' })
    }),
  )

  it(
    'an undamaged video is sent whole, again and again, to many clients at once, and after one that disconnected',
    serving(long, async (server) => {
      const left = await get(server)
      await left.body?.cancel()
      const all = await Promise.all(Array.from({ length: 5 }, async () => (await get(server)).arrayBuffer()))
      for (const bytes of [...all, await (await get(server)).arrayBuffer()])
        assert.ok(server.video.equals(Buffer.from(bytes)))
      assert.deepEqual(server.errors, [])
    }),
  )
}
