import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { type Mode, startUpstream, submitFaults, type Upstream } from '../../simulators/upstream.ts'
import { settleMs } from '../../src/core/timing.ts'
import { openSqlite } from '../../src/stores/index.ts'
import {
  checkBytes,
  type Listed,
  list,
  noteStatus,
  openAttempts,
  read,
  secrets,
  submit,
  type Told,
} from './kill-clients.ts'
import { isUnclear, type Judgement, judgeKills, type Kill } from './kill-judge.ts'
import { seeded } from './seeded.ts'

/*
 * A real gateway before four real upstreams, killed with SIGKILL again and again on one data folder, while clients submit
 * and read. The upstreams live on, and their ledgers are held against the gateway's own in the end. The seed repeats
 * faults and orders, but a moment of real time is never quite the same.
 */
export interface KillOptions {
  /** Starts of the gateway, each of which ends with a kill. */
  runs: number
  seed: number
  /** Runs on one data folder. */
  runsPerWorld?: number
  onWorld?: (line: string) => void
}

export interface KillCounts extends Judgement {
  seed: number
  runs: number
  kills: number
  worlds: number
}

export const modes: readonly Mode[] = ['key', 'lookup', 'list', 'none']
/** Of all submits, so many get no clear answer, and so many are refused: which says nothing if it is a repeat. */
const faultRates = { unclear: 0.2, refused: 0.2 }
/** What was never sent may be sent again by then. */
const aheadMs = settleMs + 60_000
const longestSettleMs = 120_000

interface World extends Told {
  folder: string
  chance: () => number
  upstreams: ReadonlyMap<Mode, Upstream>
  kills: Kill[]
  /** How long a start took. */
  startMs: number
}

export async function runKills({ runs, seed, runsPerWorld = 25, onWorld }: KillOptions): Promise<KillCounts> {
  const none = { tasks: 0, accepts: 0, cut: 0, cutAfterAccept: 0, held: 0, violations: [] }
  const counts: KillCounts = { seed, runs: 0, kills: 0, worlds: 0, ...none }
  while (counts.runs < runs) {
    const worldSeed = seed * 1_000 + counts.worlds
    const size = Math.min(runsPerWorld, runs - counts.runs)
    const { kills, ...judgement } = await runWorld(worldSeed, size)
    counts.worlds += 1
    counts.runs += size
    counts.kills += kills
    for (const name of ['tasks', 'accepts', 'cut', 'cutAfterAccept', 'held'] as const) counts[name] += judgement[name]
    counts.violations.push(...judgement.violations.map((text) => `seed ${worldSeed}: ${text}`))
    onWorld?.(`world ${worldSeed}: ${JSON.stringify({ kills, ...judgement })}`)
  }
  return counts
}

async function runWorld(seed: number, runs: number): Promise<Judgement & { kills: number }> {
  const folder = mkdtempSync(join(tmpdir(), 'filmgate-kills-'))
  await using stack = new AsyncDisposableStack()
  stack.defer(() => rmSync(folder, { recursive: true }))
  const upstreams = new Map<Mode, Upstream>()
  for (const mode of modes) upstreams.set(mode, stack.use(await startUpstream({ mode, seed, rates: rates() })))
  writeFileSync(join(folder, 'filmgate.yaml'), yamlOf(upstreams))
  const world: World = {
    ...{ seed, folder, chance: seeded(seed), upstreams },
    ...{ kills: [], known: new Map(), submits: 0, prompts: new Map(), startMs: 1_000, violations: [] },
  }
  for (let run = 0; run < runs; run += 1) await live(world, run === 0)
  for (const upstream of upstreams.values()) upstream.setFaults({ rates: {} })
  const ids = await settle(world)
  await using store = await openSqlite({ folder: join(folder, 'data'), now: Date.now(), onFatal: noStore })
  const found = await Promise.all(
    ids.map(async (id) => ({ task: await store.find(id), attempts: await store.attempts(id) })),
  )
  const tasks = found.flatMap(({ task, attempts }) => (task ? [{ task, attempts }] : []))
  const ledgers = new Map([...upstreams].map(([mode, upstream]) => [mode, upstream.ledger()]))
  const judgement = judgeKills({ tasks, ledgers, kills: world.kills })
  return { ...judgement, violations: [...world.violations, ...judgement.violations], kills: world.kills.length }
}

