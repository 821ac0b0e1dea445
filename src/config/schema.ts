import type { XStatic } from 'typebox/schema'
import { unknownPolicies } from '../core/attempt.ts'
import { imageRules, modelNameForm } from '../core/catalog.ts'
import { mostQueuedTasks, mostStoredBytes } from '../core/token.ts'
import { verifyModes } from '../core/verification.ts'
import { priceLines, pricesSchema, spendSchema } from './prices.ts'

/*
 * Every key of filmgate.yaml: its type, its limits, its description, and the message for a wrong value ("what is wrong;
 * how to fix it", in `errorMessage`, which editors read). file.ts checks the file by it, the types are derived from it,
 * and `filmgate config schema` prints it. A key that may be null may be left empty in the file.
 */

/** A larger number is a typo: no machine has that many open files. */
export const mostAtOnce = 100_000
export const mostPerMinute = 10_000_000
export const durationPattern = '^[1-9]\\d{0,5}[smhd]$'

const limit = { type: 'integer', minimum: 1, maximum: mostAtOnce } as const
const notLimit = `it is not a whole number from 1 to ${mostAtOnce}` as const

export const longestSeconds = 3_600
const seconds = { type: 'integer', minimum: 1, maximum: longestSeconds } as const
const notSeconds = `it is not a whole number from 1 to ${longestSeconds}` as const

const size = { type: 'string', pattern: '^[1-9]\\d{0,4}x[1-9]\\d{0,4}$' } as const

/** An account's name is also the name of a folder. */
const accountName = {
  type: 'string',
  pattern: '^(?!\\.+$)[\\w.-]{1,100}$',
  errorMessage: 'it is not a valid name; use letters, digits and . _ -',
} as const

export const modelName = {
  type: 'string',
  pattern: modelNameForm.source,
  errorMessage: 'it is not a valid name; use letters, digits and . _ : / @ -, and no part . or .. between slashes',
} as const

const onUnknown = {
  type: 'string',
  enum: unknownPolicies,
  description:
    'What happens to a submit whose outcome is unknown. `hold`: the operator decides within 30 minutes. `fail`: the task fails. `resubmit`: it is submitted again, and you may pay twice. The default is `hold`; for engines without a key on a private address it is `resubmit`.',
} as const

const verify = {
  type: 'string',
  enum: verifyModes,
  description:
    'How results are verified. `full` decodes every frame. `smart` reads every frame, and decodes key frames and sound. The default is `smart` for results that came over TLS with a declared length, and for those of studio; otherwise `full`.',
} as const

const upstreamModel = {
  type: ['string', 'null'],
  minLength: 1,
  errorMessage: 'it is not text; write the name of the model at the provider or in the catalogue, in quotes',
} as const

const duration = {
  type: 'string',
  pattern: durationPattern,
  errorMessage: 'it is not a duration; use a number and a unit: 90s, 30m, 24h, 7d',
} as const

const route = {
  type: 'object',
  description: 'One way to generate the videos of the model.',
  additionalProperties: false,
  required: ['account'],
  properties: {
    account: { type: 'string', description: 'The name of an account or engine.' },
    model: {
      ...upstreamModel,
      description: 'The name of the model in the catalogue, or at the provider. The default is `model` of the model.',
    },
    priority: {
      type: 'integer',
      default: 0,
      description: 'Routes with a lower number are tried first.',
      errorMessage: 'it is not a whole number; lower goes first',
    },
    weight: {
      type: 'number',
      exclusiveMinimum: 0,
      default: 1,
      description: 'The share of tasks among routes of the same priority.',
      errorMessage: 'it is not a number above 0; leave it out for 1',
    },
  },
} as const

