import type { OnUnknown, Recovery } from './attempt.ts'
import type { Health } from './health.ts'

/** What an operator may know of an account, and mend: not its key, and not how to use it. */
export interface AccountView {
  readonly name: string
  readonly provider: { readonly name: string; readonly recovery: Recovery }
  readonly concurrency: number
  readonly onUnknown: OnUnknown
  /** Which key it has. */
  readonly keyVersion: string
  health: Health
}

/** What one process found out about an account, for the others. */
export interface AccountHealth {
  account: string
  keyVersion: string
  health: Health
  changedAt: number
}

/** How processes tell each other, and the operator, how accounts are doing. */
export interface Healths {
  /** If that changed since it was last told. */
  tell(account: string): Promise<void>
  /** Takes over what the others found out. */
  learn(): Promise<void>
}

/**
 * Where several processes share a store, an account whose provider is the process itself has that process in its name:
 * what it makes is nowhere else. No name in a configuration has an @.
 */
export function localName(account: string, process: string): string {
  return `${account}@${process}`
}

export function isLocalName(account: string): boolean {
  return account.includes('@')
}
