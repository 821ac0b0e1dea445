import { Problem } from '../../core/problem.ts'

/** Why a bucket can't be used, and what to do about it. */
export interface Unusable {
  why: string
  fix: string
}

interface Refusal extends Error {
  code?: string
  $metadata?: { httpStatusCode?: number }
}

/** Null where it is no fault of S3. */
export function explain(thrown: unknown): Unusable | null {
  const cause = (thrown instanceof Problem ? thrown.cause : thrown) as Refusal
  if (!(cause instanceof Error) || !isOurs(cause)) return null
  // The library's own line is full of numbers.
  if (isPlain.test(cause.message)) return { why: 'its endpoint speaks http://, not https://', fix: fixOf(cause) }
  const said = [cause.name === 'Error' ? '' : cause.name, cause.message || cause.code]
  const why = said.filter(Boolean).join(': ').replace(/\s+/g, ' ')
  return { why, fix: fixOf(cause) }
}

/** What the SDK finds out before it asks has no account of the asking. */
function isOurs({ name, message, $metadata }: Refusal): boolean {
  return $metadata !== undefined || name === 'CredentialsProviderError' || isRegionless.test(message)
}

const isRegionless = /^Region is missing/
const isKeys = /Credential|AccessKey|Signature|Token|AccessDenied|UserNotFound/
const isRegion = /PermanentRedirect|AuthorizationHeaderMalformed|IllegalLocation/
const isCertificate = /CERT|SELF_SIGNED|ALTNAME|ISSUER|UNABLE_TO_VERIFY/
const isPlain = /wrong version number/
const isUnknownHost = /^(ENOTFOUND|EAI_AGAIN)$/

function fixOf({ name, message, code = '', $metadata }: Refusal): string {
  const status = $metadata?.httpStatusCode ?? 0
  if (isRegionless.test(message)) return 'add region=… to its URL, or set AWS_REGION'
  if (isRegion.test(name) || status === 301) return "check region=… of its URL: it must be the bucket's"
  if (isKeys.test(name) || status === 401 || status === 403)
    return 'check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and what they may do with the bucket'
  if (status === 404) return 'create the bucket, or check its name and the endpoint'
  if (isUnknownHost.test(code)) return 'check the endpoint, and whether it wants path_style=true'
  if (isCertificate.test(code)) return 'name the authority of its certificate with NODE_EXTRA_CA_CERTS'
  if (isPlain.test(message)) return 'begin the endpoint with http:// instead of https://, or let it speak TLS'
  if (status >= 400 && status < 500 && status !== 408 && status !== 429)
    return 'check the endpoint, and that it speaks S3'
  return 'check the endpoint, and that it runs'
}
