import { createHash } from 'node:crypto'
import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { orStorageProblem } from './client.ts'

export interface ObjectAddress {
  Bucket: string
  Key: string
}

interface Part {
  bytes: Buffer
  sha256: string
}

/** S3 requires parts of at least 5 MiB, and allows 10 000 of them. */
const partBytes = 8 * 2 ** 20

/** Enough for a thumbnail. */
const leastBytes = 64 * 1024
const spareBytes = 4 * partBytes

/** Memory that is used again. If each upload allocated its own, Node would collect its garbage after every second video. */
interface Spares {
  /** At least so many bytes, with any content. */
  take(bytes: number): Buffer
  give(buffers: readonly Buffer[]): void
}

export function openSpares(): Spares {
  const spares = new Map<number, Buffer[]>()
  let kept = 0
  return {
    take(bytes) {
      let size = leastBytes
      while (size < bytes) size *= 2
      const spare = spares.get(size)?.pop()
      if (spare) kept -= size
      return spare ?? Buffer.allocUnsafeSlow(size)
    },
    give(buffers) {
      for (const buffer of buffers) {
        if (kept + buffer.length > spareBytes) return
        kept += buffer.length
        spares.set(buffer.length, [...(spares.get(buffer.length) ?? []), buffer])
      }
    },
  }
}

/**
 * Splits a body into parts of one size (the last may be smaller), and measures it. Two buffers alternate: a part is valid
 * until the second next one is requested. They grow with their part, so that small bodies take little memory. `end` gives
 * them back: call it when the parts have arrived. After a failure they may still be read.
 */
export function splitIntoParts(
  body: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  signal: AbortSignal,
  spares: Spares,
) {
  const digest = createHash('sha256')
  let bytes = 0
  const buffers: Buffer[] = []
  const parts = async function* (): AsyncGenerator<Part, void> {
    let [count, filled] = [0, 0]
    let partDigest = createHash('sha256')
    const buffer = (needed: number) => {
      const before = buffers[count % 2]
      if (before && needed <= before.length) return before
      const larger = spares.take(needed)
      if (before) {
        larger.set(before.subarray(0, filled))
        spares.give([before])
      }
      buffers[count % 2] = larger
      return larger
    }
    const endPart = () => {
      const part = { bytes: buffer(filled).subarray(0, filled), sha256: partDigest.digest('hex') }
      count++
      filled = 0
      partDigest = createHash('sha256')
      return part
    }
    for await (const chunk of body) {
      signal.throwIfAborted()
      digest.update(chunk)
      bytes += chunk.length
      for (let at = 0; at < chunk.length; ) {
        const piece = chunk.subarray(at, at + partBytes - filled)
        partDigest.update(piece)
        buffer(filled + piece.length).set(piece, filled)
        at += piece.length
        filled += piece.length
        if (filled === partBytes) yield endPart()
      }
    }
    if (filled > 0 || count === 0) yield endPart()
  }
  return {
    parts: parts(),
    measure: () => ({ bytes, sha256: digest.digest('hex') }),
    end: () => spares.give(buffers.splice(0)),
  }
}

/** Sends the parts. `publish` creates the object unless its key exists; `abort` removes the parts that were sent. */
export async function upload(
  client: S3Client,
  address: ObjectAddress,
  parts: AsyncGenerator<Part, void>,
  signal: AbortSignal,
) {
  try {
    const first = await parts.next()
    const second = await parts.next()
    if (first.done) throw new Error('a body has at least one part')
    if (!second.done) return await sendParts(client, address, chain([first.value, second.value], parts), signal)
    const { bytes, sha256 } = first.value
    const whole = new PutObjectCommand({ ...address, Body: bytes, IfNoneMatch: '*' })
    whole.middlewareStack.add(withDigest(sha256), { step: 'build' })
    const publish = () => orStorageProblem(client.send(whole, { abortSignal: signal }), signal)
    return { publish, abort: async () => {} }
  } finally {
    await parts.return()
  }
}

async function* chain(read: Part[], rest: AsyncGenerator<Part, void>) {
  yield* read
  yield* rest
}

/** Sets the known digest: the SDK would hash a whole part at once, which blocks the event loop. */
function withDigest(sha256: string) {
  return <Sending extends { request: unknown }, Sent>(next: (sending: Sending) => Promise<Sent>) =>
    (sending: Sending) => {
      const { headers } = sending.request as { headers: Record<string, string> }
      headers['x-amz-content-sha256'] = sha256
      return next(sending)
    }
}

async function sendParts(client: S3Client, address: ObjectAddress, parts: AsyncIterable<Part>, signal: AbortSignal) {
  const create = new CreateMultipartUploadCommand({ ...address, ChecksumAlgorithm: 'CRC32' })
  const { UploadId } = await orStorageProblem(client.send(create, { abortSignal: signal }), signal)
  const abort = async () => {
    // If this fails too, `removeFolder` removes the parts later.
    await client.send(new AbortMultipartUploadCommand({ ...address, UploadId })).catch(() => {})
  }
  const sent: CompletedPart[] = []
  let sending: Promise<void> | undefined
  const send = async ({ bytes, sha256 }: Part, PartNumber: number) => {
    const part = new UploadPartCommand({ ...address, UploadId, PartNumber, Body: bytes })
    part.middlewareStack.add(withDigest(sha256), { step: 'build' })
    const { ETag, ChecksumCRC32 } = await orStorageProblem(client.send(part, { abortSignal: signal }), signal)
    sent.push({ PartNumber, ETag, ChecksumCRC32 })
  }
  try {
    let number = 1
    // The source fills the next part while this one is sent.
    for await (const part of parts) {
      await sending
      sending = send(part, number++)
      sending.catch(() => {})
    }
    await sending
  } catch (error) {
    // A part that arrives after the abort would stay.
    await sending?.catch(() => {})
    await abort()
    throw error
  }
  const request = { ...address, UploadId, MultipartUpload: { Parts: sent }, IfNoneMatch: '*' }
  const complete = new CompleteMultipartUploadCommand(request)
  return { publish: () => orStorageProblem(client.send(complete, { abortSignal: signal }), signal), abort }
}
