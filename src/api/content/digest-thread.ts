import { createHash, type Hash } from 'node:crypto'
import { parentPort } from 'node:worker_threads'

/** The next chunk of a digest, or none: it ends. Each message gets one answer: the digest at its end, else nothing. */
export interface DigestMessage {
  id: number
  chunk?: Uint8Array
}

const digests = new Map<number, Hash>()

parentPort?.on('message', ({ id, chunk }: DigestMessage) => parentPort?.postMessage(answer(id, chunk)))

function answer(id: number, chunk: Uint8Array | undefined): string {
  const digest = digests.get(id) ?? createHash('sha256')
  if (!chunk) {
    digests.delete(id)
    return digest.digest('hex')
  }
  digests.set(id, digest)
  digest.update(chunk)
  return ''
}
