import type { Dispatcher } from 'undici'
import { Problem } from '../core/problem.ts'
import { collect } from './answer.ts'
import { type Patience, paced } from './watch.ts'

export interface DownloadLimits {
  maxBytes: number
}

export interface Download {
  bytes: Uint8Array
  /** What the server says it is: a claim, to be checked against the bytes. */
  contentType: string | null
}

/** Where a redirect leads. */
export function redirection(response: Dispatcher.ResponseData): { location: string } {
  const { location } = response.headers
  if (typeof location !== 'string' || location === '') throw unusable('redirects to nowhere')
  return { location }
}

export async function content(
  response: Dispatcher.ResponseData,
  limits: DownloadLimits,
  patience: Patience,
): Promise<Download> {
  const { statusCode, headers } = response
  if (statusCode !== 200) {
    const retryable = statusCode >= 500 || statusCode === 408 || statusCode === 429
    throw unusable(`was answered with status ${statusCode} instead of 200`, retryable)
  }
  const encoding = String(headers['content-encoding'] ?? '').trim()
  if (encoding !== '' && encoding.toLowerCase() !== 'identity') {
    throw unusable('is served compressed (content-encoding), which we did not ask for')
  }
  if (Number(headers['content-length'] ?? 0) > limits.maxBytes) throw tooLarge(limits)
  const [contentType = null] = [headers['content-type'] ?? null].flat()
  // A body that is shorter than its Content-Length fails in undici; a longer one ends where the length says.
  const { bytes, whole } = await collect(paced(response.body, patience), limits.maxBytes)
  if (!whole) throw tooLarge(limits)
  return { bytes, contentType }
}

function tooLarge(limits: DownloadLimits): Problem {
  const message = `The image is larger than ${limits.maxBytes} bytes. Use a smaller one.`
  return new Problem('image_unavailable', message)
}

export function unusable(what: string, retryable = false): Problem {
  const message = `The image URL ${what}. Use a URL that answers everybody with the image itself.`
  return new Problem('image_unavailable', message, { retryable })
}
