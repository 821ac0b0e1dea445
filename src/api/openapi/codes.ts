import type { ProblemCode } from '../../core/problem.ts'

/** What each error code means to whoever gets it. A code that nobody explained does not compile. */
export const meanings: Readonly<Record<ProblemCode, string>> = {
  invalid_request: 'The request makes no sense, or not now; the message says why.',
  invalid_json: 'The body is not JSON, not an object, not UTF-8, or has a field twice.',
  invalid_multipart: 'The form is malformed, was cut short, or has a field twice.',
  invalid_type: 'A field has another type than it must have.',
  invalid_value: 'A field has a value that the model does not take; the message says which it does.',
  missing_required_parameter: 'A field is missing.',
  unknown_parameter: 'There is no such field; the message names those that there are.',
  invalid_image:
    'The reference image is not an image, or too large. PNG, JPEG and WebP are accepted, up to 20 MiB and 40 megapixels, or fewer for kinds that are slow to decode; the message says how many.',
  invalid_image_url: 'The URL of the reference image leads nowhere that images are fetched from.',
  invalid_video: 'The video that was sent is none that can be used. H.264 in an MP4 file is taken, up to 50 MiB.',
  invalid_webhook_url: 'The URL of the webhook endpoint leads nowhere that webhooks are sent to.',
  webhook_endpoint_not_found: 'There is no such webhook endpoint, or it is not yours.',
  webhook_delivery_not_found: 'There is no such delivery to this endpoint.',
  webhook_unanswered: 'The endpoint gave no answer to the test; the message says why.',
  unsupported_media_type: 'The body has a type that is not taken here.',
  body_too_large: 'The body is too large.',
  invalid_api_key: 'The token is missing, wrong, or of the other kind.',
  model_not_found: 'There is no such model, or not for this token.',
  account_not_found: 'There is no such account.',
  unknown_url: 'There is nothing at this path.',
  method_not_allowed: 'This path takes other methods; `Allow` and the message name them.',
  idempotency_key_taken: 'This key has its video already.',
  idempotency_key_reused: 'This key was sent before with another request.',
  rate_limit_exceeded:
    'This token is at one of its limits: videos a minute, or how much of something at once. Try again after `Retry-After`.',
  video_not_found: 'There is no such video, or it is not yours.',
  video_not_ready: 'The video is not finished. Poll it until it is.',
  video_failed: 'The video was not made, so there is nothing to fetch.',
  video_expired: 'The video was kept until `expires_at`, and is gone.',
  video_not_usable: 'No other video can be made of this one: it is not finished, has failed, or has expired.',
  range_not_satisfiable: 'The range begins after the end of the video.',
  image_unavailable: 'The reference image could not be fetched, or not be checked.',
  generation_failed: 'The model could not make it.',
  output_unavailable: 'The result could not be fetched from the provider.',
  unsupported_output: 'The result does not play.',
  provider_unavailable: 'The provider did not take it.',
  provider_unreachable: 'The provider could not be reached.',
  submission_unknown:
    'Whether the provider took it could not be found out. It was not sent again, so that nobody pays twice.',
  content_policy: 'The provider refused the prompt or the image for what they show.',
  deadline_exceeded: 'It was not taken, or not finished, in time.',
  lost_upstream: 'The provider no longer knows of it.',
  operation_taken: 'This operation belongs to another attempt already.',
  overloaded: 'Too much at once. Try again after `Retry-After`.',
  storage_unavailable: 'Nothing can be stored or read right now. Try again after `Retry-After`.',
  internal: 'Something went wrong on our side.',
}

/** Those that a failed video may have in its `error`; the others answer requests. */
export const failures: readonly ProblemCode[] = [
  ...(['image_unavailable', 'invalid_image', 'generation_failed', 'content_policy', 'deadline_exceeded'] as const),
  ...(['output_unavailable', 'unsupported_output', 'provider_unavailable', 'provider_unreachable'] as const),
  ...(['submission_unknown', 'lost_upstream', 'overloaded', 'internal'] as const),
]
