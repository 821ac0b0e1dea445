import type { ProblemCode } from '../../core/problem.ts'

/** The meaning of each error code, for clients. A code without one does not compile. */
export const meanings: Readonly<Record<ProblemCode, string>> = {
  invalid_request: 'The request is not valid, or not now; the message says why.',
  invalid_json: 'The body is not JSON, not an object, not UTF-8, or has a field twice.',
  invalid_multipart: 'The form is malformed, was cut short, or has a field twice.',
  invalid_type: 'A field has the wrong type.',
  invalid_value: 'A field has a value that is not accepted; the message lists what is.',
  missing_required_parameter: 'A required field is missing.',
  unknown_parameter: 'There is no such field; the message lists the fields.',
  invalid_image:
    'The reference image is not an image, or too large. PNG, JPEG and WebP are accepted, up to 20 MiB and 40 megapixels, or fewer for kinds that are slow to decode; the message says how many.',
  invalid_image_url: 'The URL of the reference image leads to an address that images are not fetched from.',
  invalid_video: 'The uploaded video can’t be used. H.264 in an MP4 file is accepted, up to 50 MiB.',
  invalid_webhook_url: 'The URL of the webhook endpoint leads to an address that webhooks are not sent to.',
  webhook_endpoint_not_found: 'There is no such webhook endpoint, or it belongs to another token.',
  webhook_delivery_not_found: 'There is no such delivery to this endpoint.',
  webhook_unanswered: 'The endpoint did not respond to the test; the message says why.',
  unsupported_media_type: 'The content type of the body is not accepted here.',
  body_too_large: 'The body is too large.',
  invalid_api_key: 'The token is missing, wrong, or of the other kind.',
  model_not_found: 'There is no such model, or not for this token.',
  account_not_found: 'There is no such account.',
  unknown_url: 'There is nothing at this path.',
  method_not_allowed: 'This path accepts other methods; `Allow` and the message list them.',
  idempotency_key_taken: 'This key has its video already.',
  idempotency_key_reused: 'This key was sent before with another request.',
  rate_limit_exceeded:
    'This token is at one of its limits: videos per minute, or requests of a kind at once. Try again after `Retry-After`.',
  video_not_found: 'There is no such video, or it belongs to another token.',
  video_not_ready: 'The video is not finished. Poll it until it is.',
  video_failed: 'The video failed, so there is nothing to download.',
  video_expired: 'The video expired at `expires_at`, and is removed.',
  video_not_usable: 'No other video can be made of this one: it is not finished, has failed, or has expired.',
  range_not_satisfiable: 'The range begins after the end of the video.',
  image_unavailable: 'The reference image could not be fetched, or could not be checked.',
  generation_failed: 'The model could not generate the video.',
  output_unavailable: 'The result could not be downloaded from the provider.',
  unsupported_output: 'The result does not play.',
  provider_unavailable: 'The provider did not accept the request.',
  provider_unreachable: 'The provider could not be reached.',
  submission_unknown:
    'It is not known whether the provider accepted the request. It was not sent again, so that it is not paid for twice.',
  content_policy: 'The provider refused the prompt or the image for what they show.',
  deadline_exceeded: 'The video was not accepted, or not finished, in time.',
  lost_upstream: 'The provider no longer knows the video.',
  operation_taken: 'This operation belongs to another attempt already.',
  overloaded: 'Too many requests at once. Try again after `Retry-After`.',
  storage_unavailable: 'Nothing can be stored or read at the moment. Try again after `Retry-After`.',
  internal: 'An internal error of the service.',
}

/** The codes in the `error` of a failed video; the others are errors of requests. */
export const failures: readonly ProblemCode[] = [
  ...(['image_unavailable', 'invalid_image', 'generation_failed', 'content_policy', 'deadline_exceeded'] as const),
  ...(['output_unavailable', 'unsupported_output', 'provider_unavailable', 'provider_unreachable'] as const),
  ...(['submission_unknown', 'lost_upstream', 'overloaded', 'internal'] as const),
]
