import type { Bucket } from './bucket.ts'

export interface S3Options {
  bucket: string
  /** What every key begins with, such as `filmgate`: several services can share a bucket. Empty for none. */
  prefix: string
  /** Of a server that is not Amazon's. */
  endpoint?: string
  /** If it is not given, the environment's; for an endpoint of one's own, `us-east-1`. */
  region?: string
  /** `endpoint/bucket/key` rather than `bucket.endpoint/key`; most servers that are not Amazon's want it. */
  forcePathStyle?: boolean
  /** If they are not given, what Amazon's tools find: environment, profile, role of the machine or of the container. */
  credentials?: { accessKeyId: string; secretAccessKey: string; sessionToken?: string }
  /** How long the server may take to answer a request; it is asked three times at most. */
  patienceMs?: number
}

/** Objects in S3, or in what speaks like it and honours `If-None-Match`. */
export async function openS3(options: S3Options): Promise<Bucket> {
  // Only now: a service without S3 need not pay for the SDK, which takes 20 MB and a sixth of a second.
  const { openObjects } = await import('./s3/objects.ts')
  return openObjects(options)
}
