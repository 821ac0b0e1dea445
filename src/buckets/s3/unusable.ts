import { Problem } from '../../core/problem.ts'

/** Why a bucket can't be used, and what to do about it. */
export interface Unusable {
  why: string
  fix: string
  /** Asking again won't help: somebody has to mend it first. */
  lasting: boolean
}

interface Refusal extends Error {
  code?: string
  $metadata?: { httpStatusCode?: number }
}

/** Null where it is no fault of S3. */
export function explain(thrown: unknown): Unusable | null {
  const cause = (thrown instanceof Problem ? thrown.cause : thrown) as Refusal
  if (!(cause instanceof Error) || !isOurs(cause)) return null
  const said = [cause.name === 'Error' ? '' : cause.name, cause.message || cause.code]
  const why = said.filter(Boolean).join(': ').replace(/\s+/g, ' ')
  return { why, ...fixOf(cause) }
}

/** What the SDK finds out before it asks has no account of the asking. */
function isOurs({ name, message, $metadata }: Refusal): boolean {
  return $metadata !== undefined || name === 'CredentialsProviderError' || isRegionless.test(message)
}

const isRegionless = /^Region is missing/
const isKeys = /Credential|AccessKey|Signature|Token|AccessDenied|UserNotFound/
const isRegion = /PermanentRedirect|AuthorizationHeaderMalformed|IllegalLocation/
const isCertificate = /CERT|SELF_SIGNED|ALTNAME|ISSUER|UNABLE_TO_VERIFY/
const isUnknownHost = /^(ENOTFOUND|EAI_AGAIN)$/

function fixOf({ name, message, code = '', $metadata }: Refusal): Pick<Unusable, 'fix' | 'lasting'> {
  const status = $metadata?.httpStatusCode ?? 0
  const lasting = (fix: string) => ({ fix, lasting: true })
  if (isRegionless.test(message)) return lasting('add region=… to its URL, or set AWS_REGION')
  if (isRegion.test(name) || status === 301) return lasting("check region=… of its URL: it must be the bucket's")
  if (isKeys.test(name) || status === 401 || status === 403)
    return lasting('check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and what they may do with the bucket')
  if (status === 404) return lasting('create the bucket, or check its name and the endpoint')
  if (isUnknownHost.test(code)) return lasting('check the endpoint, and whether it wants path_style=true')
  if (isCertificate.test(code)) return lasting('name the authority of its certificate with NODE_EXTRA_CA_CERTS')
  if (status >= 400 && status < 500 && status !== 408 && status !== 429)
    return lasting('check the endpoint, and that it speaks S3')
  return { fix: 'check the endpoint, and that it runs', lasting: false }
}
