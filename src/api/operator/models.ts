import { isDeepStrictEqual } from 'node:util'
import type { FastifyRequest } from 'fastify'
import type { Catalog, CatalogEntry } from '../../core/catalog.ts'
import type { Declaration } from '../../core/declaration.ts'
import { type PriceSettings, priceOfModel } from '../../core/prices.ts'
import { Problem } from '../../core/problem.ts'
import type { TaskStore } from '../../stores/store.ts'
import {
  ChangeModel,
  OperatorModel,
  OperatorModelList,
  RemovedModel,
  SetAlias,
  SetModel,
} from '../../wire/declared-models.ts'
import { type BodyRequest, bodyFaults, defineRoute, pathParam, type Route } from '../route.ts'
import { toWireList, toWireModel } from '../wire.ts'
import {
  configured,
  type DeclareDependencies,
  listUnused,
  openDeclare,
  readChanges,
  refuseStranded,
  withFields,
} from './declare.ts'

interface DeclaredModelDependencies extends DeclareDependencies {
  store: DeclareDependencies['store'] & Pick<TaskStore, 'queueOf'>
  catalog: Catalog
  prices?: PriceSettings | null
}

const modelPath = { model: 'The name of the model.' }
const theModel = { 200: { description: 'The model.', schema: OperatorModel } }
const removed = { 200: { description: 'It is removed.', schema: RemovedModel } }
const setErrors = ['invalid_request', 'changed_meanwhile', 'storage_unavailable', ...bodyFaults] as const
const removeErrors = ['model_not_found', 'invalid_request', 'changed_meanwhile', 'storage_unavailable'] as const

/** Models, their routes and aliases are declared while the service runs. */
export function declaredModelRoutes(dependencies: DeclaredModelDependencies): Route[] {
  const models = openModels(dependencies)
  return [
    {
      at: 'GET /operator/v1/models',
      id: 'listDeclaredModels',
      summary: 'List models and aliases with their routes',
      description: 'Every name that clients may use, where it comes from, and the accounts that generate its videos.',
      responses: { 200: { description: 'The models.', schema: OperatorModelList } },
      handler: models.list,
    },
    defineRoute({
      at: 'POST /operator/v1/models',
      id: 'setModel',
      summary: 'Declare a model',
      description:
        'Adds a model, or changes one that comes with an account: its routes, and what clients may request. The settings replace those that were declared before. It is in force in every process within a second.',
      body: {
        schema: SetModel,
        as: 'json',
        example: { name: 'fast', settings: { account: 'studio', seconds: { values: [4, 8] } } },
      },
      responses: theModel,
      errors: setErrors,
      handler: models.setModel,
    }),
    defineRoute({
      at: 'POST /operator/v1/models/*',
      id: 'changeModel',
      summary: 'Change what is declared for a model',
      description:
        'Omitted settings stay the same, and null removes one. A model that comes with an account has its own settings again when none is left. The change is in force in every process within a second.',
      path: modelPath,
      body: { schema: ChangeModel, as: 'json', example: { settings: { paused: true, price: null } } },
      responses: theModel,
      errors: ['model_not_found', ...setErrors],
      handler: models.changeModel,
    }),
    {
      at: 'DELETE /operator/v1/models/*',
      id: 'removeModel',
      summary: 'Remove what was declared for a model',
      description:
        'A model that comes with an account has its own settings again. Another one is gone, and is refused while it has queued tasks or aliases.',
      path: modelPath,
      responses: removed,
      errors: removeErrors,
      handler: models.removeModel,
    },
    defineRoute({
      at: 'POST /operator/v1/aliases',
      id: 'setAlias',
      summary: 'Declare an alias',
      description: 'Another name of a model. It is in force in every process within a second.',
      body: { schema: SetAlias, as: 'json', example: { name: 'sora-2', model: 'studio' } },
      responses: theModel,
      errors: setErrors,
      handler: models.setAlias,
    }),
    {
      at: 'DELETE /operator/v1/aliases/*',
      id: 'removeAlias',
      summary: 'Remove an alias',
      description: 'Videos that were created under this name stay.',
      path: { alias: 'The name of the alias.' },
      responses: removed,
      errors: removeErrors,
      handler: models.removeAlias,
    },
  ]
}

type Kind = 'model' | 'alias'
type Settings = Declaration['settings']
/** The next settings; null if what was declared is removed. */
type ToNext = (before: Declaration | undefined) => Settings | null

