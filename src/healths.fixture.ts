import type { Healths } from './core/account.ts'

/** Of a process that is alone and has no operator. */
export const noHealths: Healths = { tell: async () => {}, learn: async () => {} }
