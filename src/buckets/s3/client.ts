import { S3Client } from '@aws-sdk/client-s3'
import { Problem } from '../../core/problem.ts'
import type { S3Options } from '../s3.ts'

export function openClient({ endpoint, region, forcePathStyle, credentials, requestMs }: S3Options): S3Client {
  const server = endpoint === undefined ? { ...(region && { region }) } : { endpoint, region: region ?? 'us-east-1' }
  // A slow reader keeps its connection. Other requests must not wait for it.
  const agent = { maxSockets: Number.POSITIVE_INFINITY }
  return new S3Client({
    ...server,
    ...(forcePathStyle !== undefined && { forcePathStyle }),
    ...(credentials && { credentials }),
    maxAttempts: 3,
    // Overrides the environment: an upload that started with checksums must continue with them, and reads are verified.
    requestChecksumCalculation: 'WHEN_SUPPORTED',
    responseChecksumValidation: 'WHEN_SUPPORTED',
    // It would need a new connection for each part.
    expectContinueHeader: false,
    requestHandler: {
      connectionTimeout: 5_000,
      requestTimeout: requestMs ?? 30_000,
      throwOnRequestTimeout: true,
      // Longer than the API waits for a client that does not read: such a client must not look like a dead server.
      socketTimeout: 150_000,
      httpAgent: agent,
      httpsAgent: agent,
    },
  })
}

/** Every failure of a request, from our keys to the server's disks, means that the storage is not available. */
export async function orStorageProblem<Result>(request: Promise<Result>, signal?: AbortSignal): Promise<Result> {
  try {
    return await request
  } catch (error) {
    // An expired timeout is a failure of the storage. Any other abort is the caller's decision.
    if (signal?.aborted && signal.reason?.name !== 'TimeoutError') throw signal.reason
    throw Problem.ofStorage(error)
  }
}

/** The error name and HTTP status from the server. A network error has no status. */
export function s3ErrorOf(thrown: unknown): { name?: string; status?: number } {
  const cause = thrown instanceof Problem ? thrown.cause : undefined
  if (!(cause instanceof Error)) return {}
  const status = (cause as Error & { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode
  return { name: cause.name, ...(status !== undefined && { status }) }
}
