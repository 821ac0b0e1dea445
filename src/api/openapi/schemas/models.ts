import { listOf, orNull, refer, type Schema, type Schemas, shape } from './schema.ts'

const text = (description: string, example?: string) =>
  ({ type: 'string', description, ...(example !== undefined && { examples: [example] }) }) as const
const count = (description: string, example: number): Schema => ({
  ...{ type: 'integer', minimum: 1, description, examples: [example] },
})

const secondsRule: Schema = {
  ...shape(
    {
      values: listOf({ type: 'string' }, 'All lengths that it takes; or else'),
      min: text('the shortest,', '1'),
      max: text('and the longest.', '20'),
      default: text('What it makes if the request does not say.', '4'),
    },
    { optional: ['values', 'min', 'max'] },
  ),
  description: 'How long its videos can be, in seconds as text: a list of values, or a range.',
}

const sizeRule: Schema = {
  ...shape(
    {
      values: listOf({ type: 'string' }, 'All sizes that it takes; or else'),
      shapes: {
        type: 'object',
        description: 'How its provider calls each of them; a request may ask in these words.',
        additionalProperties: shape({ resolution: text('Such as `720p`.'), aspect_ratio: text('Such as `16:9`.') }),
      },
      min_side: count('the least width and height,', 256),
      max_side: count('the greatest,', 1920),
      multiple_of: count('and what both must be a multiple of.', 2),
      default: text('What it makes if the request does not say.', '1280x720'),
    },
    { optional: ['values', 'shapes', 'min_side', 'max_side', 'multiple_of'] },
  ),
  description: 'How large its videos can be, as `<width>x<height>`: a list of values, or a range of sides.',
}

const price: Schema = {
  ...shape({
    usd: { type: 'number', minimum: 0, description: 'US dollars' },
    per: { type: 'string', enum: ['second', 'video'], description: 'for each of these.' },
    on: text('When that was so.'),
    source: text('Who said it.'),
  }),
  type: ['object', 'null'],
  description: 'What its provider asks for; null where nobody knows.',
}

export const modelSchemas: Schemas = {
  Model: {
    ...shape(
      {
        id: text('Its name, for `model` in a request.', 'studio'),
        object: { const: 'model', type: 'string', description: 'Always `model`.' },
        created: { type: 'integer', description: 'When it came out, in Unix seconds.', examples: [1_790_000_000] },
        owned_by: text('Who makes its videos.', 'studio'),
        alias_of: text('The name of the model that this is another name of.'),
        description: text('What it is.', 'Built-in procedural renderer'),
        seconds: secondsRule,
        size: sizeRule,
        image: {
          type: 'string',
          enum: ['none', 'optional', 'required'],
          examples: ['optional'],
          description: 'Whether it takes a reference image.',
        },
        parameters: {
          type: 'object',
          additionalProperties: refer('ModelParameter'),
          examples: [{ caption: { type: 'boolean', description: 'Whether the prompt is written into the film.' } }],
          description: 'What it takes beyond the fields of every request, by name.',
        },
        makes: listOf(
          { type: 'string', enum: ['remix', 'edit', 'extension'] },
          'What it can make of another video, if anything.',
        ),
        facts: refer('ModelFacts'),
      },
      { optional: ['alias_of', 'facts'] },
    ),
    description: 'A model that videos can be asked of, and what it takes.',
  },
  ModelParameter: {
    ...shape(
      {
        type: { type: 'string', enum: ['integer', 'number', 'boolean', 'string'], description: 'Its type.' },
        description: text('What it does.'),
        minimum: { type: 'number', description: 'The least, of a number.' },
        maximum: { type: 'number', description: 'The greatest, of a number.' },
        maxLength: { type: 'integer', minimum: 0, description: 'The most characters, of a text.' },
        enum: listOf({ type: 'string' }, 'All values, of a text that has only these.'),
        format: { type: 'string', enum: ['https'], description: 'A text that is the URL of something.' },
        needs_image: { const: true, type: 'boolean', description: 'Taken only together with a reference image.' },
      },
      { optional: ['minimum', 'maximum', 'maxLength', 'enum', 'format', 'needs_image'] },
    ),
    description: 'A parameter of a model.',
  },
  ModelFacts: {
    ...shape({
      audio: { type: 'string', enum: ['always', 'optional', 'never'], description: 'Whether its videos have sound.' },
      image_is: {
        type: ['string', 'null'],
        enum: ['first frame', 'reference', null],
        description: 'What the image is to the video; null where it takes none.',
      },
      price,
      failures_billed: { type: 'boolean', description: 'Whether the provider charges for failed videos.' },
      kept_seconds: orNull({
        type: 'number',
        description: 'How long the provider keeps a result. Filmgate keeps its own.',
      }),
      usual_seconds: orNull({ type: 'number', description: 'How long a video usually takes to make.' }),
    }),
    description: 'What is known of a model before anybody pays.',
  },
  ModelList: {
    ...shape({
      object: { const: 'list', type: 'string', description: 'Always `list`.' },
      data: listOf(refer('Model'), 'The models that the token may use, aliases included.'),
    }),
    description: 'All models, on one page.',
  },
}
