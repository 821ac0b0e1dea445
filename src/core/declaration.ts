import type { AccountMode } from './account.ts'
import type { ColumnValue, Row } from './row.ts'

/* What operators declare while the service runs: accounts, models and aliases, as filmgate.yaml would have them. */

export type DeclarationKind = 'account' | 'model' | 'alias'

export interface Declaration {
  readonly kind: DeclarationKind
  readonly name: string
  /** The settings in the words of filmgate.yaml, without the key of an account. An alias has only `model`. */
  readonly settings: Readonly<Record<string, unknown>>
  /** The key of an account. */
  readonly key: string | null
  /** Of an account. */
  readonly mode: AccountMode
  readonly createdAt: number
  readonly changedAt: number
  /** A removed one stays as a row, so that other processes can read the change. It has no key. */
  readonly removedAt: number | null
  /** Each change of any declaration gets the next number. 0 for one that is not stored yet. */
  readonly revision: number
}

export function declarationId({ kind, name }: Pick<Declaration, 'kind' | 'name'>): string {
  return `${kind}:${name}`
}

export const declarationColumns = 'id kind name settings secret mode created_at changed_at removed_at revision'.split(
  ' ',
)

/** In the order of `declarationColumns`, without the revision, which the store gives it. */
export function fromDeclaration(declaration: Declaration): ColumnValue[] {
  const { kind, name, settings, key, mode, createdAt, changedAt, removedAt } = declaration
  const id = declarationId(declaration)
  return [id, kind, name, JSON.stringify(settings), key, mode, createdAt, changedAt, removedAt]
}

export function toDeclaration(row: Row): Declaration {
  return {
    kind: row.kind as DeclarationKind,
    name: row.name as string,
    settings: JSON.parse(String(row.settings)),
    key: row.secret as string | null,
    mode: row.mode as AccountMode,
    createdAt: row.created_at as number,
    changedAt: row.changed_at as number,
    removedAt: row.removed_at as number | null,
    revision: row.revision as number,
  }
}
