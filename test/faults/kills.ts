import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { Accept, Upstream } from '../../simulators/upstream.ts'
import type { Attempt } from '../../src/core/attempt.ts'
import { settleMs } from '../../src/core/timing.ts'
import { openSqlite } from '../../src/stores/index.ts'
import {
  type ClientRecord,
  dueAt,
  type Listed,
  list,
  lookAtAll,
  newClientRecord,
  openAttempts,
  read,
  secrets,
  submit,
} from './kill-clients.ts'
import {
  addColumns,
  type Columns,
  type Judgement,
  judgeKills,
  type Kill,
  noColumns,
  strandedPerKill,
} from './kill-judge.ts'
import { seeded } from './seeded.ts'
import { startTargets, type Target, targetOf, targets, tellsApart, type Upstreams, yamlOf } from './targets.ts'

/*
 * A real gateway before real upstreams, killed by SIGKILL again and again on one data folder, while clients submit and
 * read. The upstreams go on, and in the end their ledgers are compared with the rows of the gateway. A seed repeats faults
 * and orders, but not the exact times.
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
  strandedPerKill: number
}

/** After this long, an attempt that was never sent may be sent again, if that is allowed at all. */
const aheadMs = settleMs + 60_000
const longestSettleMs = 120_000
/** Every account with open attempts is looked up soon after the start. */
const longestAskMs = 10_000

interface World extends ClientRecord {
  folder: string
  chance: () => number
  upstreams: Upstreams
  kills: Kill[]
  /** Clocks that were set ahead: since when, by their own time, and by how much. */
  aheads: { from: number; ms: number }[]
  /** How long a start took. */
  startMs: number
}

export async function runKills({ runs, seed, runsPerWorld = 25, onWorld }: KillOptions): Promise<KillCounts> {
  const none = { ...noColumns(), strandedPerKill: 0, cut: 0, cutAfterAccept: 0, byTarget: {}, violations: [] }
  const counts: KillCounts = { seed, runs: 0, kills: 0, worlds: 0, ...none }
  while (counts.runs < runs) {
    const worldSeed = seed * 1_000 + counts.worlds
    const size = Math.min(runsPerWorld, runs - counts.runs)
    const { kills, ...judgement } = await runWorld(worldSeed, size)
    counts.worlds += 1
    counts.runs += size
    counts.kills += kills
    addColumns(counts, judgement)
    for (const name of ['cut', 'cutAfterAccept'] as const) counts[name] += judgement[name]
    for (const [name, columns] of Object.entries(judgement.byTarget)) addColumns(columnsOf(counts, name), columns)
    counts.violations.push(...judgement.violations.map((text) => `seed ${worldSeed}: ${text}`))
    onWorld?.(`world ${worldSeed}: ${JSON.stringify({ kills, ...judgement })}`)
  }
  const { violations, ...ratio } = strandedPerKill(counts, counts.kills)
  return { ...counts, ...ratio, violations: [...counts.violations, ...violations] }
}

function columnsOf({ byTarget }: KillCounts, name: string): Columns {
  const columns = byTarget[name] ?? noColumns()
  byTarget[name] = columns
  return columns
}

async function runWorld(seed: number, runs: number): Promise<Judgement & { kills: number }> {
  const folder = mkdtempSync(join(tmpdir(), 'filmgate-kills-'))
  await using stack = new AsyncDisposableStack()
  stack.defer(() => rmSync(folder, { recursive: true }))
  const upstreams = await startTargets(seed, stack)
  writeFileSync(join(folder, 'filmgate.yaml'), yamlOf(upstreams))
  const world: World = {
    ...newClientRecord(seed),
    folder,
    chance: seeded(seed),
    upstreams,
    kills: [],
    aheads: [],
    startMs: 1_000,
  }
  for (let run = 0; run < runs; run += 1) await live(world, run === 0)
  await askUnanswered(world)
  const ids = await settle(world)
  await using store = await openSqlite({ folder: join(folder, 'data'), now: Date.now(), onFatal: noStore })
  const found = await Promise.all(
    ids.map(async (id) => ({ task: await store.find(id), attempts: await store.attempts(id) })),
  )
  const tasks = found.flatMap(({ task, attempts }) =>
    task ? [{ task, attempts: attempts.map((attempt) => asItWas(world, attempt)) }] : [],
  )
  const ledgers = new Map([...upstreams].map(([name, upstream]) => [name, upstream.ledger()]))
  const judgement = judgeKills({ tasks, ledgers, kills: world.kills, marks: world.marks })
  return { ...judgement, violations: [...world.violations, ...judgement.violations], kills: world.kills.length }
}

