import { always, flag, listOf, orNull, type Static, shape, text } from './schema.ts'

const textLike = (description: string, example: string) =>
  ({ type: 'string', description, examples: [example] }) as const
const pixels = (description: string, example: number) =>
  ({ type: 'integer', minimum: 1, description, examples: [example] }) as const
const usual = 'The default, if the request does not say.'

const ModelParameter = shape(
  'A parameter of a model.',
  {
    type: { type: 'string', enum: ['integer', 'number', 'boolean', 'string'], description: 'Its type.' },
    description: text('What it does.'),
    minimum: { type: 'number', description: 'The smallest number.' },
    maximum: { type: 'number', description: 'The largest number.' },
    maxLength: { type: 'integer', minimum: 0, description: 'The largest number of characters of a text.' },
    enum: listOf('All values of a text that accepts only these.', { type: 'string' }),
    format: { type: 'string', enum: ['https'], description: 'The text is a URL.' },
    needs_image: { const: true, type: 'boolean', description: 'Accepted only together with a reference image.' },
  },
  { optional: ['minimum', 'maximum', 'maxLength', 'enum', 'format', 'needs_image'] },
)

const ModelFacts = shape('What is known of a model before it is paid for.', {
  audio: { type: 'string', enum: ['always', 'optional', 'never'], description: 'Whether its videos have sound.' },
  image_is: {
    type: ['string', 'null'],
    enum: ['first frame', 'reference', null],
    description: 'What the image is to the video; null if the model accepts no image.',
  },
  price: orNull(
    shape('The price of the provider; null if it is not known.', {
      usd: { type: 'number', minimum: 0, description: 'In US dollars.' },
      per: { type: 'string', enum: ['second', 'video'], description: 'For each second, or for each video.' },
      on: text('The date of this price.'),
      source: text('The source of this price.'),
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
    id: textLike('Its name, for `model` in a request.', 'studio'),
    object: always('model'),
    created: { type: 'integer', description: 'When it was released, in Unix seconds.', examples: [1_790_000_000] },
    owned_by: textLike('The provider that generates its videos.', 'studio'),
    alias_of: text('The model that this is another name of.'),
    description: textLike('What it is.', 'Built-in procedural renderer'),
    seconds: shape(
      'The lengths of its videos, in seconds as text: a list of values, or a range.',
      {
        values: listOf('All lengths that it accepts; or else', { type: 'string' }),
        min: textLike('the shortest,', '1'),
        max: textLike('and the longest.', '20'),
        default: textLike(usual, '4'),
      },
      { optional: ['values', 'min', 'max'] },
    ),
    size: shape(
      'The sizes of its videos, as `<width>x<height>`: a list of values, or a range of sides.',
      {
        values: listOf('All sizes that it accepts; or else', { type: 'string' }),
        shapes: {
          type: 'object',
          description: 'The name of each size at the provider; a request may use these words too.',
          additionalProperties: {
            type: 'object',
            required: ['resolution', 'aspect_ratio'],
            properties: { resolution: text('Such as `720p`.'), aspect_ratio: text('Such as `16:9`.') },
            additionalProperties: false,
          },
        },
        min_side: pixels('the smallest width and height,', 256),
        max_side: pixels('the largest,', 1920),
        multiple_of: pixels('and what both must be a multiple of.', 2),
        default: textLike(usual, '1280x720'),
      },
      { optional: ['values', 'shapes', 'min_side', 'max_side', 'multiple_of'] },
    ),
    image: {
      type: 'string',
      enum: ['none', 'optional', 'required'],
      examples: ['optional'],
      description: 'Whether it accepts a reference image.',
    },
    parameters: {
      type: 'object',
      additionalProperties: ModelParameter,
      examples: [{ caption: { type: 'boolean', description: 'Whether the prompt is written into the film.' } }],
      description: 'What it accepts beyond the fields of every request, by name.',
    },
    makes: listOf('What it can make of another video, if anything.', {
      type: 'string',
      enum: ['remix', 'edit', 'extension'],
    }),
    facts: ModelFacts,
  },
  { optional: ['alias_of', 'facts'] },
)
export type Model = Static<typeof Model>

export const ModelList = shape('All models, on one page.', {
  object: always('list'),
  data: listOf('The models that the token may use, aliases included.', Model),
})

/** By their names in the OpenAPI document. */
export const modelResponses = { Model, ModelParameter, ModelFacts, ModelList }
