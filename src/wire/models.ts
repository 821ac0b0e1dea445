import { imageRules } from '../core/catalog.ts'
import { priceUnits } from '../core/prices.ts'
import { sourceKinds } from '../core/task.ts'
import { always, flag, listOf, orNull, type Static, shape, text } from './schema.ts'

const textLike = (description: string, example: string) =>
  ({ type: 'string', description, examples: [example] }) as const
const pixels = (description: string, example: number) =>
  ({ type: 'integer', minimum: 1, description, examples: [example] }) as const
const usual = 'The default, if the request omits the field.'

const ModelParameter = shape(
  'A parameter of a model.',
  {
    type: { type: 'string', enum: ['integer', 'number', 'boolean', 'string'], description: 'Its type.' },
    description: text('What it does.'),
    minimum: { type: 'number', description: 'The smallest number.' },
    maximum: { type: 'number', description: 'The largest number.' },
    maxLength: { type: 'integer', minimum: 0, description: 'The maximum number of characters.' },
    enum: listOf('The accepted values. Absent if any text is accepted.', { type: 'string' }),
    format: { type: 'string', enum: ['https'], description: 'The text is a URL.' },
    needs_image: { const: true, type: 'boolean', description: 'Accepted only together with a reference image.' },
  },
  { optional: ['minimum', 'maximum', 'maxLength', 'enum', 'format', 'needs_image'] },
)

const ModelPrice = shape(
  'A price for requests that meet all of its conditions.',
  {
    unit: { type: 'string', enum: priceUnits, description: 'What it is charged for.' },
    price: textLike('A decimal number, as text.', '0.084'),
    resolution: textLike('Condition: the resolution.', '720p'),
    audio: flag('Condition: with or without sound.'),
    mode: text('Condition: the parameter `mode`.'),
    region: text('Condition: the region of the operator’s contract.'),
    tokens_per_second: { type: 'integer', minimum: 1, description: 'The most output tokens for a second of video.' },
  },
  { optional: ['resolution', 'audio', 'mode', 'region', 'tokens_per_second'] },
)

const priceFields = {
  currency: textLike('The currency, as in ISO 4217.', 'USD'),
  lines: listOf('A request is priced by the line of each unit with the most conditions that it meets.', ModelPrice),
} as const

const ModelFacts = shape('Facts that help to choose a model.', {
  audio: { type: 'string', enum: ['always', 'optional', 'never'], description: 'Whether its videos have sound.' },
  image_is: {
    type: ['string', 'null'],
    enum: ['first frame', 'reference', null],
    description: 'How the model uses the image; null if it accepts no image.',
  },
  price: orNull(
    shape('The provider’s prices. Null if they are unknown, or if the operator has set a price for clients.', {
      ...priceFields,
      on: text('The date of these prices.'),
      source: text('The source of these prices.'),
    }),
  ),
  failures_billed: flag('Whether the provider charges for failed videos.'),
  kept_seconds: orNull({
    type: 'number',
    description: 'How long the provider keeps a result. Filmgate keeps its own copy.',
  }),
  usual_seconds: orNull({ type: 'number', description: 'How long a video usually takes to generate.' }),
})

export const Model = shape(
  'A model that can generate videos, and what it accepts.',
  {
    id: textLike('The name to send as `model` in a request.', 'studio'),
    object: always('model'),
    created: { type: 'integer', description: 'When it was released, in Unix seconds.', examples: [1_790_000_000] },
    owned_by: textLike('The provider that generates its videos.', 'studio'),
    alias_of: text('The model that this name is an alias of.'),
    paused: { const: true, type: 'boolean', description: 'Present if the operator paused it: new videos are refused.' },
    description: textLike('A short description.', 'Built-in procedural renderer'),
    seconds: shape(
      'The lengths of its videos, in seconds as text: a list of values, or a range.',
      {
        values: listOf('All accepted lengths. Absent if the model accepts a range.', { type: 'string' }),
        min: textLike('The shortest length. Absent if `values` is present.', '1'),
        max: textLike('The longest length. Absent if `values` is present.', '20'),
        default: textLike(usual, '4'),
      },
      { optional: ['values', 'min', 'max'] },
    ),
    size: shape(
      'The sizes of its videos, as `<width>x<height>`: a list of values, or a range of sides.',
      {
        values: listOf('All accepted sizes. Absent if the model accepts a range.', { type: 'string' }),
        shapes: {
          type: 'object',
          description: 'The resolution and aspect ratio of each size. A request may send these instead of `size`.',
          additionalProperties: {
            type: 'object',
            required: ['resolution', 'aspect_ratio'],
            properties: { resolution: text('For example `720p`.'), aspect_ratio: text('For example `16:9`.') },
            additionalProperties: false,
          },
        },
        min_side: pixels('The smallest width and height. Absent if `values` is present.', 256),
        max_side: pixels('The largest width and height. Absent if `values` is present.', 1920),
        multiple_of: pixels('Width and height must be multiples of this. Absent if `values` is present.', 2),
        default: textLike(usual, '1280x720'),
      },
      { optional: ['values', 'shapes', 'min_side', 'max_side', 'multiple_of'] },
    ),
    image: {
      type: 'string',
      enum: imageRules,
      examples: ['optional'],
      description: 'Whether it accepts a reference image.',
    },
    parameters: {
      type: 'object',
      additionalProperties: ModelParameter,
      examples: [{ caption: { type: 'boolean', description: 'Whether the video shows the prompt as a caption.' } }],
      description: 'Its own parameters, by name, in addition to the fields of every request.',
    },
    makes: listOf('The ways in which it can derive a new video from another one.', {
      type: 'string',
      enum: sourceKinds,
    }),
    price: orNull(
      shape(
        'What its videos cost this token. Null if they are not charged, or if the price is unknown or depends on the route. `POST /v1/videos/quote` has the price of a request.',
        priceFields,
      ),
    ),
    facts: ModelFacts,
  },
  { optional: ['alias_of', 'paused', 'facts'] },
)
export type Model = Static<typeof Model>

export const ModelList = shape('All models, on one page.', {
  object: always('list'),
  data: listOf('The models that the token may use, aliases included.', Model),
})

/** The keys are the names in the OpenAPI document. */
export const modelResponses = { Model, ModelParameter, ModelFacts, ModelPrice, ModelList }
