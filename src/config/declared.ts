import { buildCatalog, type Catalog } from '../core/catalog.ts'
import { type AccountConfig, addDeclaredAccounts, type Members } from './accounts.ts'
import { readBySchema } from './file.ts'
import { Mistakes } from './mistakes.ts'
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
      return { accounts: accounts.list, catalog, mistakes: mistakes.list }
    },
    isConfigured(kind, name) {
      if (kind === 'account')
        return Object.hasOwn(file.accounts ?? {}, name) || configured.some((account) => account.name === name)
      if (kind === 'model') return Object.hasOwn(file.models ?? {}, name)
      return Object.hasOwn(file.aliases ?? {}, name) || given.pairs.some(([alias]) => alias === name)
    },
  }
}
