import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { type Simulator, type SimulatorName, simulators } from '../../simulators/index.ts'
import {
  type Arrival,
  type Mark,
  markOf,
  type Orders,
  startUpstream,
  type Upstream,
} from '../../simulators/upstream.ts'
import type { Recovery } from '../../src/core/attempt.ts'
import { providers } from '../../src/providers/index.ts'
import type { Shown } from '../gateway.ts'
import { jumpingClock, startService, type TestService, until } from '../service.ts'
import { unaskedRepeats as countUnasked } from './unasked.ts'

/*
 * Thousands of tasks over all providers at once, each with a simulator that fails at random. In the end the ledgers of
 * both sides are compared: `node test/faults/providers.ts [--tasks 10000] [--seed 1]`.
 */

/** Faults that networks, proxies and providers really have. */
const rates: NonNullable<Orders['rates']> = {
  'submit-reset-before-accept': 0.01,
  'submit-reset-after-accept': 0.01,
  'submit-500-before-accept': 0.01,
  'submit-502-after-accept': 0.01,
  'submit-200-garbage-after-accept': 0.01,
  'submit-429-seconds-before-accept': 0.01,
  'submit-400-before-accept': 0.01,
  'find-500': 0.2,
  'find-reset': 0.1,
  'poll-500': 0.02,
  'poll-reset': 0.02,
  'poll-html': 0.02,
  'poll-status-throttled': 0.02,
  'poll-failed': 0.01,
  'poll-policy': 0.01,
  'download-403': 0.02,
  'download-500': 0.02,
  'download-cut': 0.02,
  'download-reset-in-body': 0.02,
}

export interface ProviderRun {
  tasks: number
  seed: number
  say(line: string): void
}

export interface ProviderReport {
  /** How the tasks of each simulator ended, by their code. */
  ends: Record<string, Record<string, number>>
  accepts: number
  attempts: number
  /** For each simulator: requests after one of unknown outcome, without a successful lookup in between. */
  unaskedRepeats: Record<string, number>
  /** For each simulator: completed tasks with the video of another. */
  wrongBytes: Record<string, number>
  rssMb: number[]
  violations: string[]
}

interface Simulated {
  key: string
  upstream: Upstream
}

interface Asked {
  id: string
  name: SimulatorName
  prompt: string
}

export async function runProviders({ tasks, seed, say }: ProviderRun): Promise<ProviderReport> {
  await using stack = new AsyncDisposableStack()
  const clock = jumpingClock()
  const upstreams = new Map<SimulatorName, Simulated>()
  for (const name of Object.keys(simulators) as SimulatorName[]) {
    const { wire, key } = openAt(name, clock.now)
    upstreams.set(name, { key, upstream: stack.use(await startUpstream({ wire, seed, rates, speed: 20 })) })
  }
  const service = stack.use(await startService({ yaml: yamlFor(upstreams), members: providers, world: { clock } }))
  const rssMb: number[] = []
  const asked: Asked[] = []
  const ends = new Map<string, string>()
  const left = () => look(service, asked, ends)
  const names = [...upstreams.keys()]
  const atOnce = 200
  for (let begun = 0; begun < tasks; begun += atOnce) {
    const some = Array.from({ length: Math.min(atOnce, tasks - begun) }, (_, at) => names[(begun + at) % names.length])
    asked.push(...(await Promise.all(some.map((name, at) => submit(service, name ?? 'openai', `film ${begun + at}`)))))
    await until('few are left', async () => (await left()) < 2 * atOnce, 100)
    rssMb.push(memoryMb())
    say(`  ${asked.length} tasks, ${rssMb.at(-1)} MB`)
  }
  // Unknown outcomes are given up after a while, which is not waited for. All other tasks must end.
  for (let looks = 0; looks < 600 && (await left()) > 0; looks += 1) {
    if (
      await areHeld(
        service,
        asked.filter(({ id }) => !ends.has(id)),
      )
    )
      clock.jump(30_000)
    await sleep(300)
  }
  return { rssMb, ...(await judge(service, asked, ends, upstreams)) }
}

/** The memory in use, with --expose-gc; otherwise the resident memory. */
function memoryMb(): number {
  global.gc?.()
  const { rss, heapUsed, external } = process.memoryUsage()
  return Math.round((global.gc ? heapUsed + external : rss) / 2 ** 20)
}

