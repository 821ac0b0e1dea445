import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { type PostgresServer, startPostgres } from '../services/postgres.ts'
import { openArena } from './starvation-duels/arena.ts'
import type { Duel } from './starvation-duels/duel.ts'
import { type DuelName, duels } from './starvation-duels/index.ts'
import { measureAll, type Times } from './starvation-duels/measuring.ts'
import { NotPermitted } from './starvation-duels/silent-names.ts'

/*
 * Duels of one token that attacks and one that works, on a real service with default settings. Each promises that the
 * working token's p99 under attack is at most three times what it is alone, and that nothing of it goes wrong.
 */
export const stores = ['sqlite', 'postgres'] as const
export type StoreName = (typeof stores)[number]

export interface StarvationOptions {
  stores: readonly StoreName[]
  /** All duels by default. */
  names?: readonly DuelName[]
  /** Fewer measurements, and less time for them. */
  quick?: boolean
  say?: (line: string) => void
}

/** One measure of one duel on one store. */
export interface Outcome {
  duel: string
  store: StoreName
  measure: string
  alone: Times
  attacked: Times
  /** Of the two p99. */
  ratio: number
  /** How often each status was answered to the attacker. */
  answers: [string, number][]
  isKept: boolean
}

/** A duel that this machine can't run. */
export interface NotRun {
  duel: string
  store: StoreName
  reason: string
}

const mostRatio = 3
/** A p99 below this always passes: a busy machine of two cores causes as much by itself. */
const noiseMs = 50
const warmUps = 3
/** From the start of the attack to the first measurement. */
const leadMs = 2_000

const phases = {
  // With fewer measurements the p99 is the worst one.
  usual: { count: 200, aloneMs: 20_000, attackMs: 20_000 },
  quick: { count: 8, aloneMs: 10_000, attackMs: 8_000 },
}

export async function runStarvation(options: StarvationOptions): Promise<(Outcome | NotRun)[]> {
  const { stores, names = Object.keys(duels) as DuelName[], say = () => {} } = options
  await using stack = new AsyncDisposableStack()
  const postgres = stores.includes('postgres') ? stack.use(await startPostgres()) : undefined
  const rows: (Outcome | NotRun)[] = []
  for (const store of stores) {
    for (const name of names) {
      const begun = performance.now()
      const url = store === 'postgres' && postgres ? await newDatabase(postgres, name) : undefined
      rows.push(...(await runDuel(name, { store, url, quick: options.quick ?? false })))
      say(`  ${store}: ${duels[name].title}: ${Math.round((performance.now() - begun) / 1000)} s`)
    }
  }
  return rows
}

interface Ground {
  store: StoreName
  url: string | undefined
  quick: boolean
}

async function runDuel(name: DuelName, { store, url, quick }: Ground): Promise<(Outcome | NotRun)[]> {
  const duel: Duel = duels[name]
  const { aloneMs, attackMs, ...phase } = phases[quick ? 'quick' : 'usual']
  const count = Math.min(phase.count, duel.count ?? phase.count)
  await using stack = new AsyncDisposableStack()
  let arena: Awaited<ReturnType<typeof openArena>>
  try {
    arena = await openArena(name, url, stack)
  } catch (error) {
    if (!(error instanceof NotPermitted)) throw error
    return [{ duel: duel.title, store, reason: error.message }]
  }
  await arena.prepare()
  const measures = await duel.openMeasures(arena.world)
  const lanes = duel.lanes ?? 1
  await measureAll(measures, { count: warmUps, withinMs: aloneMs, lanes })
  const alone = await measureAll(measures, { count, withinMs: aloneMs, lanes })
  await arena.begin()
  await pause(leadMs)
  const attacked = await measureAll(measures, { count, withinMs: attackMs, lanes })
  const answers = await arena.answers()
  return measures.map((measure) => {
    const both = { alone: timesOf(alone.get(measure)), attacked: timesOf(attacked.get(measure)) }
    return { duel: duel.title, store, measure: measure.name, ...both, ...judge(both), answers }
  })
}

function timesOf(times: Times | undefined): Times {
  if (!times || times.count === 0) throw new Error('nothing was measured')
  return times
}

export function judge({ alone, attacked }: { alone: Times; attacked: Times }): { ratio: number; isKept: boolean } {
  const ratio = attacked.p99 / Math.max(alone.p99, 0.1)
  const isSound = attacked.failures.length === 0 && attacked.unfinished === 0
  return { ratio, isKept: isSound && (ratio <= mostRatio || attacked.p99 <= noiseMs) }
}

async function newDatabase({ url }: PostgresServer, name: DuelName): Promise<string> {
  const database = `duel_${name.replaceAll('-', '_')}`
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(`CREATE DATABASE ${database}`)
  await client.end()
  return url.replace(/\/postgres$/, `/${database}`)
}

/** The head of a table, and a row for each. */
export function starvationTable(rows: readonly (Outcome | NotRun)[]): string[][] {
  const head = ['store', 'attack', 'working', 'n', 'p50 alone', 'p99', 'p50 attacked', 'p99', 'ratio']
  return [[...head, 'kept', "attacker's answers"], ...rows.map(rowOf)]
}

function rowOf(row: Outcome | NotRun): string[] {
  if ('reason' in row) return [row.store, row.duel, `not run: ${row.reason}`, ...Array(8).fill('')]
  const { store, duel, measure, alone, attacked, ratio, isKept, answers } = row
  const more = attacked.unfinished > 0 ? '>' : ''
  const verdict = isKept ? (ratio <= mostRatio ? 'yes' : `yes (≤ ${noiseMs} ms)`) : 'NO'
  const wrong = attacked.failures.length > 0 ? ', with failures' : ''
  return [
    store,
    duel,
    measure,
    `${alone.count}/${attacked.count}`,
    shown(alone.p50),
    shown(alone.p99),
    shown(attacked.p50),
    `${more}${shown(attacked.p99)}`,
    `${more}${ratio.toFixed(1)}`,
    `${verdict}${wrong}`,
    answers.map(([status, count]) => `${status} × ${count}`).join(', ') || 'none yet',
  ]
}

function shown(ms: number): string {
  return ms < 10 ? ms.toFixed(1) : String(Math.round(ms))
}