/** All that can go wrong with a submit, but for a job that never is: its task waits two minutes for it to appear. */
export function rates(): Record<string, number> {
  const names = submitFaults.map(({ name }) => name).filter((name) => name !== 'submit-200-unknown-before-accept')
  const kindOf = (name: string) => (isUnclear(name) && !name.includes('refuse-connection') ? 'unclear' : 'refused')
  const { unclear = [], refused = [] } = Object.groupBy(names, kindOf)
  return Object.fromEntries([
    ...unclear.map((name) => [name, faultRates.unclear / unclear.length]),
    ...refused.map((name) => [name, faultRates.refused / refused.length]),
  ])
}

/** So many at once that held ones, which keep their slots, leave room. */
export function yamlOf(upstreams: ReadonlyMap<Mode, Upstream>): string {
  const accounts = [...upstreams].map(([mode, { url }]) => [
    `sim-${mode}`,
    { base_url: url, key: `key-${mode}`, concurrency: 10_000 },
  ])
  // JSON is YAML.
  return JSON.stringify({ accounts: Object.fromEntries(accounts) })
}

function noStore(error: Error): never {
  throw error
}

interface Gateway extends AsyncDisposable {
  /** Rejects if it ends before. */
  readonly url: Promise<string>
  kill(signal: NodeJS.Signals): void
  readonly exit: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  readonly log: () => string
}

function startGateway(folder: string, ahead: number): Gateway {
  const settings = { FILMGATE_DATA: join(folder, 'data'), FILMGATE_CONFIG: join(folder, 'filmgate.yaml') }
  const tokens = { FILMGATE_TOKEN: secrets.client, FILMGATE_OPERATOR_TOKEN: secrets.operator }
  const child = spawn(process.execPath, [join(import.meta.dirname, 'kill-service.ts'), String(ahead)], {
    env: { PATH: process.env.PATH ?? '', FILMGATE_PORT: '0', ...settings, ...tokens },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text
  })
  // Not 'close': what else it started may keep its pipes open for longer than it lives.
  const exit = once(child, 'exit').then(([code, signal]) => ({ code, signal }))
  const url = Promise.race([
    once(createInterface({ input: child.stdout }), 'line').then(([line]) => String(line)),
    exit.then(() => Promise.reject(new Error(`the gateway ended: ${log}`))),
  ])
  url.catch(() => {})
  return {
    url,
    kill: (signal) => void child.kill(signal),
    exit,
    log: () => log,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await exit
    },
  }
}

/** One life: it starts, gets work, and is killed at a moment that chance decides before. */
async function live(world: World, first: boolean): Promise<void> {
  const { chance } = world
  // In the start, in the recovery right after it, or at work. Two of the former in a row are kills in quick succession.
  const [kind, moment, pick] = [chance(), chance(), chance()]
  const [perMode, delay] = [1 + Math.floor(chance() * 3), chance()]
  const begun = Date.now()
  await using gateway = startGateway(world.folder, 0)
  const ended = gateway.exit.then(() => {})
  if (!first && kind < 0.2) {
    await Promise.race([pause(moment * world.startMs), ended])
  } else {
    const url = await gateway.url
    world.startMs = Date.now() - begun
    if (!first && kind < 0.4) await Promise.race([pause(moment * 150), ended])
    else await work(world, { url, ended, perMode, moment, pick, delayMs: delay * delay * 400 })
  }
  const at = Date.now()
  gateway.kill('SIGKILL')
  const { signal } = await gateway.exit
  world.kills.push({ at, ended: Date.now() })
  if (signal !== 'SIGKILL') world.violations.push(`the gateway ended by itself: ${lastLine(gateway.log())}`)
  noteErrors(world, gateway)
}

interface Work {
  url: string
  ended: Promise<void>
  perMode: number
  /** After which share of the submits, and how long after it, the work is cut off. */
  moment: number
  delayMs: number
  pick: number
}

