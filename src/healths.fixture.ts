import type { Healths, Presence } from './core/account.ts'

/** Of a process that is alone and has no operator. */
export const noHealths: Healths & Presence = {
  tell: async () => {},
  learn: async () => {},
  beat: async () => {},
  isGone: () => false,
}
