import { createHash } from 'node:crypto'
import { type Readable, Transform } from 'node:stream'
import { GetObjectCommand, type S3Client } from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { Problem } from '../../core/problem.ts'
import type { ByteRange } from '../../core/range.ts'
import { type Bucket, type OpenObject, splitKey } from '../bucket.ts'
import type { S3Options } from '../s3.ts'
import { asking, openClient, refusalOf } from './client.ts'
import { dropUploads, removeObjects } from './remove.ts'
import { cut, type Place, upload } from './upload.ts'

export function openObjects(options: S3Options): Bucket {
  const client = openClient(options)
  const prefix = options.prefix.replace(/(?<!\/)\/*$/, options.prefix === '' ? '' : '/')
  const placeOf = (key: string) => {
    const { folder, name } = splitKey(key)
    return { Bucket: options.bucket, Key: `${prefix}${folder}/${name}` }
  }

  return {
    async put(key, body, signal) {
      const place = placeOf(key)
      const { parts, measure } = cut(body, signal)
      const { publish, drop } = await upload(client, place, parts, signal)
      const facts = measure()
      try {
        await publish()
      } catch (error) {
        await drop()
        if (!mayBeThere(error) || !(await isSame(await openAt(client, place), facts, key))) throw error
      }
      return { key, ...facts }
    },
    open: async (key, range) => openAt(client, placeOf(key), range),
    async removeFolder(folder) {
      const { Bucket, Key } = placeOf(`${folder}/x`)
      const place = { Bucket, Prefix: Key.slice(0, -1) }
      // What a dead process left half-sent goes with the rest; what is being sent now can't appear afterwards.
      await dropUploads(client, place)
      await removeObjects(client, place)
    },
    async link(key, { expiresInSeconds, type, filename }) {
      const disposition = filename && { ResponseContentDisposition: `attachment; filename="${filename}"` }
      const get = new GetObjectCommand({ ...placeOf(key), ResponseContentType: type, ...disposition })
      return asking(getSignedUrl(client, get, { expiresIn: expiresInSeconds }))
    },
  }
}

/** Somebody waits for it, and it is asked for three times. */
const firstByteMs = 4_000

/** One request, whatever the part: from its answer on, the storage owes us these bytes. */
async function openAt(client: S3Client, place: Place, range?: ByteRange): Promise<OpenObject | undefined> {
  const part = range && { Range: `bytes=${range.start}-${range.end}` }
  const get = new GetObjectCommand({ ...place, ...part })
  const answer = await asking(client.send(get, { requestTimeout: firstByteMs })).catch((error) => {
    if (refusalOf(error).name === 'NoSuchKey') return undefined
    throw error
  })
  if (!answer) return undefined
  const body = answer.Body as Readable
  const bytes = range ? Number(answer.ContentRange?.split('/')[1]) : answer.ContentLength
  if (bytes === undefined || Number.isNaN(bytes)) {
    body.destroy()
    throw Problem.ofStorage(new Error(`no length, or no part, in the answer to a GET of ${place.Key}`))
  }
  const stream = naming(body)
  return {
    bytes,
    stream,
    async [Symbol.asyncDispose]() {
      stream.destroy()
    },
  }
}

/** The key is taken, is being taken, or the upload is over: perhaps by our own request, whose answer was lost. */
function mayBeThere(error: unknown): boolean {
  return [404, 409, 412].includes(refusalOf(error).status ?? 0)
}

/** Whether an object has these bytes already. One that has others is not replaced, whoever is right. */
async function isSame(
  object: OpenObject | undefined,
  { bytes, sha256 }: { bytes: number; sha256: string },
  key: string,
): Promise<boolean> {
  if (!object) return false
  const digest = createHash('sha256')
  if (object.bytes === bytes) for await (const chunk of object.stream) digest.update(chunk)
  await object[Symbol.asyncDispose]()
  if (object.bytes === bytes && digest.digest('hex') === sha256) return true
  throw new Error(`${key} has other bytes already`)
}

/**
 * The same bytes, whose faults on the way are faults of the storage. The last of them wait for the end: a checksum that is
 * wrong is known only then, and who has all bytes already would not notice.
 */
function naming(body: Readable): Readable {
  let held: Buffer | undefined
  const named = new Transform({
    readableHighWaterMark: 512 * 1024,
    transform(chunk: Buffer, _encoding, done) {
      done(null, held)
      held = chunk
    },
    flush: (done) => done(null, held),
  })
  body.on('error', (error) => named.destroy(Problem.ofStorage(error)))
  named.once('close', () => body.destroy())
  return body.pipe(named)
}