/** Keys that are valid for an hour are so by the clock of the service. */
function openAt(name: SimulatorName, now: () => number) {
  const simulator: Simulator = simulators[name]
  return simulator.open(now)
}

function yamlFor(upstreams: ReadonlyMap<SimulatorName, Simulated>): string {
  const accounts = [...upstreams].map(([name, { key, upstream }]) => {
    const { provider, path } = simulators[name]
    return [name, { provider, key, base_url: upstream.url + path, concurrency: 64, on_unknown: 'fail' }]
  })
  const models = [...upstreams.keys()].map((name) => {
    const [card] = providers[simulators[name].provider].cards as readonly { upstreamModel: string }[]
    return [`on-${name}`, { account: name, model: card?.upstreamModel ?? 'film', concurrency: 64 }]
  })
  const allow = [...upstreams.values()].map(({ upstream }) => new URL(upstream.films).host)
  return JSON.stringify({
    accounts: { studio: { enabled: false }, ...Object.fromEntries(accounts) },
    models: Object.fromEntries(models),
    outbound: { allow },
  })
}

async function submit(service: TestService, name: SimulatorName, prompt: string): Promise<Asked> {
  const response = await service.submit({ model: `on-${name}`, prompt }, { connection: 'close' })
  const { id } = (await response.json()) as { id: string }
  if (response.status !== 200) throw new Error(`${name}: a submit got ${response.status}`)
  return { id, name, prompt }
}

/** Polls the tasks that have not ended. Returns how many are left. */
async function look(service: TestService, asked: readonly Asked[], ends: Map<string, string>): Promise<number> {
  const open = asked.filter(({ id }) => !ends.has(id))
  await Promise.all(
    open.map(async ({ id }) => {
      const { status, error } = (await (await service.fetch(`/v1/videos/${id}`)).json()) as Video
      if (status === 'completed' || status === 'failed') ends.set(id, error?.code ?? status)
    }),
  )
  return asked.length - ends.size
}

async function areHeld(service: TestService, tasks: readonly Asked[]): Promise<boolean> {
  const shown = await Promise.all(tasks.map(({ id }) => service.operator<Shown>(`/tasks/${id}`)))
  return shown.every(({ state }) => state === 'held')
}

interface Video {
  status: string
  error?: { code: string } | null
}

/** Why a task may fail, as far as its own history shows the reason. */
const reasons: Record<string, RegExp> = {
  generation_failed: /^(poll-failed|submit-400-before-accept)$/,
  content_policy: /^poll-policy$/,
  submission_unknown: /^submit-(reset|500|502|200-garbage)/,
}

async function judge(
  service: TestService,
  asked: readonly Asked[],
  codes: ReadonlyMap<string, string>,
  upstreams: ReadonlyMap<SimulatorName, Simulated>,
): Promise<Omit<ProviderReport, 'rssMb'>> {
  const violations: string[] = []
  const ends: ProviderReport['ends'] = {}
  const ledgers = new Map([...upstreams].map(([name, { upstream }]) => [name, booksOf(upstream)]))
  const recoveries = await recoveriesOf([...upstreams.keys()])
  const [unaskedRepeats, wrongBytes] = [zeros(upstreams.keys()), zeros(upstreams.keys())]
  let [accepts, attempts] = [0, 0]
  for (const { id, name, prompt } of asked) {
    const code = codes.get(id) ?? 'unfinished'
    const books = ledgers.get(name)
    const jobs = books?.accepts.get(prompt) ?? []
    const taken = jobs.length
    const faults = books?.faults.get(prompt) ?? []
    const { attempts: tried, state } = await service.operator<Shown>(`/tasks/${id}`)
    const maybe = tried.filter(({ state }) => state !== 'refused').length
    ends[name] = { ...ends[name], [code]: (ends[name]?.[code] ?? 0) + 1 }
    accepts += taken
    attempts += tried.length
    const say = (what: string) => violations.push(`${name} ${id} (${code}; ${faults.join(', ')}): ${what}`)
    if (code === 'unfinished') say(`it is ${state}`)
    if (taken > maybe) say(`it was taken ${taken} times, and ${maybe} attempts can answer for that`)
    if (code === 'completed' && taken < 1) say('it was completed, and nobody took it')
    const unasked = unaskedIn(books?.arrivals ?? [], prompt, recoveries.get(name) ?? 'none')
    unaskedRepeats[name] = (unaskedRepeats[name] ?? 0) + unasked
    if (unasked > 0) say('it was sent again, though no question was answered')
    const mark = code === 'completed' ? await markIn(service, id) : undefined
    if (code === 'completed' && !jobs.includes(mark?.id ?? '')) {
      wrongBytes[name] = (wrongBytes[name] ?? 0) + 1
      say(`wrong bytes, of ${JSON.stringify(mark ?? null)}`)
    }
    // SGLang and FastVideo never say why.
    const why =
      name === 'sglang' || name === 'fastvideo' ? faults.map((fault) => fault.replace('policy', 'failed')) : faults
    if (!['completed', 'unfinished'].includes(code) && !why.some((fault) => reasons[code]?.test(fault)))
      say('it failed for no reason')
  }
  return { ends, accepts, attempts, unaskedRepeats, wrongBytes, violations }
}

