import { listOf, orNull, refer, type Schemas, shape } from './schema.ts'

const example = 'video_01a1d2f3c4b5a697887766554433221100ffeeddccbbaa99'
const videoId = { type: 'string', pattern: '^video_[0-9a-f]{48}$', description: 'The id of the video.' } as const
const seconds = (what: string) => ({ type: 'integer', minimum: 0, description: `${what}, in Unix seconds.` }) as const
const absent = 'Absent, or null for clients that send `X-Stainless-Lang`,'

/*
 * A field that does not apply yet is left out, as the specification has it; clients of OpenAI's SDKs get a null
 * instead, as the types of these promise. So such a field is optional, and may be null.
 */
const video = {
  ...shape(
    {
      id: { ...videoId, examples: [example] },
      object: { const: 'video', type: 'string', description: 'Always `video`.' },
      model: {
        type: 'string',
        description: 'The model as it was asked for, perhaps by an alias.',
        examples: ['studio'],
      },
      status: {
        type: 'string',
        enum: ['queued', 'in_progress', 'completed', 'failed'],
        description: 'Where it is. It never goes back.',
      },
      progress: {
        type: 'integer',
        minimum: 0,
        maximum: 100,
        description: '100 when it is completed, and only then.',
      },
      created_at: { ...seconds('When it was asked for'), examples: [1_794_709_428] },
      completed_at: orNull({ ...seconds('When it was finished'), type: 'integer' }),
      expires_at: orNull({ ...seconds('Until when it can be fetched'), type: 'integer' }),
      seconds: {
        type: 'string',
        pattern: '^[1-9][0-9]*$',
        description:
          'Its length in whole seconds, as text: the actual one once it is completed, the requested one before.',
        examples: ['4'],
      },
      size: {
        type: 'string',
        pattern: '^[0-9]+x[0-9]+$',
        description: 'Width and height in pixels: the actual ones once it is completed, the requested ones before.',
        examples: ['1280x720'],
      },
      prompt: { type: 'string', description: 'What was asked for.', examples: ['a red fox in snow at dusk'] },
      remixed_from_video_id: orNull({
        ...videoId,
        description: `The video that this is another version of, by a remix or an edit. ${absent} if none.`,
      }),
      error: {
        oneOf: [refer('VideoError'), { type: 'null' }],
        description: `Why it failed. ${absent} unless it did.`,
      },
      output: {
        oneOf: [refer('VideoOutput'), { type: 'null' }],
        description: `The exact values of a completed video. ${absent} where they are not known.`,
      },
      warnings: orNull({
        ...listOf(
          { type: 'string' },
          `Unknown fields that were left out, and how a completed video differs from the request. ${absent} if none.`,
        ),
        type: 'array',
      }),
      metadata: orNull({
        type: 'object',
        additionalProperties: { type: ['string', 'number', 'boolean'], description: 'As it was sent.' },
        description: `What was sent in \`metadata\` and is not a parameter of the model. ${absent} if nothing was.`,
        examples: [{ project: 'snow' }],
      }),
      eta: orNull({
        type: 'integer',
        minimum: 0,
        description: 'Estimated seconds until it is finished. Only until then.',
      }),
      queue_position: orNull({
        type: 'integer',
        minimum: 1,
        description: 'Its place in the line while it waits; 1 is next.',
      }),
    },
    {
      optional: [
        ...['completed_at', 'expires_at', 'remixed_from_video_id', 'error', 'output', 'warnings'],
        ...['metadata', 'eta', 'queue_position'],
      ],
    },
  ),
  description: 'A video that was asked for, from its first moment to its end.',
}

const again = (name: string) => ({ ...videoId, description: `The id again, as ${name} call it.`, examples: [example] })

export const videoSchemas: Schemas = {
  Video: video,
  VideoGeneration: {
    ...video,
    required: [...(video.required ?? []), 'task_id', 'request_id'],
    properties: { ...video.properties, task_id: again('new-api and Kong'), request_id: again('clients of xAI') },
    description: 'A video, at the paths of other services.',
  },
  VideoOutput: {
    ...shape({
      width: { type: 'integer', minimum: 1, description: 'Pixels across, as a player shows it.', examples: [1280] },
      height: { type: 'integer', minimum: 1, description: 'Pixels down.', examples: [720] },
      duration: { type: 'number', minimum: 0, description: 'Seconds, to the microsecond.', examples: [4] },
      frame_rate: { type: 'number', minimum: 0, description: 'Frames in a second, on average.', examples: [24] },
      codec: { type: 'string', description: 'How the pictures are coded.', examples: ['h264'] },
      bytes: { type: 'integer', minimum: 1, description: 'The size of the file.', examples: [1_450_027] },
    }),
    description: 'What was generated, as it was measured when the video was stored.',
  },
  VideoError: {
    ...shape({
      code: { type: 'string', description: 'One of the codes of a failed video, for programs.' },
      message: { type: 'string', description: 'What happened, for people.' },
    }),
    description: 'Why a video was not made.',
  },
  VideoList: {
    ...shape({
      object: { const: 'list', type: 'string', description: 'Always `list`.' },
      data: listOf(refer('Video'), 'The videos of this page.'),
      first_id: orNull({
        ...videoId,
        description: 'The first of them; null where there is none.',
        examples: [example],
      }),
      last_id: orNull({
        ...videoId,
        description: 'The last of them, for `after`; null where there is none.',
        examples: [example],
      }),
      has_more: { type: 'boolean', description: 'Whether there is another page.', examples: [false] },
    }),
    description: 'One page of videos.',
  },
  DeletedVideo: {
    ...shape({
      id: { ...videoId, examples: [example] },
      object: { const: 'video.deleted', type: 'string', description: 'Always `video.deleted`.' },
      deleted: { const: true, type: 'boolean', description: 'Always true.' },
    }),
    description: 'A video that is gone.',
  },
  Error: {
    ...shape({
      error: {
        ...shape({
          message: { type: 'string', description: 'What is wrong and how to mend it, for people.' },
          type: {
            type: 'string',
            enum: ['invalid_request_error', 'requests', 'server_error'],
            description: 'Whose fault it is: `server_error` is ours, `requests` is too many of them.',
          },
          param: orNull({ type: 'string', description: 'The field at fault, if there is one.' }),
          code: orNull({ type: 'string', description: 'What is wrong, for programs.' }),
        }),
        description: 'What is wrong.',
      },
    }),
    description: 'How every error is answered.',
  },
}
