import { buildCatalog, type Catalog } from '../core/catalog.ts'
import { type DeclarationKind, declarationId } from '../core/declaration.ts'
import { type AccountConfig, addDeclaredAccounts, type Members } from './accounts.ts'
import { readBySchema } from './file.ts'
import { Mistakes, placeIn } from './mistakes.ts'
import { type GivenAliases, readModels } from './models.ts'
import { type FileSettings, fileSchema } from './schema.ts'

/** Accounts, models and aliases that operators declare while the service runs, in the words of filmgate.yaml. */
export interface DeclaredSettings {
  accounts: Readonly<Record<string, unknown>>
  models: Readonly<Record<string, unknown>>
  aliases: Readonly<Record<string, unknown>>
}

/** The accounts and models of the configuration, and those that were declared. */
export interface Combined {
  accounts: readonly AccountConfig[]
  catalog: Catalog
  /** Mistakes in what was declared. If there are any, the rest is incomplete. */
  mistakes: readonly string[]
  /** Of those, the first of each declaration, by its id. A mistake that several make together is not among them. */
  blamed: ReadonlyMap<string, string>
}

export interface Combining {
  combine(declared: DeclaredSettings): Combined
  /** Whether the configuration has this name, which wins. */
  isConfigured(kind: 'account' | 'model' | 'alias', name: string): boolean
}

interface ConfiguredParts {
  file: FileSettings
  accounts: readonly AccountConfig[]
  members: Members
  given: GivenAliases
}

/** Checks and reads what operators declare by the same schema and the same code as filmgate.yaml. */
export function openCombining({ file, accounts: configured, members, given }: ConfiguredParts): Combining {
  return {
    combine(declared) {
      const mistakes = new Mistakes()
      const read = readBySchema(fileSchema, declared, '', mistakes) as FileSettings
      const accounts = addDeclaredAccounts(read.accounts ?? {}, configured, members, mistakes)
      const merged = {
        ...file,
        models: { ...file.models, ...read.models },
        aliases: { ...file.aliases, ...read.aliases },
      }
      const { cards, aliases, defaultModel } = readModels(merged, accounts, members, given, mistakes)
      const catalog = buildCatalog(cards, aliases, defaultModel)
      return { accounts: accounts.list, catalog, mistakes: mistakes.list, blamed: blame(mistakes, declared) }
    },
    isConfigured(kind, name) {
      if (kind === 'account')
        return Object.hasOwn(file.accounts ?? {}, name) || configured.some((account) => account.name === name)
      if (kind === 'model') return Object.hasOwn(file.models ?? {}, name)
      return Object.hasOwn(file.aliases ?? {}, name) || given.pairs.some(([alias]) => alias === name)
    },
  }
}

const places: readonly (readonly [DeclarationKind, keyof DeclaredSettings])[] = [
  ['account', 'accounts'],
  ['model', 'models'],
  ['alias', 'aliases'],
]

/** A mistake at a place of which two declarations may be meant, as names may have dots, is not blamed on either. */
function blame(mistakes: Mistakes, declared: DeclaredSettings): Map<string, string> {
  const ids = new Map(
    places.flatMap(([kind, place]) =>
      Object.keys(declared[place]).map((name) => [placeIn(place, name), declarationId({ kind, name })] as const),
    ),
  )
  const blamed = new Map<string, string>()
  for (const { where, text } of mistakes.all) {
    const [id, another] = placesAbove(where).flatMap((place) => ids.get(place) ?? [])
    if (id !== undefined && another === undefined && !blamed.has(id)) blamed.set(id, text)
  }
  return blamed
}

/** `models.fast.size` is in `models.fast`. */
function placesAbove(where: string): string[] {
  const ends = [...where.matchAll(/[.[]/g)].map(({ index }) => index)
  return [...ends, where.length].map((end) => where.slice(0, end))
}