function zeros(names: Iterable<string>): Record<string, number> {
  return Object.fromEntries([...names].map((name) => [name, 0]))
}

async function recoveriesOf(names: readonly SimulatorName[]): Promise<Map<SimulatorName, Recovery>> {
  const recoveries = new Map<SimulatorName, Recovery>()
  for (const name of names) {
    const { recovery } = await providers[simulators[name].provider].create({ folder: '', media: undefined as never })
    recoveries.set(name, recovery)
  }
  return recoveries
}

/** Of one prompt. A refusal needs no lookup. With references, each is an attempt of its own. */
function unaskedIn(arrivals: readonly Arrival[], prompt: string, recovery: Recovery): number {
  const isRefusal = (status: number | null) => status !== null && status >= 400 && status < 500
  const submits = arrivals.filter((one) => one.ask === 'submit' && one.prompt === prompt && !isRefusal(one.status))
  const sent = [...Map.groupBy(submits, ({ reference }) => reference)].map(([reference, own]) => ({
    attempt: { id: reference ?? '', state: 'accepted' as const, openedAt: 0, settledAt: null },
    submits: own.toSorted((one, other) => one.at - other.at),
  }))
  return countUnasked(sent, arrivals, recovery)
}

async function markIn(service: TestService, id: string): Promise<Mark | undefined> {
  const content = await service.fetch(`/v1/videos/${id}/content`, { headers: { connection: 'close' } })
  return markOf(Buffer.from(await content.arrayBuffer()))
}

interface Books {
  /** By prompt: the jobs that were accepted. */
  accepts: Map<string, string[]>
  /** By prompt: what went wrong with it. */
  faults: Map<string, string[]>
  arrivals: readonly Arrival[]
}

function booksOf(upstream: Upstream): Books {
  const ledger = upstream.ledger()
  const accepts = new Map<string, string[]>()
  for (const { prompt, id } of ledger.accepts) accepts.set(prompt, [...(accepts.get(prompt) ?? []), id])
  const faults = new Map<string, string[]>()
  for (const { prompt, fault } of ledger.faults)
    if (prompt !== null) faults.set(prompt, [...(faults.get(prompt) ?? []), fault])
  return { accepts, faults, arrivals: ledger.arrivals }
}

const sumOf = (counts: Record<string, number>) => Object.values(counts).reduce((sum, one) => sum + one, 0)

if (import.meta.main) {
  const { values } = parseArgs({ options: { tasks: { type: 'string' }, seed: { type: 'string' } } })
  const begun = performance.now()
  const say = (line: string) => void process.stdout.write(`${line}\n`)
  const report = await runProviders({ tasks: Number(values.tasks ?? 10_000), seed: Number(values.seed ?? 1), say })
  const { ends, accepts, attempts, rssMb, violations } = report
  for (const [name, codes] of Object.entries(ends)) say(`${name.padEnd(12)} ${JSON.stringify(codes)}`)
  say(`unasked repeats ${sumOf(report.unaskedRepeats)}, wrong bytes ${sumOf(report.wrongBytes)}`)
  say(
    `${attempts} attempts, ${accepts} accepts; memory ${rssMb[0]} … ${rssMb.at(-1)} MB; ${Math.round((performance.now() - begun) / 1_000)} s`,
  )
  for (const violation of violations.slice(0, 20)) say(violation)
  say(`WRONG ${violations.length}`)
  process.exitCode = violations.length === 0 ? 0 : 1
}
