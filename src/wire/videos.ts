import { maxImageBytes } from '../core/image.ts'
import { type CommonField, metadataLimits } from '../core/parameters.ts'
import { maxVideoMiB } from '../core/source.ts'
import { maxPromptLength, statusDetails, statuses, taskIdForm } from '../core/task.ts'
import {
  always,
  deleted,
  flag,
  listOf,
  orNull,
  query,
  request,
  type Schema,
  type Static,
  shape,
  shapeOrNull,
  text,
  unixTime,
} from './schema.ts'
import { SpentInPeriod } from './spend.ts'

const example = 'video_01a1d2f3c4b5a697887766554433221100ffeeddccbbaa99'
const idOf = (description: string) => ({ type: 'string', pattern: taskIdForm.source, description }) as const
const id = { ...idOf('The id of the video.'), examples: [example] } as const
const absent = 'Absent, or null for clients that send `X-Stainless-Lang`,'

const prompt = (description: string) =>
  ({ type: 'string', minLength: 1, maxLength: maxPromptLength, description }) as const

/* Responses. */

export const VideoOutput = shape('The properties of the generated video, measured when it was stored.', {
  width: { type: 'integer', minimum: 1, description: 'Width in pixels, as a player shows it.', examples: [1280] },
  height: { type: 'integer', minimum: 1, description: 'Height in pixels.', examples: [720] },
  duration: { type: 'number', minimum: 0, description: 'Length in seconds, to the microsecond.', examples: [4] },
  frame_rate: { type: 'number', minimum: 0, description: 'Frames per second, on average.', examples: [24] },
  codec: { type: 'string', description: 'The video codec.', examples: ['h264'] },
  bytes: { type: 'integer', minimum: 1, description: 'The size of the file.', examples: [2_694_584] },
})
export type VideoOutput = Static<typeof VideoOutput>

export const VideoError = shape('Why a video failed.', {
  code: text('One of the codes of a failed video, for programs.'),
  message: text('What happened, for people.'),
})

const VideoUsage = shape('What a video cost.', {
  cost: { type: 'number', minimum: 0, description: 'The amount that was charged.', examples: [0.42] },
  currency: { type: 'string', description: 'The currency, as in ISO 4217.', examples: ['USD'] },
})

/*
 * A field that does not apply yet is absent, as the specification says. OpenAI's SDKs get null instead, because their
 * types promise null. So such a field is optional and may be null.
 */
export const Video = shape(
  'A video and its status.',
  {
    id,
    object: always('video'),
    model: { type: 'string', description: 'The model that was requested. It may be an alias.', examples: ['studio'] },
    status: {
      type: 'string',
      enum: statuses,
      description: 'The current status. It never goes back.',
    },
    status_detail: {
      type: ['string', 'null'],
      enum: [...statusDetails, null],
      description:
        'Why the video is not finished yet. `fetching_image`: the reference image is being downloaded. ' +
        '`waiting_for_slot`: the video waits for a free slot. `model_unavailable`: the model accepts no videos now, and ' +
        'this one starts when it does. `submitting`: the video is being sent to the model. `generating`: the model ' +
        `generates it. \`storing\`: it is being downloaded and checked. ${absent} once the video is finished.`,
    },
    progress: {
      type: 'integer',
      minimum: 0,
      maximum: 100,
      description: 'In percent. 100 if the video is completed, and only then.',
    },
    created_at: { ...unixTime('When the video was created'), examples: [1_794_709_428] },
    completed_at: orNull(unixTime('When the video was completed')),
    expires_at: orNull(unixTime('When the video expires and can no longer be downloaded')),
    seconds: {
      type: 'string',
      pattern: '^[1-9][0-9]*$',
      description:
        'Length in whole seconds, as text: the actual length once it is completed, the requested one before.',
      examples: ['4'],
    },
    size: {
      type: 'string',
      pattern: '^[0-9]+x[0-9]+$',
      description: 'Width and height in pixels: the actual ones once it is completed, the requested ones before.',
      examples: ['1280x720'],
    },
    prompt: { type: 'string', description: 'The prompt of the request.', examples: ['a red fox in snow at dusk'] },
    remixed_from_video_id: orNull(
      idOf(`The video that this one is a remix or an edit of. ${absent} if it is neither.`),
    ),
    error: shapeOrNull(`Why the video failed. ${absent} unless it failed.`, VideoError),
    output: shapeOrNull(`The exact values of a completed video. ${absent} if they are unknown.`, VideoOutput),
    warnings: orNull(
      listOf(
        `Unknown fields that were ignored, and how a completed video differs from the request. ${absent} if there is no warning.`,
        { type: 'string' },
      ),
    ),
    metadata: orNull({
      type: 'object',
      additionalProperties: { type: ['string', 'number', 'boolean'], description: 'As it was sent.' },
      description: `What was sent in \`metadata\` and is not a parameter of the model. ${absent} if there is no metadata.`,
    }),
    eta: orNull({
      type: 'integer',
      minimum: 0,
      description: 'Estimated seconds until the video is finished. Absent once it is finished.',
    }),
    usage: shapeOrNull(
      `What a finished video cost: 0 if it failed. ${absent} if the video is not finished, or the service has no prices.`,
      VideoUsage,
    ),
    queue_position: orNull({
      type: 'integer',
      minimum: 1,
      description: 'Position in the queue while the video is queued; 1 is next.',
    }),
  },
  {
    optional: [
      'status_detail',
      'completed_at',
      'expires_at',
      'remixed_from_video_id',
      'error',
      'output',
      'warnings',
      'metadata',
      'eta',
      'usage',
      'queue_position',
    ],
  },
)
export type Video = Static<typeof Video>

