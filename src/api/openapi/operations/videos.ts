import { refer } from '../schemas/schema.ts'
import type { Answer, Operations } from './operation.ts'

export const videoPath = { video_id: 'The `id` that the submit was answered with.' }
export const sdkHeader = {
  'X-Stainless-Lang':
    'Sent by OpenAI’s SDKs. With it, fields that do not apply yet are null; without it they are absent.',
}
export const submitHeaders = {
  'Idempotency-Key': 'Any text of yours: the same request with the same key again makes no second video.',
  ...sdkHeader,
}

export const ignored = {
  'x-filmgate-ignored': 'The unknown fields that were left out, where the operator lets this token send any.',
}

const prompt = 'a red fox in snow at dusk'
const described = {
  ETag: 'The SHA-256 of the whole film, or picture, in quotes.',
  'Last-Modified': 'When it was finished.',
  'Content-Disposition': 'A name to save it under.',
}
const film = {
  type: ['video/mp4', 'image/webp', 'image/jpeg'],
  schema: { type: 'string', format: 'binary', description: 'Its bytes.' },
} as const
const video: Answer = { description: 'The video.', schema: refer('Video') }

export const videoOperations: Operations = {
  'POST /v1/videos': {
    ...{ id: 'createVideo', tag: 'Videos', summary: 'Ask for a video', access: 'client' },
    description:
      'The answer comes when the video is safely stored as `queued`; then poll it. ' +
      'What is left out is as the model has it. A JSON null and an empty text are absent fields; an unknown field is an error.\n\n' +
      'OpenAI’s SDKs repeat a submit whose answer was lost. Such a repeat makes no second video: it gets the answer ' +
      'that was lost.',
    headers: submitHeaders,
    body: {
      name: 'CreateVideo',
      as: 'json or form',
      files: ['image', 'input_reference'],
      others:
        'Parameters of the model, as `GET /v1/models` lists them. Other names of these fields are understood too.',
      fields: {
        model: { description: 'A name from `GET /v1/models`. Required, unless the operator set a default.' },
        prompt: { description: 'What the video shows.' },
        seconds: { description: 'How long it is.', examples: ['4'] },
        size: { description: '`<width>x<height>` in pixels.', examples: ['1280x720'] },
        resolution: { type: 'string', description: 'In place of `size`: `720p`.' },
        aspect_ratio: {
          type: 'string',
          description: 'In place of `size`: `9:16`.',
        },
        image: {
          type: 'string',
          description: 'A reference image: an http(s) URL, base64, a data URL, or in a form a file. Up to 20 MiB.',
        },
        input_reference: {
          oneOf: [
            { type: 'string' },
            {
              type: 'object',
              required: ['image_url'],
              properties: { image_url: { type: 'string', description: 'An http(s) URL, base64 or a data URL.' } },
              additionalProperties: false,
            },
          ],
          description: 'The same as `image`, as OpenAI’s SDKs send it.',
        },
        start_within: { description: 'Whole seconds after which it fails if no provider has taken it.' },
        finish_within: { description: 'Whole seconds after which it fails if it is not finished.' },
        metadata: {
          type: ['object', 'string'],
          description:
            'Parameters of the model, where a client has no other place for them; in a form its JSON. Up to 16 other ' +
            'keys of 64 characters, with values of 512, are kept with the video and returned.',
        },
      },
      example: { model: 'studio', prompt, seconds: '4', size: '1280x720' },
    },
    answers: { 200: { description: 'The video, as it was stored.', schema: refer('Video'), headers: ignored } },
    errors: [
      ...(['missing_required_parameter', 'unknown_parameter', 'invalid_type', 'invalid_value'] as const),
      ...(['invalid_image', 'invalid_image_url', 'invalid_multipart', 'model_not_found'] as const),
      ...(['idempotency_key_reused', 'rate_limit_exceeded'] as const),
      ...(['overloaded', 'storage_unavailable'] as const),
    ],
  },
  'GET /v1/videos': {
    ...{ id: 'listVideos', tag: 'Videos', summary: 'List your videos', access: 'client' },
    description: 'Those of this token, the newest first. The next page is asked for with `after` = `last_id`.',
    headers: sdkHeader,
    query: {
      after: { description: 'The id after which the page begins.' },
      limit: { type: 'integer', minimum: 0, maximum: 100, default: 20, description: 'How many at most.' },
      order: { type: 'string', default: 'desc', description: 'By when they were asked for.' },
      status: { type: 'string', description: 'Only those that are there.' },
      model: { description: 'Only those of this model, by the name that was asked for.' },
    },
    answers: { 200: { description: 'One page.', schema: refer('VideoList') } },
    errors: ['invalid_value', 'storage_unavailable'],
  },
  'GET /v1/videos/:id': {
    ...{ id: 'retrieveVideo', tag: 'Videos', summary: 'Poll a video', access: 'client' },
    description:
      'Ask until `status` is `completed` or `failed`; every 5 to 10 seconds will do. With `wait` the answer comes ' +
      'when the status changes (from `queued` to `in_progress`, for example) or, with `until=done`, when the video is ' +
      'finished; or when the time is up.',
    query: {
      wait: { type: 'integer', minimum: 0, maximum: 60, default: 0, description: 'For how many seconds to wait.' },
      until: {
        ...{ type: 'string', enum: ['change', 'done'], default: 'change' },
        description: 'What a wait is for: the next status, or the end.',
      },
    },
    headers: { Prefer: '`wait=30` does the same as the query.', ...sdkHeader },
    path: videoPath,
    answers: {
      200: { ...video, headers: { 'openai-poll-after-ms': 'Until it is finished: when to ask again.' } },
    },
    errors: ['invalid_value', 'video_not_found', 'overloaded', 'storage_unavailable'],
  },
  'DELETE /v1/videos/:id': {
    ...{ id: 'deleteVideo', tag: 'Videos', summary: 'Delete a video', access: 'client' },
    description: 'It is gone at once, in whatever state it is. Work under way is stopped, and its bytes are removed.',
    path: videoPath,
    answers: { 200: { description: 'It is gone.', schema: refer('DeletedVideo') } },
    errors: ['video_not_found', 'storage_unavailable'],
  },
  'GET /v1/videos/:id/content': {
    ...{ id: 'downloadVideo', tag: 'Videos', summary: 'Fetch the film', access: 'client' },
    description:
      'An MP4, from `completed` until `expires_at`. Ranges and conditions work as RFC 9110 has them, and so does ' +
      '`HEAD`. Where the operator lets the bucket deliver, it is a redirect: follow it, and send no token there.',
    path: videoPath,
    query: {
      variant: {
        type: 'string',
        default: 'video',
        description: 'The film itself, one picture of it (WebP), or many on one sheet (JPEG).',
      },
    },
    headers: { Range: 'A part of it: `bytes=0-1023`.', 'If-None-Match': 'An ETag: nothing is sent if it is the same.' },
    answers: {
      200: { description: 'The film, or a picture of it.', ...film, headers: described },
      206: {
        ...{ description: 'The part that was asked for.', ...film },
        headers: { ...described, 'Content-Range': 'Which part it is.' },
      },
      302: { description: 'Where the film is.', headers: { Location: 'A link that works for some minutes.' } },
      304: { description: 'It is the one that you have.', headers: { ETag: described.ETag } },
    },
    errors: [
      ...(['invalid_value', 'video_not_found', 'video_not_ready', 'video_failed', 'video_expired'] as const),
      ...(['range_not_satisfiable', 'overloaded', 'storage_unavailable'] as const),
    ],
  },
}
