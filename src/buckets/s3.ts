import { Problem } from '../core/problem.ts'
import type { Bucket } from './bucket.ts'

export interface S3Options {
  bucket: string
  /** The prefix of every key, such as `filmgate`, so that services can share a bucket. May be empty. */
  prefix: string
  /** Of a server other than Amazon's. */
  endpoint?: string
  /** Default: the region of the environment; with an endpoint, `us-east-1`. */
  region?: string
  /** `endpoint/bucket/key` instead of `bucket.endpoint/key`. Most servers other than Amazon's need it. */
  forcePathStyle?: boolean
  /** Default: as Amazon's tools find them, in the environment, a profile, or the role of the machine or container. */
  credentials?: { accessKeyId: string; secretAccessKey: string; sessionToken?: string }
  /** How long the server may take to respond. A request is sent at most three times. */
  requestMs?: number
}

/** Objects in S3, or in a compatible server that supports `If-None-Match`. */
export async function openS3(options: S3Options): Promise<Bucket> {
  // Loaded on demand: the SDK takes 20 MB and a sixth of a second.
  const { openObjects } = await import('./s3/objects.ts')
  return openObjects(options)
}

/** Why a bucket cannot be used, and what to do about it. */
interface Unusable {
  why: string
  fix: string
}

interface S3Error extends Error {
  code?: string
  $metadata?: { httpStatusCode?: number }
}

/** Null if the error did not come from S3. */
export function explainS3(thrown: unknown): Unusable | null {
  const cause = thrown instanceof Problem ? thrown.cause : thrown
  if (!(cause instanceof Error)) return null
  const error: S3Error = cause
  if (!isS3Error(error)) return null
  // The message of the TLS library is hard to read.
  if (plainHttp.test(error.message)) return { why: 'its endpoint speaks http://, not https://', fix: fixOf(error) }
  const parts = [error.name === 'Error' ? '' : error.name, error.message || error.code]
  const why = parts.filter(Boolean).join(': ').replace(/\s+/g, ' ')
  return { why, fix: fixOf(error) }
}

/** Errors of the SDK before its first request have no metadata. */
function isS3Error({ name, message, $metadata }: S3Error): boolean {
  return $metadata !== undefined || name === 'CredentialsProviderError' || missingRegion.test(message)
}

const missingRegion = /^Region is missing/
const keyErrors = /Credential|AccessKey|Signature|Token|AccessDenied|UserNotFound/
const regionErrors = /PermanentRedirect|AuthorizationHeaderMalformed|IllegalLocation/
const certificateErrors = /CERT|SELF_SIGNED|ALTNAME|ISSUER|UNABLE_TO_VERIFY/
const plainHttp = /wrong version number/
const unknownHost = /^(ENOTFOUND|EAI_AGAIN)$/

function fixOf({ name, message, code = '', $metadata }: S3Error): string {
  const status = $metadata?.httpStatusCode ?? 0
  if (missingRegion.test(message)) return 'add region=… to its URL, or set AWS_REGION'
  if (regionErrors.test(name) || status === 301) return "check region=… of its URL: it must be the bucket's"
  if (keyErrors.test(name) || status === 401 || status === 403)
    return 'check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and their permissions for the bucket'
  if (status === 404) return 'create the bucket, or check its name and the endpoint'
  if (unknownHost.test(code)) return 'check the endpoint, and whether it needs path_style=true'
  if (certificateErrors.test(code)) return 'set NODE_EXTRA_CA_CERTS to the file of the certificate authority'
  if (plainHttp.test(message)) return 'start the endpoint with http:// instead of https://, or enable TLS on the server'
  if (status >= 400 && status < 500 && status !== 408 && status !== 429)
    return 'check the endpoint, and that it speaks S3'
  return 'check the endpoint, and that it runs'
}