const quoted = {
  model: { type: 'string', description: 'The model. It may be an alias.', examples: ['studio'] },
  seconds: { ...Video.properties.seconds, description: 'The length that would be requested, as text.' },
  size: { ...Video.properties.size, description: 'The size that would be requested.' },
  prompt: Video.properties.prompt,
  parameters: {
    type: 'object',
    additionalProperties: { type: ['string', 'number', 'boolean'], description: 'The value of a parameter.' },
    description: 'The parameters of the model that would be requested.',
  },
  price: shapeOrNull('The most that the video costs; null if it is free.', VideoUsage),
  eta: orNull({
    type: 'integer',
    minimum: 0,
    description: 'Estimated seconds until the video would be finished; null if that is unknown.',
  }),
  queue_position: orNull({
    type: 'integer',
    minimum: 1,
    description: 'Position in the queue if it were submitted now; 1 is next. Null if that is unknown.',
  }),
} as const

export const VideoQuote = shape('What a request would create, and its price.', {
  object: always('video.quote'),
  ...quoted,
  spend: orNull(
    listOf(
      'What the project of the token has spent in the current period of each spend cap; null while the database is unavailable. The video is refused if its price does not fit.',
      SpentInPeriod,
    ),
  ),
})
export type VideoQuote = Static<typeof VideoQuote>

/** The same for an operator, with what clients do not see. */
export const OperatorQuote = shape(
  'What a request would create, its price, its cost, and the accounts that it would be sent to.',
  {
    object: always('operator.quote'),
    ...quoted,
    cost: shapeOrNull('The most that the provider charges; null if that is unknown, or the video is free.', VideoUsage),
    unpriced: orNull(
      text('Why the price can’t be computed: clients are refused with `price_unknown`. Null if it can be.'),
    ),
    routes: listOf(
      'The accounts in the order in which they would be tried now.',
      shape('An account that can generate the video.', {
        account: text('The name of the account.'),
        upstream_model: text('The name of the model at the provider.'),
        paused: flag('Whether the account is paused now.'),
      }),
    ),
  },
)
export type OperatorQuote = Static<typeof OperatorQuote>

const sameId = (clients: string) => ({ ...id, description: `The same as \`id\`, for ${clients}.` }) as const

export const VideoGeneration: Schema = {
  ...Video,
  required: [...Video.required, 'task_id', 'request_id'],
  properties: { ...Video.properties, task_id: sameId('new-api and Kong'), request_id: sameId('clients of xAI') },
  description: 'A video, as returned at the paths of other services.',
}

export const VideoList = shape('One page of videos.', {
  object: always('list'),
  data: listOf('The videos of this page.', Video),
  first_id: orNull({ ...id, description: 'The id of the first video; null on an empty page.' }),
  last_id: orNull({ ...id, description: 'The id of the last video, for `after`; null on an empty page.' }),
  has_more: { type: 'boolean', description: 'Whether there is another page.', examples: [false] },
})

export const DeletedVideo = shape('A deleted video.', {
  id,
  object: always('video.deleted'),
  deleted,
})
export type DeletedVideo = Static<typeof DeletedVideo>

/* Events. */

export const EventsReset = shape('The events after your `Last-Event-ID` are no longer stored.', {
  object: always('events.reset'),
  message: text('What to do, for people.'),
})
export type EventsReset = Static<typeof EventsReset>

export const VideoEvent = {
  oneOf: [Video, DeletedVideo, EventsReset],
  description: 'The `data` of an event: the current video.',
} as const

/* Requests. */

const deadlines = {
  start_within: {
    type: ['string', 'integer'],
    description: 'Whole seconds. The video fails if no provider accepts it within this time.',
  },
  finish_within: {
    type: ['string', 'integer'],
    description: 'Whole seconds. The video fails if it is not finished within this time.',
  },
} as const

const { keys, keyLength, valueLength } = metadataLimits
const metadata = {
  type: ['object', 'string'],
  description:
    `Parameters of the model, for clients that can’t send them as fields; in a form as JSON. Up to ${keys} other ` +
    `keys of up to ${keyLength} characters, with values of up to ${valueLength}, are stored with the video and returned.`,
} as const

