import type { TraceSettings } from './trace.ts'

/** Every task is traced. No collector listens at the address. */
export const alwaysTraced: TraceSettings = {
  url: 'http://127.0.0.1:9/v1/traces',
  headers: {},
  resource: {},
  sampler: 'always_on',
  ratio: 1,
  isParentBased: true,
  showsPrompts: false,
  delayMs: 5_000,
  mostWaiting: 2_048,
}
