import { createHash } from 'node:crypto'
import { type Readable, Transform } from 'node:stream'
import {
  AbortMultipartUploadCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  ListMultipartUploadsCommand,
  type ListMultipartUploadsCommandOutput,
  ListObjectsV2Command,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { Problem } from '../../core/problem.ts'
import type { ByteRange } from '../../core/range.ts'
import { type Bucket, type OpenObject, splitKey } from '../bucket.ts'
import type { S3Options } from '../s3.ts'
import { openClient, orStorageProblem, s3ErrorOf } from './client.ts'
import { type ObjectAddress, openSpares, splitIntoParts, upload } from './upload.ts'

export function openObjects(options: S3Options): Bucket {
  const client = openClient(options)
  const spares = openSpares()
  const prefix = options.prefix.replace(/(?<!\/)\/*$/, options.prefix === '' ? '' : '/')
  const addressOf = (key: string): ObjectAddress => {
    const { folder, name } = splitKey(key)
    return { Bucket: options.bucket, Key: `${prefix}${folder}/${name}` }
  }

  return {
    async put(key, body, signal) {
      const address = addressOf(key)
      const { parts, measure, end } = splitIntoParts(body, signal, spares)
      const { publish, abort } = await upload(client, address, parts, signal)
      const facts = measure()
      try {
        await publish()
        end()
      } catch (error) {
        await abort()
        if (!mayExist(error) || !(await hasSameBytes(await openObject(client, address), facts, key))) throw error
      }
      return { key, ...facts }
    },
    open: async (key, range) => openObject(client, addressOf(key), range),
    async removeFolder(folder) {
      const { Bucket, Key } = addressOf(`${folder}/x`)
      const objects = { Bucket, Prefix: Key.slice(0, -1) }
      // Also removes the unfinished uploads of a dead process, and a running upload cannot publish afterwards.
      await abortUploads(client, objects)
      await removeObjects(client, objects)
    },
    async checkWritable() {
      // Always the same object: reads may be allowed while writes are refused.
      const put = new PutObjectCommand({ ...addressOf('readyz/probe'), Body: Buffer.alloc(probeBytes) })
      await orStorageProblem(client.send(put, { requestTimeout: checkMs }))
    },
    async link(key, { expiresInSeconds, type, filename }) {
      const disposition = filename && { ResponseContentDisposition: `attachment; filename="${filename}"` }
      const get = new GetObjectCommand({ ...addressOf(key), ResponseContentType: type, ...disposition })
      return orStorageProblem(getSignedUrl(client, get, { expiresIn: expiresInSeconds }))
    },
  }
}

/** What a check writes, and how long a response to it may take. */
const [probeBytes, checkMs] = [1_024, 1_500]

/** A client waits for it, and it is requested up to three times. */
const firstByteMs = 4_000

/** One request. Once the server responds, a removal does not cut the reader. */
async function openObject(
  client: S3Client,
  address: ObjectAddress,
  range?: ByteRange,
): Promise<OpenObject | undefined> {
  const part = range && { Range: `bytes=${range.start}-${range.end}` }
  const get = new GetObjectCommand({ ...address, ...part })
  const response = await orStorageProblem(client.send(get, { requestTimeout: firstByteMs })).catch((error) => {
    if (s3ErrorOf(error).name === 'NoSuchKey') return undefined
    throw error
  })
  if (!response) return undefined
  const body = response.Body as Readable
  const bytes = range ? Number(response.ContentRange?.split('/')[1]) : response.ContentLength
  if (bytes === undefined || Number.isNaN(bytes)) {
    body.destroy()
    throw Problem.ofStorage(
      new Error(`the response to GET ${address.Key} has no ${range ? 'Content-Range' : 'Content-Length'}`),
    )
  }
  const stream = withStorageProblems(body)
  return {
    bytes,
    version: response.ETag ?? '',
    stream,
    read: readerOf(stream),
    async [Symbol.asyncDispose]() {
      stream.destroy()
    },
  }
}

/** Copies the chunks of a stream into the buffers of its reader. */
function readerOf(stream: Readable): OpenObject['read'] {
  let chunks: AsyncIterator<Buffer> | undefined
  let unread: Buffer = Buffer.alloc(0)
  return async (into) => {
    if (stream.destroyed && !stream.readableEnded) throw stream.errored ?? new Error('the object was closed')
    chunks ??= stream[Symbol.asyncIterator]()
    while (unread.length === 0) {
      const { value, done } = await chunks.next()
      if (done) return 0
      unread = value
    }
    const copied = unread.copy(into)
    unread = unread.subarray(copied)
    return copied
  }
}

/** The key exists, is being written, or the upload has ended: perhaps by our own request, whose response was lost. */
function mayExist(error: unknown): boolean {
  return [404, 409, 412].includes(s3ErrorOf(error).status ?? 0)
}

/** Whether an object already has these bytes. Throws if it has others: an object is never replaced. */
async function hasSameBytes(
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
 * The same bytes, with errors mapped to problems of the storage. The last chunk is held back until the end: a wrong
 * checksum is known only then, and a reader that already has all bytes would not notice.
 */
function withStorageProblems(body: Readable): Readable {
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

interface Folder {
  Bucket: string
  /** Ends with a slash, so that it does not match a longer name. */
  Prefix: string
}

async function removeObjects(client: S3Client, folder: Folder): Promise<void> {
  const { Bucket } = folder
  let token: string | undefined
  do {
    const page = await orStorageProblem(client.send(new ListObjectsV2Command({ ...folder, ContinuationToken: token })))
    const Objects = (page.Contents ?? []).map(({ Key }) => ({ Key }))
    if (Objects.length > 0) {
      const { Errors = [] } = await orStorageProblem(
        client.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects, Quiet: true } })),
      )
      const [kept] = Errors.filter(({ Code }) => Code !== 'NoSuchKey')
      if (kept) throw Problem.ofStorage(new Error(`${kept.Key} was not removed: ${kept.Code} ${kept.Message}`))
    }
    token = page.IsTruncated ? page.NextContinuationToken : undefined
  } while (token !== undefined)
}

/** Aborts every unfinished upload of the folder. */
async function abortUploads(client: S3Client, folder: Folder): Promise<void> {
  const { Bucket } = folder
  let KeyMarker: string | undefined
  let UploadIdMarker: string | undefined
  do {
    const page: ListMultipartUploadsCommandOutput = await orStorageProblem(
      client.send(new ListMultipartUploadsCommand({ ...folder, KeyMarker, UploadIdMarker })),
    )
    for (const { Key, UploadId } of page.Uploads ?? []) {
      await orStorageProblem(client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId }))).catch((error) => {
        if (s3ErrorOf(error).name !== 'NoSuchUpload') throw error
      })
    }
    KeyMarker = page.IsTruncated ? page.NextKeyMarker : undefined
    UploadIdMarker = page.NextUploadIdMarker
  } while (KeyMarker !== undefined)
}
