import type { providers } from '../src/providers/index.ts'
import { arkWire } from './ark.ts'
import { falWire } from './fal.ts'
import { klingWire } from './kling.ts'
import { openaiWire } from './openai.ts'
import { replicateWire } from './replicate.ts'
import type { Wire } from './upstream/wire.ts'

/** How to have one of a provider's: who speaks to it, where below its origin, and with what for a key. */
export interface Simulator {
  wire(): Wire
  provider: keyof typeof providers
  path: string
  key: string
}

const key = 'a-key-that-costs-nothing'

export const simulators = {
  ark: { wire: arkWire, provider: 'ark', path: '/api/v3', key },
  replicate: { wire: () => replicateWire(), provider: 'replicate', path: '/v1', key },
  fal: { wire: falWire, provider: 'fal', path: '', key },
  kling: { wire: () => klingWire(), provider: 'kling', path: '', key },
  openai: { wire: () => openaiWire(), provider: 'openai', path: '/v1', key },
  'vllm-omni': { wire: () => openaiWire('vllm-omni'), provider: 'openai', path: '/v1', key },
  sglang: { wire: () => openaiWire('sglang'), provider: 'openai', path: '/v1', key },
} satisfies Record<string, Simulator>

export type SimulatorName = keyof typeof simulators
