import { refer, type Schema } from '../schemas/schema.ts'
import type { Operation, Operations } from './operation.ts'
import { ignored, submitHeaders, videoPath } from './videos.ts'

const deadlines: Readonly<Record<string, Schema>> = {
  start_within: { description: 'Whole seconds after which it fails if no provider has taken it.' },
  finish_within: { description: 'Whole seconds after which it fails if it is not finished.' },
}

const video: Schema = {
  type: 'object',
  required: ['id'],
  properties: { id: { type: 'string', description: 'The id of a completed video of this token.' } },
  additionalProperties: false,
  description: 'What it is made of: a video of this token, or in a form an MP4 file of up to 50 MiB.',
}

const model: Schema = { description: 'Only with a file: who makes it. A video of ours stays with its own model.' }
const others = 'Parameters of the model, as `GET /v1/models` lists them, also within `metadata`.'
const example = { id: 'video_01a1d2f3c4b5a697887766554433221100ffeeddccbbaa99' }

const common = {
  ...{ tag: 'Videos', access: 'client', headers: submitHeaders },
  answers: { 200: { description: 'The new video, as it was stored.', schema: refer('Video'), headers: ignored } },
  errors: [
    ...(['missing_required_parameter', 'unknown_parameter', 'invalid_type', 'invalid_value'] as const),
    ...(['invalid_multipart', 'invalid_request', 'video_not_usable', 'video_not_found', 'model_not_found'] as const),
    ...(['idempotency_key_reused', 'rate_limit_exceeded'] as const),
    ...(['overloaded', 'storage_unavailable'] as const),
  ],
} as const satisfies Partial<Operation>

/** Videos that are made of others. Which models can is `makes` in `GET /v1/models`. */
export const derivedOperations: Operations = {
  'POST /v1/videos/:id/remix': {
    ...{ ...common, id: 'remixVideo', summary: 'Remix a video', path: videoPath },
    description: 'A new video of the same model, length and size, made of a completed one and another prompt.',
    body: {
      ...{ name: 'RemixVideo', as: 'json or form', others },
      fields: {
        prompt: { description: 'What is to be different.' },
        model: { description: 'Nobody but the model that made the video: it may be left out.' },
        ...deadlines,
      },
      example: { prompt: 'the same, but in summer' },
    },
  },
  'POST /v1/videos/edits': {
    ...{ ...common, id: 'editVideo', summary: 'Edit a video' },
    description: 'Like a remix, of a video of this token or of an uploaded one.',
    body: {
      ...{ name: 'EditVideo', as: 'json or form', files: ['video'], others },
      fields: { prompt: { description: 'What is to be different.' }, video, model, ...deadlines },
      example: { prompt: 'the same, but in summer', video: example },
    },
    errors: [...common.errors, 'invalid_video'],
  },
  'POST /v1/videos/extensions': {
    ...{ ...common, id: 'extendVideo', summary: 'Extend a video' },
    description:
      'A new video that begins with the given one and goes on for as long as you ask, up to 120 seconds in all.',
    body: {
      ...{ name: 'ExtendVideo', as: 'json or form', files: ['video'], others },
      fields: {
        prompt: { description: 'How it goes on.' },
        seconds: { description: 'For how long it goes on; what the model takes.' },
        ...{ video, model, ...deadlines },
      },
      example: { prompt: 'the fox runs away', seconds: '4', video: example },
    },
    errors: [...common.errors, 'invalid_video'],
  },
}