const model = {
  type: ['object', 'null'],
  description: 'A change of a model in the catalogue, or a new model on an account.',
  additionalProperties: false,
  properties: {
    account: {
      type: ['string', 'null'],
      description: 'The account or engine that generates the videos. Write `routes` instead for more than one.',
    },
    model: { ...upstreamModel, description: 'The name of the model in the catalogue, or at the provider.' },
    routes: {
      type: ['array', 'null'],
      minItems: 1,
      items: route,
      description: 'The accounts and engines that generate the videos, instead of `account`.',
      errorMessage: 'it is not a list of routes; write for example [{account: main, model: name}]',
    },
    description: {
      type: ['string', 'null'],
      pattern: '^[^\\p{Cs}\\x00-\\x08\\x0b-\\x1f\\x7f]*$',
      description: 'A text for clients, in the list of models.',
      errorMessage: 'it has control characters, or half a surrogate pair; remove them',
    },
    seconds: {
      type: ['object', 'null'],
      description:
        'The lengths that clients may request: `values`, or `min` and `max`. No longer than the provider allows.',
      additionalProperties: false,
      properties: {
        values: {
          type: ['array', 'null'],
          minItems: 1,
          items: seconds,
          description: 'Each allowed length, in whole seconds.',
          errorMessage: 'it is not a list of whole seconds; write for example [4, 8, 12]',
        },
        min: {
          ...seconds,
          description: 'The shortest length, in whole seconds.',
          errorMessage: `${notSeconds}; write for example 1`,
        },
        max: {
          ...seconds,
          description: 'The longest length, in whole seconds.',
          errorMessage: `${notSeconds}; write for example 20`,
        },
        default: {
          ...seconds,
          type: ['integer', 'null'],
          description: 'The length of a video whose request names none.',
          errorMessage: `${notSeconds}; write for example 4`,
        },
      },
    },
    size: {
      type: ['object', 'null'],
      description: 'The sizes that clients may request. No others than the provider allows.',
      additionalProperties: false,
      properties: {
        values: {
          type: ['array', 'null'],
          minItems: 1,
          items: size,
          description: 'Each allowed size, as <width>x<height>.',
          errorMessage: 'it is not a list of sizes; write for example [1280x720, 720x1280]',
        },
        default: {
          ...size,
          type: ['string', 'null'],
          description: 'The size of a video whose request names none.',
          errorMessage: "it is not a size; write for example '1280x720'",
        },
      },
    },
    image: {
      type: ['string', 'null'],
      enum: [...imageRules, null],
      description: 'Whether a request has a reference image.',
    },
    concurrency: {
      ...limit,
      type: ['integer', 'null'],
      description: 'How many of its tasks may run at once, over all accounts. No limit by default.',
      errorMessage: `${notLimit}; leave it out for no limit`,
    },
    price: {
      ...priceLines,
      description:
        'The price for clients, if `prices` does not name the model. It counts where videos have a price: with `prices`, or for a token with a spend cap.',
    },
    paused: {
      type: 'boolean',
      default: false,
      description: '`true` refuses new videos of the model. Those that exist go on.',
    },
    deadlines: {
      type: ['object', 'null'],
      description: 'How long a task may take before it fails.',
      additionalProperties: false,
      properties: {
        start: {
          ...duration,
          description: 'The time until a provider accepts the task. The default is 24h, or `total` if that is less.',
        },
        total: { ...duration, description: 'The time until the task ends. The default is 48h.' },
      },
    },
  },
} as const

const account = {
  type: ['object', 'null'],
  description: 'A provider with one credential.',
  additionalProperties: false,
  properties: {
    provider: {
      type: 'string',
      description: 'The provider that generates the videos. The default is the name of the account.',
    },
    enabled: { type: 'boolean', default: true, description: '`false` removes the account.' },
    concurrency: {
      ...limit,
      description: 'How many tasks may run at once. The default is 4; for studio, the number of cores.',
      errorMessage: `${notLimit}; set how many tasks may run at once`,
    },
    on_unknown: onUnknown,
    verify,
    base_url: {
      type: 'string',
      pattern: '\\S',
      description: "The address of the provider: https://… or http://…. The default is the provider's own.",
      errorMessage: 'it is empty or not text; write it in quotes',
    },
    key: {
      type: 'string',
      pattern: '\\S',
      description: `The credential. Write \${NAME} to read it from a variable. The default is the vendor's variable.`,
      errorMessage: 'it is empty or not text; write it in quotes',
    },
  },
} as const

const engine = {
  type: 'object',
  description: "A server of your own that speaks OpenAI's Videos API, such as vLLM-Omni or SGLang.",
  additionalProperties: false,
  required: ['url'],
  properties: {
    url: {
      type: 'string',
      minLength: 1,
      description: 'The address of the engine. The API is expected below /v1 unless the address has a path.',
      errorMessage: 'it is empty or not text; write the address of the engine: http://127.0.0.1:8000',
    },
    name: { ...accountName, description: 'The name of its account. The default is made of host and port.' },
    key: {
      type: ['string', 'null'],
      description: 'The credential, if the engine needs one.',
      errorMessage: 'it is not text; write it in quotes, or leave it out',
    },
    concurrency: {
      ...limit,
      default: 1,
      description: 'How many tasks may run at once.',
      errorMessage: `${notLimit}; leave it out for 1`,
    },
    on_unknown: onUnknown,
    verify,
  },
} as const

