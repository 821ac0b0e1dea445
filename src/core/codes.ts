import { maxImageBytes, maxImagePixels } from './image.ts'
import { maxVideoMiB } from './source.ts'

interface CodeFacts {
  /** The HTTP status of a response with this code. SDKs retry 408, 409, 429 and ≥ 500 by themselves. */
  readonly status: number
  /** For clients, in the documentation. */
  readonly meaning: string
  /** Set if it may be in the `error` of a failed video. */
  readonly failsVideos?: true
  /** Set if the reason lasts longer than a client should wait: it must not repeat the request. */
  readonly isLasting?: true
}

/** Every error code. `api/errors.ts` responds by it, and the documentation shows it. */
const codes = {
  invalid_request: {
    status: 400,
    meaning: 'The request is not valid, or not in the current state; the message says why.',
  },
  invalid_json: { status: 400, meaning: 'The body is not JSON, not an object, not UTF-8, or has a field twice.' },
  invalid_multipart: {
    status: 400,
    meaning: 'The form is malformed, was cut short, is not UTF-8, or has a field twice.',
  },
  invalid_type: { status: 400, meaning: 'A field has the wrong type.' },
  invalid_value: { status: 400, meaning: 'A field has a value that is not accepted; the message lists what is.' },
  missing_required_parameter: { status: 400, meaning: 'A required field is missing.' },
  unknown_parameter: { status: 400, meaning: 'There is no such field; the message lists the fields.' },
  invalid_image: {
    status: 400,
    meaning: `The reference image is not an image, or too large. PNG, JPEG and WebP are accepted, up to ${maxImageBytes / 2 ** 20} MiB and ${maxImagePixels / 1e6} megapixels, or fewer for formats that are slow to decode; the message says how many.`,
    failsVideos: true,
  },
  invalid_image_url: {
    status: 400,
    meaning: 'The URL of the reference image leads to an address that images are not fetched from.',
  },
  invalid_webhook_url: {
    status: 400,
    meaning: 'The URL of the webhook endpoint leads to an address that webhooks are not sent to.',
  },
  // A status that SDKs do not retry by themselves: the receiver would get the test again and again.
  webhook_unanswered: { status: 400, meaning: 'The endpoint did not respond to the test; the message says why.' },
  invalid_video: {
    status: 400,
    meaning: `The uploaded video can’t be used. H.264 in an MP4 file is accepted, up to ${maxVideoMiB} MiB.`,
  },
  video_not_usable: {
    status: 400,
    meaning: 'No other video can be created from this one: it is not finished, has failed, or has expired.',
  },
  // A status that SDKs do not retry by themselves: only the operator can change this.
  price_unknown: {
    status: 400,
    meaning: 'The price of the video can’t be computed, and the operator does not offer it for free.',
  },
  operation_taken: { status: 400, meaning: 'This operation already belongs to another attempt.' },
  invalid_api_key: {
    status: 401,
    meaning: 'The token is missing, wrong, expired, disabled, revoked, or an operator’s at a route for clients.',
  },
  permission_denied: { status: 403, meaning: 'This route needs an operator token, or one that is an admin.' },
  token_not_found: { status: 404, meaning: 'There is no such token.' },
  model_not_found: {
    status: 404,
    meaning: 'There is no such model, this token may not use it, or the operator paused it.',
  },
  account_not_found: { status: 404, meaning: 'There is no such account.' },
  alarm_not_found: { status: 404, meaning: 'There is no such alarm.' },
  unknown_url: { status: 404, meaning: 'There is nothing at this path.' },
  webhook_endpoint_not_found: {
    status: 404,
    meaning: 'There is no such webhook endpoint, or it belongs to another token.',
  },
  webhook_delivery_not_found: { status: 404, meaning: 'There is no such delivery to this endpoint.' },
  video_not_found: { status: 404, meaning: 'There is no such video, or it belongs to another token.' },
  video_not_ready: { status: 404, meaning: 'The video is not finished. Poll it until it is.' },
  video_failed: { status: 404, meaning: 'The video failed, so there is nothing to download.' },
  method_not_allowed: { status: 405, meaning: 'This path accepts other methods; `Allow` and the message list them.' },
  // A status that SDKs retry by themselves: the repeated request is made on what the others have changed.
  changed_meanwhile: {
    status: 409,
    meaning: 'Other requests changed the same thing at the same time. Check it, and try again.',
  },
  video_expired: { status: 410, meaning: 'The video expired at `expires_at` and was removed.' },
  precondition_failed: {
    status: 412,
    meaning: 'The video is not the one that `If-Match` or `If-Unmodified-Since` asks for.',
  },
  body_too_large: { status: 413, meaning: 'The body is too large.' },
  unsupported_media_type: { status: 415, meaning: 'The content type of the body is not accepted here.' },
  range_not_satisfiable: { status: 416, meaning: 'The range begins after the end of the video.' },
  idempotency_key_reused: { status: 422, meaning: 'This key was sent before with another request.' },
  rate_limit_exceeded: {
    status: 429,
    meaning:
      'This token reached one of its limits: videos per minute, or requests of a kind at once. Try again after `Retry-After`.',
  },
  queue_full: {
    status: 429,
    meaning:
      'The project of this token has as many waiting videos as the token allows; the message names the limit. Try again after `Retry-After`.',
  },
  insufficient_quota: {
    status: 429,
    meaning:
      'The video costs more than a spend cap of this token allows; the message names the cap and when it resets. `x-should-retry` is false.',
    isLasting: true,
  },
  storage_quota_exceeded: {
    status: 429,
    meaning:
      'The project of this token stores as many bytes as the token allows; the message names the limit. Delete videos, or wait until some expire. `x-should-retry` is false.',
    isLasting: true,
  },
  // These two stay inside: `api/repeats.ts` returns the video of the key, and a task that was not sent is queued again.
  idempotency_key_taken: { status: 500, meaning: 'This key already has a video.' },
  provider_unreachable: { status: 500, meaning: 'The provider could not be reached.' },
  // These end a task and are shown in its `error`. As the response to a request they would be our own fault.
  image_unavailable: {
    status: 500,
    meaning: 'The reference image could not be downloaded or checked.',
    failsVideos: true,
  },
  generation_failed: { status: 500, meaning: 'The model could not generate the video.', failsVideos: true },
  output_unavailable: {
    status: 500,
    meaning: 'The result could not be downloaded from the provider.',
    failsVideos: true,
  },
  unsupported_output: { status: 500, meaning: 'The result does not play.', failsVideos: true },
  provider_unavailable: { status: 500, meaning: 'The provider did not accept the request.', failsVideos: true },
  submission_unknown: {
    status: 500,
    meaning: 'It is unknown whether the provider accepted the request. It was not sent again, to avoid paying twice.',
    failsVideos: true,
  },
  content_policy: {
    status: 500,
    meaning: 'The provider refused the prompt or the image for what they show.',
    failsVideos: true,
  },
  deadline_exceeded: {
    status: 500,
    meaning: 'The video was not accepted, or not finished, in time.',
    failsVideos: true,
  },
  lost_upstream: { status: 500, meaning: 'The provider no longer knows the video.', failsVideos: true },
  internal: { status: 500, meaning: 'An internal error of the service.', failsVideos: true },
  overloaded: { status: 503, meaning: 'Too many requests at once. Try again after `Retry-After`.', failsVideos: true },
  storage_unavailable: {
    status: 503,
    meaning: 'Nothing can be stored or read at the moment. Try again after `Retry-After`.',
  },
} satisfies Record<string, CodeFacts>

export type ProblemCode = keyof typeof codes
export const problemCodes: Readonly<Record<ProblemCode, CodeFacts>> = codes

/** Accepts any text: a client may read the code of another version, or of another server. */
export function isLasting(code: string): boolean {
  return Object.hasOwn(problemCodes, code) && problemCodes[code as ProblemCode].isLasting === true
}
