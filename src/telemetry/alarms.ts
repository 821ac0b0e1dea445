import type { AlarmDetails, AlarmKind } from '../core/alarms.ts'

/** How each part reports what an operator has to know. `main.ts` passes it to each part, like the log. */
export interface Alarms {
  /** Reports a fault, again and again while it lasts: most reports cost a lookup in memory. */
  raise(kind: AlarmKind, subject: string, details?: AlarmDetails): void
  /** Reports that the fault is over. Without an alarm this costs a lookup in memory. */
  clear(kind: AlarmKind, subject: string): void
}