const others = 'Parameters of the model, as `GET /v1/models` lists them, also within `metadata`.'

const createFields = {
  model: {
    type: 'string',
    description: 'A name from `GET /v1/models`. Required, unless the operator set a default.',
  },
  prompt: prompt('What the video shows.'),
  seconds: { type: ['string', 'integer'], description: 'The length of the video in seconds.', examples: ['4'] },
  size: { type: 'string', description: '`<width>x<height>` in pixels.', examples: ['1280x720'] },
  image: text(
    `A reference image: an http(s) URL, base64, a data URL, or in a form a file. Up to ${maxImageBytes / 2 ** 20} MiB.`,
  ),
  ...deadlines,
  resolution: text('In place of `size`: `720p`.'),
  aspect_ratio: text('In place of `size`: `9:16`.'),
  input_reference: {
    oneOf: [
      { type: 'string' },
      request({ image_url: text('An http(s) URL, base64 or a data URL.') }, { required: ['image_url'] }),
    ],
    description: 'The same as `image`, as OpenAI’s SDKs send it.',
  },
  metadata,
} as const satisfies Record<CommonField, Schema>

export const CreateVideo = request(createFields, {
  required: ['prompt'],
  others: 'Parameters of the model, as `GET /v1/models` lists them. Some other names of these fields are accepted too.',
})
export type CreateVideo = Static<typeof CreateVideo>

export const RemixVideo = request(
  {
    prompt: prompt('What is different in the new video.'),
    model: text('Optional. Only the model of the original video can remix it.'),
    metadata,
    ...deadlines,
  },
  { required: ['prompt'], others },
)

const source = {
  video: shape(`The original: a video of this token, or in a form an MP4 file of up to ${maxVideoMiB} MiB.`, {
    id: text('The id of a completed video of this token.'),
  }),
  model: text('Only with a file: the model that generates the video. A stored video uses its own model.'),
  metadata,
  ...deadlines,
}

export const EditVideo = request(
  { prompt: prompt('What is different in the new video.'), ...source },
  { required: ['prompt', 'video'], others },
)

export const ExtendVideo = request(
  {
    prompt: prompt('How the video continues.'),
    seconds: {
      type: ['string', 'integer'],
      description: 'The length of the continuation in seconds, as the model accepts it.',
    },
    ...source,
  },
  { required: ['prompt', 'seconds', 'video'], others },
)
export type ExtendVideo = Static<typeof ExtendVideo>

export const CreateVideoQuery = query({
  dry_run: {
    type: 'string',
    enum: ['true', 'false'],
    default: 'false',
    description: '`true`: nothing is created, and the response is that of `POST /v1/videos/quote`.',
  },
})

export const OperatorQuoteQuery = request({
  project: text('The project that would pay. The default is prices without a project.'),
})

export const ListVideosQuery = query({
  after: { type: 'string', maxLength: 200, description: 'The page begins after the video with this id.' },
  limit: { type: 'integer', minimum: 0, maximum: 100, default: 20, description: 'The size of the page.' },
  order: { type: 'string', enum: ['asc', 'desc'], default: 'desc', description: 'The order, by time of creation.' },
  status: { ...Video.properties.status, description: 'Only videos with this status.' },
  model: {
    type: 'string',
    maxLength: 200,
    description: 'Only videos of this model, by the name that was requested.',
  },
})
export type ListVideosQuery = Static<typeof ListVideosQuery>

export const RetrieveVideoQuery = query({
  wait: { type: 'integer', minimum: 0, maximum: 60, default: 0, description: 'Seconds to wait for a change.' },
  until: {
    type: 'string',
    enum: ['change', 'done'],
    default: 'change',
    description: 'What to wait for: the next status, or the end.',
  },
})

export const DownloadVideoQuery = query({
  variant: {
    type: 'string',
    enum: ['video', 'thumbnail', 'spritesheet'],
    default: 'video',
    description: 'The video itself, one picture of it (WebP), or many pictures on one sheet (JPEG).',
  },
})
export type Variant = NonNullable<Static<typeof DownloadVideoQuery>['variant']>

/** The content type of each variant, and the extension of its file name. */
export const variants = {
  video: { type: 'video/mp4', ending: 'mp4' },
  thumbnail: { type: 'image/webp', ending: 'webp' },
  spritesheet: { type: 'image/jpeg', ending: 'jpg' },
} as const satisfies Record<Variant, object>
export type VariantKind = (typeof variants)[Variant]

export const StreamVideosQuery = query({
  last_event_id: text('The same as the header, for clients that can’t send headers.'),
})

/** The keys are the names in the OpenAPI document. */
export const videoResponses = {
  Video,
  VideoGeneration,
  VideoOutput,
  VideoError,
  VideoUsage,
  VideoQuote,
  OperatorQuote,
  VideoList,
  DeletedVideo,
  VideoEvent,
  EventsReset,
}
export const videoRequests = { CreateVideo, RemixVideo, EditVideo, ExtendVideo }
