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
import { asking } from './client.ts'

export interface Place {
  Bucket: string
  Key: string
}

interface Part {
  bytes: Buffer
  sha256: string
}

/** At least 5 MiB and at most 10 000 of them, says S3. */
const partBytes = 8 * 2 ** 20

/**
 * Cuts a body into parts of one size, of which only the last may be smaller, and measures it. Two buffers take turns: a
 * part is good until the next but one is asked for.
 */
export function cut(body: Iterable<Uint8Array> | AsyncIterable<Uint8Array>, signal: AbortSignal) {
  const digest = createHash('sha256')
  let bytes = 0
  const parts = async function* (): AsyncGenerator<Part, void> {
    const buffers: Buffer[] = []
    let [count, filled] = [0, 0]
    let own = createHash('sha256')
    const buffer = () => (buffers[count % 2] ??= Buffer.allocUnsafe(partBytes))
    const end = () => {
      const part = { bytes: buffer().subarray(0, filled), sha256: own.digest('hex') }
      count++
      filled = 0
      own = createHash('sha256')
      return part
    }
    for await (const chunk of body) {
      signal.throwIfAborted()
      digest.update(chunk)
      bytes += chunk.length
      for (let at = 0; at < chunk.length; ) {
        const piece = chunk.subarray(at, at + partBytes - filled)
        own.update(piece)
        buffer().set(piece, filled)
        at += piece.length
        filled += piece.length
        if (filled === partBytes) yield end()
      }
    }
    if (filled > 0 || count === 0) yield end()
  }
  return { parts: parts(), measure: () => ({ bytes, sha256: digest.digest('hex') }) }
}

/**
 * Sends what has to be sent before the object can appear. `publish` makes it appear, unless its key is taken; `drop`
 * leaves nothing of what was sent.
 */
export async function upload(client: S3Client, place: Place, parts: AsyncGenerator<Part, void>, signal: AbortSignal) {
  try {
    const first = await parts.next()
    const second = await parts.next()
    if (first.done) throw new Error('a body has a part, be it empty')
    if (!second.done) return await sendParts(client, place, follow([first.value, second.value], parts), signal)
    const { bytes, sha256 } = first.value
    const whole = new PutObjectCommand({ ...place, Body: bytes, IfNoneMatch: '*' })
    whole.middlewareStack.add(withDigest(sha256), { step: 'build' })
    const publish = () => asking(client.send(whole, { abortSignal: signal }), signal)
    return { publish, drop: async () => {} }
  } finally {
    await parts.return()
  }
}

async function* follow(read: Part[], rest: AsyncGenerator<Part, void>) {
  yield* read
  yield* rest
}

/** Tells the digest that is known: hashing a whole part at once would keep every client waiting. */
function withDigest(sha256: string) {
  return <Sending extends { request: unknown }, Sent>(next: (sending: Sending) => Promise<Sent>) =>
    (sending: Sending) => {
      const { headers } = sending.request as { headers: Record<string, string> }
      headers['x-amz-content-sha256'] = sha256
      return next(sending)
    }
}

async function sendParts(client: S3Client, place: Place, parts: AsyncIterable<Part>, signal: AbortSignal) {
  const create = new CreateMultipartUploadCommand({ ...place, ChecksumAlgorithm: 'CRC32' })
  const { UploadId } = await asking(client.send(create, { abortSignal: signal }), signal)
  const drop = async () => {
    // If this fails too, `removeFolder` does it one day.
    await client.send(new AbortMultipartUploadCommand({ ...place, UploadId })).catch(() => {})
  }
  const sent: CompletedPart[] = []
  let sending: Promise<void> | undefined
  const send = async ({ bytes, sha256 }: Part, PartNumber: number) => {
    const part = new UploadPartCommand({ ...place, UploadId, PartNumber, Body: bytes })
    part.middlewareStack.add(withDigest(sha256), { step: 'build' })
    const { ETag, ChecksumCRC32 } = await asking(client.send(part, { abortSignal: signal }), signal)
    sent.push({ PartNumber, ETag, ChecksumCRC32 })
  }
  try {
    let number = 1
    // The source fills the next part while one is sent.
    for await (const part of parts) {
      await sending
      sending = send(part, number++)
      sending.catch(() => {})
    }
    await sending
  } catch (error) {
    // A part that arrives after the upload was dropped would stay.
    await sending?.catch(() => {})
    await drop()
    throw error
  }
  const request = { ...place, UploadId, MultipartUpload: { Parts: sent }, IfNoneMatch: '*' }
  const complete = new CompleteMultipartUploadCommand(request)
  return { publish: () => asking(client.send(complete, { abortSignal: signal }), signal), drop }
}
