import type { OnUnknown, OperationForm, Recovery } from './attempt.ts'
import type { Health } from './health.ts'
import { digestSecret } from './token.ts'

/** The part of an account that an operator may see and reset. It has no key. */
export interface AccountView {
  readonly name: string
  readonly provider: { readonly name: string; readonly recovery: Recovery; readonly operations?: OperationForm }
  /** How many tasks it may run at once. */
  readonly concurrency: number
  readonly onUnknown: OnUnknown
  /** Identifies its address and key, as `keyVersionOf` returns it. */
  readonly keyVersion: string
  /** Whether it gets tasks; by default it is active. */
  readonly mode?: AccountMode
  /** By default it is configured. */
  readonly source?: AccountSource
  /** The address of its provider, if it has one. */
  readonly baseUrl?: string | null
  /** Whether it has a key, and the end of a long key. */
  readonly key?: KeyView
  health: Health
}

/**
 * What an operator decided. `draining`: it gets no new tasks, and those that it has go on. `paused`: nothing is sent to
 * it, and nothing is polled.
 */
export const accountModes = ['active', 'draining', 'paused'] as const
export type AccountMode = (typeof accountModes)[number]

/** `config`: it is set in filmgate.yaml or by a variable. `store`: an operator added it while the service ran. */
export const accountSources = ['config', 'store'] as const
export type AccountSource = (typeof accountSources)[number]

interface KeyView {
  readonly isSet: boolean
  readonly hint: string | null
}

/** The last four characters of a key of more than 16, so that an operator can tell two keys apart. */
export function toKeyView(key: string | null): KeyView {
  return { isSet: key !== null, hint: key !== null && key.length > 16 ? key.slice(-4) : null }
}

/** Whether new tasks may go to it. */
export function acceptsTasks({ mode = 'active' }: Pick<AccountView, 'mode'>): boolean {
  return mode === 'active'
}

/**
 * Short digests of the address and the key, too short to help guess either. A provider recognises an attempt only if
 * both are the same. They are separate because another key of the same address may still look the attempt up.
 */
export function keyVersionOf(address: string, key: string): string {
  return [address, key].map((part) => digestSecret(part).slice(0, 8)).join('.')
}

/** The part of a key version that identifies the address, with its provider. */
export function addressOf(keyVersion: string): string | undefined {
  return /^(.*)\./.exec(keyVersion)?.[1]
}

/** Whether the attempt was sent to another address than the account has now. The provider there does not know it. */
export function hasOtherAddress(attemptVersion: string, accountVersion: string): boolean {
  const [sentTo, current] = [attemptVersion, accountVersion].map(addressOf)
  return sentTo !== undefined && current !== undefined && sentTo !== current
}

/** The health of an account as one process reports it to the others. */
export interface AccountHealth {
  account: string
  keyVersion: string
  health: Health
  changedAt: number
}

/** Shares the health of accounts between processes, and with the operator. */
export interface Healths {
  /** Reports the health of the account if it changed since the last report. */
  report(account: string): Promise<void>
  /** Adopts what other processes reported. */
  refresh(): Promise<void>
}

/** Shows which processes are alive. Only processes that work report it. */
export interface Presence {
  /**
   * If the last report is old, reports the local accounts of this process as alive, or its name alone if it has none. Throws if
   * that can't be stored.
   */
  beat(): Promise<void>
  /** Whether the process of this local account has not reported for so long that it must be gone. */
  isGone(account: string): boolean
  /** How many processes are not gone, as far as this one knows; at least one. */
  processes(): number
}

/**
 * If processes share a store, an account whose provider is the process itself has the process in its name: its work
 * exists nowhere else. Configured names have no @.
 */
export function localName(account: string, process: string): string {
  return `${account}@${process}`
}

export function isLocalName(account: string): boolean {
  return account.includes('@')
}

export function processOf(localName: string): string {
  return localName.slice(localName.indexOf('@') + 1)
}