function openModels(dependencies: DeclaredModelDependencies) {
  const { declared, catalog, prices = null } = dependencies
  const declare = openDeclare(dependencies)

  const describe = (entry: CatalogEntry): OperatorModel => {
    const { name, card } = entry
    const kind = name === card.id ? 'model' : 'alias'
    const stored = declared.find(kind, name)
    const settings = stored?.removedAt === null && declared.whyUnused(stored) === null ? stored.settings : null
    return {
      name,
      object: 'operator.model',
      kind,
      model: card.id,
      source: declared.isConfigured(kind, name) ? 'config' : settings === null ? 'provider' : 'store',
      settings,
      routes: card.routes.map(({ account, upstreamModel, priority, weight }) => ({
        account,
        upstream_model: upstreamModel,
        priority,
        weight,
      })),
      accepts: toWireModel(entry, { price: priceOfModel(prices, card, ''), hidesCost: false }),
    }
  }
  const set = async (request: FastifyRequest, kind: Kind, name: string, toNext: ToNext) => {
    await declare(request, {
      kind,
      name,
      action: `${kind}.set`,
      edit(before, now) {
        if (declared.isConfigured(kind, name)) throw configured(kind, name)
        const settings = toNext(before)
        if (settings === null && before) return { ...before, settings: {}, removedAt: now }
        const isNew = before?.removedAt !== null
        const { createdAt = now, revision = 0 } = before ?? {}
        const times = { createdAt: isNew ? now : createdAt, changedAt: now, removedAt: null, revision }
        return { kind, name, settings: settings ?? {}, key: null, mode: 'active', ...times }
      },
    })
    return shown(kind, name)
  }
  const shown = (kind: Kind, name: string): OperatorModel => {
    const entry = catalog.entries.get(name)
    if (entry) return describe(entry)
    const message = `The ${kind} '${name}' was removed at the same time. Check it, and try again.`
    throw new Problem('changed_meanwhile', message)
  }
  const changeModel = async (request: BodyRequest<ChangeModel>): Promise<OperatorModel> => {
    const name = pathParam(request, '*')
    await readChanges(dependencies)
    const before = declared.find('model', name)
    if (before?.removedAt !== null && catalog.entries.get(name)?.card.id !== name) throw unknownModel(name)
    const merge = (earlier: Declaration | undefined) => withFields(settingsOf(earlier), request.body.settings)
    // A repeated request must not write a second entry.
    const isSame = isDeepStrictEqual(merge(before), settingsOf(before)) && catalog.entries.has(name)
    if (isSame && !declared.isConfigured('model', name)) return shown('model', name)
    return set(request, 'model', name, (earlier) => {
      const settings = merge(earlier)
      // A model that comes with an account is as its provider has it, again. Another one needs settings.
      const exists = earlier && catalog.entries.has(name) && !declared.modelsWithout(earlier).includes(name)
      return exists && Object.keys(settings).length === 0 ? null : settings
    })
  }
  const remove = async (request: FastifyRequest, kind: Kind): Promise<RemovedModel> => {
    const name = pathParam(request, '*')
    const removable = (before: Declaration | undefined): Declaration => {
      if (before?.removedAt === null) return before
      throw declared.isConfigured(kind, name) ? configured(kind, name) : notFound(kind, name)
    }
    await declare(request, {
      kind,
      name,
      action: `${kind}.remove`,
      async edit(before, now) {
        const found = removable(before)
        if (kind === 'model') await refuseStranded(found, dependencies)
        return { ...found, settings: {}, removedAt: now }
      },
    })
    return { name, object: 'operator.model.deleted', deleted: true }
  }

  return {
    async list(): Promise<OperatorModelList> {
      const shown = [...catalog.entries.values()].map(describe)
      return { ...toWireList(shown), unused: listUnused(declared, 'model', 'alias') }
    },
    setModel: (request: BodyRequest<SetModel>) =>
      set(request, 'model', request.body.name, () => request.body.settings as Settings),
    changeModel,
    setAlias: (request: BodyRequest<SetAlias>) =>
      set(request, 'alias', request.body.name, () => ({ model: request.body.model })),
    removeModel: (request: FastifyRequest) => remove(request, 'model'),
    removeAlias: (request: FastifyRequest) => remove(request, 'alias'),
  }
}

/** What is declared now. */
function settingsOf(declaration: Declaration | undefined): Settings {
  return declaration?.removedAt === null ? declaration.settings : {}
}

function unknownModel(name: string): Problem {
  const message = `There is no model '${name.slice(0, 200)}'. GET /operator/v1/models lists all names.`
  return new Problem('model_not_found', message, { param: 'name' })
}

function notFound(kind: Kind, name: string): Problem {
  const message = `Nothing was declared for the ${kind} '${name.slice(0, 200)}'. GET /operator/v1/models lists all names.`
  return new Problem('model_not_found', message, { param: 'name' })
}
