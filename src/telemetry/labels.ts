import type { Catalog } from '../core/catalog.ts'

/** Values of labels. Only what is configured has a name: everything else is `other`, so that the number of series is bounded. */
export interface LabelNames {
  /** The own name of a model. */
  model(card: string): string
  account(name: string | null): string
  /** A test of labels, for now: whether the model and the account in them are still configured. */
  current(): (labels: Readonly<Record<string, string>>) => boolean
}

const other = 'other'
const none = 'none'

/** An account of one process has the name of the process behind an @. */
const withoutProcess = (name: string) => name.split('@', 1)[0] ?? name

export function openLabelNames(catalog: Catalog, accounts: () => ReadonlyMap<string, unknown>): LabelNames {
  // An alias is not a model's own name.
  const isModel = (name: string) => catalog.entries.get(name)?.card.id === name
  return {
    model: (card) => (isModel(card) ? card : other),
    account(name) {
      if (name === null) return none
      return accounts().has(name) ? withoutProcess(name) : other
    },
    current() {
      const known = new Set([other, none, ...[...accounts().keys()].map(withoutProcess)])
      return ({ model = other, account = other }) => (model === other || isModel(model)) && known.has(account)
    },
  }
}
