import { type Dialect, openaiWire } from '../../simulators/openai.ts'
import { type Mode, startUpstream, submitFaults, type Upstream } from '../../simulators/upstream.ts'
import { secrets } from './kill-clients.ts'

/* The providers of a run: simulated ones with each kind of recovery, and engines with the real adapter. */
export interface Target {
  /** Of the account and of its model. */
  name: string
  mode: Mode
  /** Of an engine, whose wire has no references. */
  dialect?: Dialect
}

export const targets: readonly Target[] = [
  ...(['key', 'lookup', 'list', 'none'] as const).map((mode) => ({ name: `sim-${mode}`, mode })),
  ...(['vllm-omni', 'sglang', 'fastvideo'] as const).map((dialect) => ({
    name: `engine-${dialect}`,
    mode: 'list' as const,
    dialect,
  })),
]

export type Upstreams = ReadonlyMap<string, Upstream>

export function targetOf(name: string): Target {
  const target = targets.find((one) => one.name === name)
  if (!target) throw new Error(`no target is called ${name}`)
  return target
}

/** Its list has enough details to identify a job. */
export function tellsApart({ mode, dialect }: Target): boolean {
  return mode === 'list' && (dialect === undefined || dialect === 'vllm-omni')
}

export async function startTargets(seed: number, stack: AsyncDisposableStack): Promise<Upstreams> {
  const upstreams = new Map<string, Upstream>()
  for (const target of targets) {
    const { name, mode, dialect } = target
    const speech = dialect ? { wire: openaiWire(dialect) } : { mode }
    upstreams.set(name, stack.use(await startUpstream({ ...speech, seed, rates: ratesOf(target) })))
  }
  return upstreams
}

/** The shares of submits without a clear response, and of refused ones. The refusal of a repeat proves nothing. */
const faultRates = { unclear: 0.2, refused: 0.2 }
/** Faults that engines and networks really have. A 409 or 503 of vLLM-Omni itself is a refusal: it accepted nothing. */
const ofEngines =
  /^submit-((hang|close|reset|500|502|504|200-garbage|200-html)-|503-before|hang-then|reset-then|4(00|22|29)-|429-seconds|refuse-connection)/

/** All faults of a submit, except a job that never appears: its task waits two minutes for it. */
function ratesOf({ dialect }: Target): Record<string, number> {
  const names = submitFaults
    .map(({ name }) => name)
    .filter((name) => (dialect ? ofEngines.test(name) : name !== 'submit-200-unknown-before-accept'))
  const kindOf = (name: string) => (isUnclear(name) && !name.includes('refuse-connection') ? 'unclear' : 'refused')
  const { unclear = [], refused = [] } = Object.groupBy(names, kindOf)
  return Object.fromEntries([
    ...unclear.map((name) => [name, faultRates.unclear / unclear.length]),
    ...refused.map((name) => [name, faultRates.refused / refused.length]),
    // Many lookups fail, so that outcomes are still unknown at the end.
    ...['find-500', 'find-reset'].map((name) => [name, 0.4]),
  ])
}

/** Not a refusal, after which the outcome is known. */
export function isUnclear(name: string): boolean {
  return !/^submit-(4(?!08|09)\d\d)/.test(name)
}

/** So many that slots are left beside those of held tasks. */
const concurrency = 10_000

/** Engines as an operator has them: an address on this machine, and no key. */
export function yamlOf(upstreams: Upstreams): string {
  const urlOf = (name: string) => upstreams.get(name)?.url
  const engines = targets.filter(({ dialect }) => dialect)
  const accounts = targets
    .filter(({ dialect }) => !dialect)
    .map(({ name, mode }) => [name, { base_url: urlOf(name), key: `key-${mode}`, concurrency }])
  // JSON is YAML.
  return JSON.stringify({
    accounts: Object.fromEntries(accounts),
    engines: engines.map(({ name }) => ({ name, url: urlOf(name), concurrency })),
    models: Object.fromEntries(engines.map(({ name }) => [name, { account: name, model: 'film', concurrency }])),
    tokens: [{ name: 'another tenant', secret: secrets.another }],
  })
}