/** Clients submit and read until the moment comes. What is still under way then goes on into the kill. */
async function work(world: World, { url, ended, perMode, moment, delayMs, pick }: Work): Promise<void> {
  const count = perMode * modes.length
  const enough = Promise.withResolvers<void>()
  const wanted = Math.floor(moment * count)
  if (wanted === 0) enough.resolve()
  const submitting = async () => {
    for (let at = 0; at < count; at += 1) {
      await submit(world, url, modes[at % modes.length] as Mode)
      if (at + 1 >= wanted) enough.resolve()
    }
  }
  const ids = [...world.known.keys()]
  const reading = async () => {
    for (let at = 0; at < Math.min(5, ids.length); at += 1)
      await read(world, url, ids[(Math.floor(pick * ids.length) + at) % ids.length] as string)
  }
  // The kill ends them: an answer that never came promised nothing.
  void submitting().catch(enough.resolve)
  void reading().catch(() => {})
  await Promise.race([enough.promise.then(() => pause(delayMs)), ended])
}

/** Lets one last gateway finish whatever can be finished, looks at it as a client does, and returns all tasks. */
async function settle(world: World): Promise<string[]> {
  await using gateway = startGateway(world.folder, aheadMs)
  const url = await gateway.url
  const begun = Date.now()
  let tasks = await list(url)
  while (!(await isSettled(world, url, tasks)) && Date.now() - begun < longestSettleMs) {
    await pause(300)
    tasks = await list(url)
  }
  const ids = new Set(tasks.map(({ id }) => id))
  for (const id of world.known.keys()) if (!ids.has(id)) world.violations.push(`lost: ${id} is not listed`)
  for (const [prompt, made] of Map.groupBy(tasks, ({ prompt }) => prompt))
    if (made.length > (world.prompts.get(prompt) ?? 0)) world.violations.push(`two tasks of one submit: ${prompt}`)
  for (const { id, status } of tasks) {
    noteStatus(world, id, status)
    if (status === 'completed') await checkBytes(world, url, id)
  }
  gateway.kill('SIGTERM')
  const { code } = await gateway.exit
  if (code !== 0) world.violations.push(`the gateway ended with ${code}: ${lastLine(gateway.log())}`)
  noteErrors(world, gateway)
  return [...ids]
}

/** Whatever is not finished waits for an operator, because a kill or an answer that was none left it so. */
async function isSettled(world: World, url: string, tasks: readonly Listed[]): Promise<boolean> {
  const open = new Map((await openAttempts(url)).map((attempt) => [attempt.task, attempt]))
  const lastKill = world.kills.at(-1)?.ended ?? 0
  const accepts = world.upstreams.get('list')?.ledger().accepts ?? []
  const listed = new Set(accepts.map(({ prompt }) => prompt))
  const unclear = Map.groupBy(
    tasks.filter(({ id }) => open.has(id)),
    ({ prompt }) => prompt,
  )
  return tasks.every(({ id, status, prompt }) => {
    if (status === 'completed' || status === 'failed') return true
    const attempt = open.get(id)
    if (!attempt || Date.parse(attempt.opened_at) > lastKill) return false
    if (attempt.account === 'sim-none') return true
    // Of two that are the same, nobody can tell whose it is that is listed.
    return attempt.account === 'sim-list' && (!listed.has(prompt) || (unclear.get(prompt) ?? []).length > 1)
  })
}

/** Neither kills nor faults are a reason for an error in the log, but for the alarm over a refused key. */
function noteErrors(world: World, { log }: Gateway): void {
  for (const line of log().split('\n'))
    if (line.includes('"level":"error"') && !line.includes('"event":"account paused'))
      world.violations.push(`an error in the log: ${line}`)
}

const lastLine = (text: string) => text.trimEnd().split('\n').at(-1) ?? ''

if (import.meta.main) {
  const options = { runs: { type: 'string', default: '500' }, seed: { type: 'string', default: '1' } } as const
  const { values } = parseArgs({ options })
  const print = (line: string) => void process.stdout.write(`${line}\n`)
  const { violations, ...counts } = await runKills({
    ...{ runs: Number(values.runs), seed: Number(values.seed) },
    onWorld: print,
  })
  print(JSON.stringify({ ...counts, violations: violations.length }))
  for (const violation of violations) print(violation)
  process.exitCode = violations.length > 0 ? 1 : 0
}
