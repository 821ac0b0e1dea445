import { Model } from './models.ts'
import { always, deleted, listOf, orNull, request, type Static, shape, text } from './schema.ts'

/* Models and aliases as operators see and declare them. */

const OperatorRoute = shape('An account that generates videos of the model.', {
  account: text('The name of the account.'),
  upstream_model: text('The name of the model at the provider.'),
  priority: { type: 'integer', description: 'Routes with a lower number are tried first.' },
  weight: { type: 'number', description: 'The share of tasks among routes of the same priority.' },
})

export const OperatorModel = shape('A name that clients may use: a model, or an alias of one.', {
  name: text('The name.'),
  object: always('operator.model'),
  kind: { type: 'string', enum: ['model', 'alias'], description: 'An alias is another name of a model.' },
  model: text('The name of the model itself.'),
  source: {
    type: 'string',
    enum: ['config', 'store', 'provider'],
    description:
      '`config`: it is set in filmgate.yaml or by a variable, and can’t be changed here. `store`: an operator declared it. `provider`: it comes with an account, and can be changed here.',
  },
  settings: orNull({
    type: 'object',
    description: 'What an operator declared, in the words of filmgate.yaml; null if nothing was declared.',
  }),
  routes: listOf('The accounts that generate its videos.', OperatorRoute),
  accepts: Model,
})
export type OperatorModel = Static<typeof OperatorModel>

export const OperatorModelList = shape('All models and aliases, on one page.', {
  object: always('list'),
  data: listOf('The names that are in force.', OperatorModel),
  unused: listOf('Models and aliases that were declared and are not in force, each with the reason.', {
    type: 'string',
  }),
})
export type OperatorModelList = Static<typeof OperatorModelList>

export const RemovedModel = shape('What was declared is removed.', {
  name: text('The name.'),
  object: always('operator.model.deleted'),
  deleted,
})
export type RemovedModel = Static<typeof RemovedModel>

const name = { type: 'string', minLength: 1, maxLength: 200, description: 'The name that clients use.' } as const

const settings =
  'as in `models` of filmgate.yaml: `account` and `model`, or `routes`; `seconds`, `size`, `image`, `concurrency`, `deadlines`, `paused`, `price`, `description`.'

export const SetModel = request(
  {
    name,
    settings: {
      type: 'object',
      description: `The settings of the model, ${settings} They replace those that were declared before.`,
    },
  },
  { required: ['name', 'settings'] },
)
export type SetModel = Static<typeof SetModel>

export const ChangeModel = request(
  {
    settings: {
      type: 'object',
      description: `The settings that change, ${settings} Those that are omitted stay the same, and null removes one.`,
    },
  },
  { required: ['settings'] },
)
export type ChangeModel = Static<typeof ChangeModel>

export const SetAlias = request(
  { name, model: { type: 'string', minLength: 1, maxLength: 200, description: 'The name of a model.' } },
  { required: ['name', 'model'] },
)
export type SetAlias = Static<typeof SetAlias>

/** The keys are the names in the OpenAPI document. */
export const declaredModelResponses = { OperatorModel, OperatorRoute, OperatorModelList, RemovedModel }
export const declaredModelRequests = { SetModel, ChangeModel, SetAlias }
