import type { providers } from '../src/providers/index.ts'
import { arkWire } from './ark.ts'
import { falWire } from './fal.ts'
import { googleWire } from './google.ts'
import { klingWire } from './kling.ts'
import { openaiWire } from './openai.ts'
import { replicateWire } from './replicate.ts'
import type { Wire } from './upstream/wire.ts'
import { newServiceAccount, vertexWire } from './vertex.ts'

/** A simulator, the provider whose adapter uses it, and the path of its API. */
export interface Simulator {
  provider: keyof typeof providers
  path: string
  /** Returns the wire with a key that it accepts. */
  open(now?: () => number): { wire: Wire; key: string }
}

const key = 'a-key-that-costs-nothing'

export const simulators = {
  ark: { provider: 'ark', path: '/api/v3', open: () => ({ wire: arkWire(), key }) },
  fal: { provider: 'fal', path: '', open: () => ({ wire: falWire(), key }) },
  fastvideo: { provider: 'openai', path: '/v1', open: () => ({ wire: openaiWire('fastvideo'), key }) },
  google: { provider: 'google', path: '', open: () => ({ wire: googleWire(), key }) },
  kling: { provider: 'kling', path: '', open: () => ({ wire: klingWire(), key }) },
  openai: { provider: 'openai', path: '/v1', open: () => ({ wire: openaiWire(), key }) },
  replicate: { provider: 'replicate', path: '/v1', open: () => ({ wire: replicateWire(), key }) },
  sglang: { provider: 'openai', path: '/v1', open: () => ({ wire: openaiWire('sglang'), key }) },
  vertex: { provider: 'vertex', path: '', open: openVertex },
  'vllm-omni': { provider: 'openai', path: '/v1', open: () => ({ wire: openaiWire('vllm-omni'), key }) },
} satisfies Record<string, Simulator>

export type SimulatorName = keyof typeof simulators

/** Its key is a new service account, and the wire checks the signatures. */
function openVertex(now?: () => number): { wire: Wire; key: string } {
  const account = newServiceAccount()
  return { wire: vertexWire(account, now), key: JSON.stringify(account) }
}
