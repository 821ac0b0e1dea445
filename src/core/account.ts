import type { OnUnknown, OperationForm, Recovery } from './attempt.ts'
import type { Health } from './health.ts'
import { digestSecret } from './token.ts'

/** What an operator may know of an account, and mend: not its key, and not how to use it. */
export interface AccountView {
  readonly name: string
  readonly provider: { readonly name: string; readonly recovery: Recovery; readonly operations?: OperationForm }
  readonly concurrency: number
  readonly onUnknown: OnUnknown
  /** Which address and key it has. */
  readonly keyVersion: string
  health: Health
}

/**
 * Enough to tell two addresses, and two keys, apart, and no help in guessing either. Both in one, because what was sent
 * is known again only where both are the same; the address by itself, because another key may still ask for it there.
 */
export function keyVersionOf(address: string, key: string): string {
  return [address, key].map((part) => digestSecret(part).slice(0, 8)).join('.')
}

/** Whether an attempt of that version was sent to another address than the account has now: there nobody knows it. */
export function isElsewhere(attempt: string, account: string): boolean {
  const [there, here] = [attempt, account].map((version) => /^(.*)\./.exec(version)?.[1])
  return there !== undefined && here !== undefined && there !== here
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

/** How processes that make films themselves know of each other. Only those that do work say that they live. */
export interface Presence {
  /** Says so of every account that is this process's own, if that was not said lately. Throws where nobody can be told. */
  beat(): Promise<void>
  /** Whether the process whose own account it is has not been heard of for so long that it must be gone. */
  isGone(account: string): boolean
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
