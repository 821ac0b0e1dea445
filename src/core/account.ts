import type { OnUnknown, Recovery } from './attempt.ts'
import type { Health } from './health.ts'

/** What an operator may know of an account, and mend: not its key, and not how to use it. */
export interface AccountView {
  readonly name: string
  readonly provider: { readonly name: string; readonly recovery: Recovery }
  readonly concurrency: number
  readonly onUnknown: OnUnknown
  health: Health
}
