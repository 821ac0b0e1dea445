import { S3Client } from '@aws-sdk/client-s3'
import { Problem } from '../../core/problem.ts'
import type { S3Options } from '../s3.ts'

export function openClient({ endpoint, region, forcePathStyle, credentials, patienceMs }: S3Options): S3Client {
  const place = endpoint === undefined ? { ...(region && { region }) } : { endpoint, region: region ?? 'us-east-1' }
  // A slow reader keeps its connection: nothing may queue behind it.
  const agent = { maxSockets: Number.POSITIVE_INFINITY }
  return new S3Client({
    ...place,
    ...(forcePathStyle !== undefined && { forcePathStyle }),
    ...(credentials && { credentials }),
    maxAttempts: 3,
    // Whatever the environment says: an upload begun with checksums must go on with them, and what is read is held against them.
    requestChecksumCalculation: 'WHEN_SUPPORTED',
    responseChecksumValidation: 'WHEN_SUPPORTED',
    // It would mean a new connection for each part.
    expectContinueHeader: false,
    requestHandler: {
      connectionTimeout: 5_000,
      requestTimeout: patienceMs ?? 30_000,
      throwOnRequestTimeout: true,
      // Longer than the API waits for a client that reads nothing: such a client must not look like a dead server.
      socketTimeout: 150_000,
      httpAgent: agent,
      httpsAgent: agent,
    },
  })
}

/** Whoever is at fault, from our keys to their disks: without an answer the storage can't be used. */
export async function asking<Answer>(answer: Promise<Answer>, signal?: AbortSignal): Promise<Answer> {
  try {
    return await answer
  } catch (error) {
    // Who gave it a time, and waited for it in vain, did not change his mind.
    if (signal?.aborted && signal.reason?.name !== 'TimeoutError') throw signal.reason
    throw Problem.ofStorage(error)
  }
}

/** What the server called the fault, and its HTTP status; of a fault on the way there is no status. */
export function refusalOf(thrown: unknown): { name?: string; status?: number } {
  const cause = thrown instanceof Problem ? thrown.cause : undefined
  if (!(cause instanceof Error)) return {}
  const status = (cause as Error & { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode
  return { name: cause.name, ...(status !== undefined && { status }) }
}