const token = {
  type: 'object',
  description: 'An access token of a client. It sees its own videos only.',
  additionalProperties: false,
  required: ['name', 'secret'],
  properties: {
    name: {
      type: 'string',
      pattern: '^[\\w .@-]{1,100}$',
      description: 'The owner of the videos. They stay if the secret changes.',
      errorMessage: 'it is not a valid name; use up to 100 letters, digits, spaces or . _ @ -',
    },
    secret: {
      type: 'string',
      minLength: 1,
      description: `The text that the client sends. Write \${NAME} to read it from an environment variable.`,
      errorMessage: 'it is empty or not text; write the secret of the client, in quotes',
    },
    models: {
      type: 'array',
      items: { type: 'string' },
      default: ['*'],
      description: 'The models that the token may use. `*` stands for any characters. An alias is named in full.',
      errorMessage: 'it is not a list of names; write for example ["studio", "kling-*"]',
    },
    concurrency: {
      ...limit,
      description: 'How many of its tasks may run at once. No limit by default.',
      errorMessage: `${notLimit}; leave it out for no limit`,
    },
    rate: {
      type: 'integer',
      minimum: 0,
      maximum: mostPerMinute,
      description: 'How many videos it may create in a minute. 0 is no limit. The default is FILMGATE_RATE.',
      errorMessage: `it is not a whole number of videos a minute, up to ${mostPerMinute}; use 0 for no limit, or leave it out for FILMGATE_RATE`,
    },
    queued: {
      type: 'integer',
      minimum: 0,
      maximum: mostQueuedTasks,
      description: 'How many of its tasks may wait at once. 0 is no limit. The default is FILMGATE_QUEUED.',
      errorMessage: `it is not a whole number of tasks, up to ${mostQueuedTasks}; use 0 for no limit, or leave it out for FILMGATE_QUEUED`,
    },
    stored_bytes: {
      type: 'integer',
      minimum: 0,
      maximum: mostStoredBytes,
      description:
        'How many bytes of its videos and uploads may be stored when it creates a video. 0 is no limit. The default is FILMGATE_STORED_BYTES.',
      errorMessage:
        'it is not a whole number of bytes; write for example 50000000000, or leave it out for FILMGATE_STORED_BYTES',
    },
    spend: spendSchema,
    unknown_parameters: {
      type: 'string',
      enum: ['refuse', 'warn'],
      description:
        '`refuse` responds with 400 to a request with an unknown parameter. `warn` ignores the parameter and adds a warning. The default is FILMGATE_UNKNOWN_PARAMETERS.',
    },
  },
} as const

export const fileSchema = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  title: 'filmgate.yaml',
  description: 'The models, accounts and tokens of a Filmgate service.',
  type: 'object',
  additionalProperties: false,
  properties: {
    models: {
      type: ['object', 'null'],
      description: 'Models by name: changes of the catalogue, and new ones.',
      propertyNames: modelName,
      additionalProperties: model,
    },
    aliases: {
      type: ['object', 'null'],
      description: 'Other names of models. Clients see both names and may use both.',
      propertyNames: modelName,
      additionalProperties: {
        type: 'string',
        description: 'The name of a model.',
        errorMessage: 'it is not text; write the name of a model',
      },
    },
    default_model: {
      type: ['string', 'null'],
      description: 'The model or alias for requests that name no model. Without it, requests must name one.',
    },
    accounts: {
      type: ['object', 'null'],
      description: 'The accounts that generate videos, by name.',
      propertyNames: accountName,
      additionalProperties: account,
    },
    engines: {
      type: ['array', 'null'],
      items: engine,
      description: 'Engines of your own. Their models are read from them.',
      errorMessage: 'it is not a list; write for example [{url: http://127.0.0.1:8000}]',
    },
    tokens: {
      type: ['array', 'null'],
      items: token,
      description: 'The access tokens of clients, and the models that each may use.',
      errorMessage: 'it is not a list; write "- name: …" lines below it',
    },
    prices: pricesSchema,
    outbound: {
      type: ['object', 'null'],
      description: 'The addresses to which the service may connect for a client.',
      additionalProperties: false,
      properties: {
        allow: {
          type: ['array', 'null'],
          items: { type: 'string' },
          description:
            'Private addresses, address:port, ranges such as 10.1.0.0/16, and host names that are allowed beside public addresses.',
          errorMessage: 'it is not a list of addresses; write for example ["10.1.0.0/16", "images.example.internal"]',
        },
      },
    },
  },
} as const

/** A value of the file without its mistakes: wrong and empty values are left out. */
type Valid<T> = T extends null
  ? never
  : T extends (infer Item)[]
    ? Valid<Item>[]
    : T extends object
      ? { [Key in keyof T]?: Valid<T[Key]> }
      : T

export type FileSettings = Valid<XStatic<typeof fileSchema>>
export type ModelSettings = Valid<XStatic<typeof model>>
export type RouteSettings = Valid<XStatic<typeof route>>
export type AccountSettings = Valid<XStatic<typeof account>>
export type EngineSettings = Valid<XStatic<typeof engine>>
export type TokenSettings = Valid<XStatic<typeof token>>

const variable = '\\$\\{\\w+\\}'

/** For editors, which see `${NAME}` where the service sees the value of that variable. */
export function schemaForEditors(schema: object = fileSchema): object {
  const parts = Object.entries(schema).map(([key, part]) => {
    const isSchema = typeof part === 'object' && part !== null && !Array.isArray(part) && key !== 'propertyNames'
    return [key, isSchema ? schemaForEditors(part) : part] as const
  })
  const { type, enum: words, pattern, ...rest } = Object.fromEntries(parts)
  if (pattern) return { type, ...rest, pattern: `(?:${pattern})|${variable}` }
  if (words)
    return {
      ...rest,
      anyOf: [
        { type, enum: words },
        { type: 'string', pattern: variable },
      ],
    }
  return Object.fromEntries(parts)
}