/** Converts times to the clock of the upstreams, which was never set ahead. */
function asItWas({ aheads }: World, attempt: Attempt): Attempt {
  const { openedAt, settledAt } = attempt
  const toReal = (moment: number) => moment - (aheads.findLast(({ from }) => moment >= from)?.ms ?? 0)
  return { ...attempt, openedAt: toReal(openedAt), settledAt: settledAt === null ? null : toReal(settledAt) }
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
  // Not 'close': its children may keep the pipes open after its end.
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

/** One run: the gateway starts, gets work, and is killed at a random moment that was chosen before. */
async function live(world: World, first: boolean): Promise<void> {
  const { chance } = world
  // In the start, in the recovery right after it, or at work. Two of the former in a row are kills in quick succession.
  const [kind, moment, pick] = [chance(), chance(), chance()]
  const [perTarget, delay] = [1 + Math.floor(chance() * 3), chance()]
  const begun = Date.now()
  await using gateway = startGateway(world.folder, 0)
  const ended = gateway.exit.then(() => {})
  if (!first && kind < 0.2) {
    await Promise.race([pause(moment * world.startMs), ended])
  } else {
    const url = await gateway.url
    world.startMs = Date.now() - begun
    if (!first && kind < 0.4) await Promise.race([pause(moment * 150), ended])
    else await work(world, { url, ended, perTarget, moment, pick, delayMs: delay * delay * 400 })
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
  perTarget: number
  /** After which share of the submits, and how long after it, the work is cut off. */
  moment: number
  delayMs: number
  pick: number
}

/** Clients submit and read until that moment. Open requests are cut off by the kill. */
async function work(world: World, { url, ended, perTarget, moment, delayMs, pick }: Work): Promise<void> {
  const count = perTarget * targets.length
  const enough = Promise.withResolvers<void>()
  const wanted = Math.floor(moment * count)
  if (wanted === 0) enough.resolve()
  const submitting = async () => {
    let done = 0
    const submitTo = async (target: Target) => {
      await submit(world, url, target)
      done += 1
      if (done >= wanted) enough.resolve()
    }
    // All at once: many tasks widen the time between the commit of an attempt and its request.
    for (let round = 0; round < perTarget; round += 1) await Promise.all(targets.map(submitTo))
  }
  const ids = [...world.known.keys()]
  const reading = async () => {
    for (let at = 0; at < Math.min(5, ids.length); at += 1)
      await read(world, url, ids[(Math.floor(pick * ids.length) + at) % ids.length] as string)
  }
  // The kill ends them: without a response, nothing was promised.
  void submitting().catch(enough.resolve)
  void reading().catch(() => {})
  await Promise.race([enough.promise.then(() => pause(delayMs)), ended])
}

/** A gateway whose clock is ahead from the next attempt on. */
function startAhead(world: World, ms: number): Gateway {
  world.aheads.push({ from: Date.now() + ms, ms })
  return startGateway(world.folder, ms)
}

/**
 * For a while every lookup fails, and all open attempts are old enough to be sent again. None may be sent: a failed lookup
 * proves nothing.
 */
async function askUnanswered(world: World): Promise<void> {
  const { upstreams } = world
  for (const upstream of upstreams.values()) upstream.setFaults({ rates: { 'find-500': 1 } })
  const begun = Date.now()
  await using gateway = startAhead(world, aheadMs)
  const url = await gateway.url
  const open = new Set((await openAttempts(url)).map(({ account }) => account))
  const canBeAsked = (name: string) => targetOf(name).mode === 'lookup' || targetOf(name).mode === 'list'
  const wanted = [...open].filter(canBeAsked).map((name) => upstreams.get(name))
  const isAsked = (upstream: Upstream | undefined) =>
    upstream?.ledger().arrivals.some(({ ask, at }) => ask === 'find' && at > begun)
  while (!wanted.every(isAsked) && Date.now() - begun < longestAskMs) await pause(100)
  await end(world, gateway)
  for (const upstream of upstreams.values()) upstream.setFaults({ rates: {} })
}

/** Lets a last gateway finish whatever can be finished, checks it as a client does, and returns all tasks. */
async function settle(world: World): Promise<string[]> {
  await using gateway = startAhead(world, 2 * aheadMs)
  const url = await gateway.url
  const begun = Date.now()
  let tasks = await list(world, url)
  while (!(await isSettled(world, url, tasks)) && Date.now() - begun < longestSettleMs) {
    await pause(300)
    tasks = await list(world, url)
  }
  const ids = (await lookAtAll(world, url)).map(({ id }) => id)
  await end(world, gateway)
  return ids
}

async function end(world: World, gateway: Gateway): Promise<void> {
  gateway.kill('SIGTERM')
  const { code } = await gateway.exit
  if (code !== 0) world.violations.push(`the gateway ended with ${code}: ${lastLine(gateway.log())}`)
  noteErrors(world, gateway)
}

/** Every unfinished task waits for an operator, because a kill or an unclear response left its outcome unknown. */
async function isSettled(world: World, url: string, tasks: readonly Listed[]): Promise<boolean> {
  const open = new Map((await openAttempts(url)).map((attempt) => [attempt.task, attempt]))
  const lastKill = world.kills.at(-1)?.ended ?? 0
  const unclear = Map.groupBy(
    tasks.filter(({ id }) => open.has(id)),
    ({ prompt }) => prompt,
  )
  for (const { id, status, prompt } of tasks) {
    if (status === 'completed' || status === 'failed') continue
    const attempt = open.get(id)
    if (!attempt || Date.parse(attempt.opened_at) > lastKill) return false
    const target = targetOf(attempt.account)
    if (target.mode === 'none') continue
    // For two identical tasks, a listed job can't be assigned.
    const isAlike = (unclear.get(prompt) ?? []).length > 1
    const accepts = world.upstreams.get(target.name)?.ledger().accepts ?? []
    const isIts = (accept: Accept) => (target.dialect ? accept.prompt === prompt : accept.reference === attempt.id)
    const isListed = tellsApart(target) && !isAlike && accepts.some(isIts)
    if (target.mode !== 'list' || isListed) return false
    // It was looked up, and the next lookup is a minute away.
    if (target.dialect && (await dueAt(url, id)) < Date.now() + 2 * aheadMs + 10_000) return false
  }
  return true
}

/** Neither kills nor faults may cause an error in the log, except for a refused key. */
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
    runs: Number(values.runs),
    seed: Number(values.seed),
    onWorld: print,
  })
  print(JSON.stringify({ ...counts, violations: violations.length }, null, 1))
  for (const violation of violations) print(violation)
  process.exitCode = violations.length > 0 ? 1 : 0
}
