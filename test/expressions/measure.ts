import { createContext, runInContext } from 'node:vm'
import { type Attack, attacksOn, textOf } from './attacks.ts'

export interface Measured {
  /** Milliseconds on the worst text of 1 MB; null if it was not tried. */
  readonly worstMs: number | null
  readonly worst: Attack
  /** The proof that the time grows faster than the text; undefined if it does not. */
  readonly fault: string | undefined
}

const megabyte = 2 ** 20
/** Long enough for an exponential expression to be endless, and short enough for all others. */
const shortest = 32
/** Shorter times are noise of the machine. */
const floorMs = 4
const step = 16
/** On 16 times the text a linear expression takes 16 times as long, a quadratic one 256 times. */
const mostGrowth = step ** 1.5
const mostRounds = 5
/** Of all attacks, those that took longest on a short text are tried on a long one. */
const finalists = 3

/** Times an expression on its attacks, short ones first: a slow expression would not end on a long one. */
export function measure(expression: RegExp): Measured {
  let attacks = attacksOn(expression)
  let worst = attacks[0] as Attack
  let worstMs = 0
  for (const length of [shortest, 1_024, megabyte / 64, megabyte / 16, megabyte / 4, megabyte]) {
    const { slowest, ms, endless } = findSlowest(expression, attacks, length)
    if (endless) return { worst: endless, worstMs: null, fault: `no end on ${length} characters` }
    for (const attack of length === shortest ? [] : slowest) {
      const growth = growthOf(expression, attack, length)
      const fault = `${growth.toFixed()} times as long on ${length} characters as on ${length / step}`
      if (growth > mostGrowth) return { worst: attack, worstMs: null, fault }
    }
    worst = slowest[0] ?? worst
    worstMs = ms
    if (length > 1_024) attacks = slowest
  }
  return { worst, worstMs, fault: undefined }
}

interface Slowest {
  slowest: Attack[]
  /** Of the first of them. */
  ms: number
  /** The attack on which it does not end. */
  endless?: Attack | undefined
}

function findSlowest(expression: RegExp, attacks: readonly Attack[], length: number): Slowest {
  const tried: { attack: Attack; ms: number }[] = []
  let current: Attack | undefined
  const work = () => {
    for (current of attacks) {
      const ms = wallTimeOf(expression, textOf(current, length))
      tried.push({ attack: current, ms })
      // Its growth decides: the other attacks are skipped.
      if (ms > 25 * floorMs && attacks.length > finalists) break
    }
  }
  if (!ends(work, length === shortest ? 2_000 : 20_000)) return { slowest: [], ms: 0, endless: current }
  const first = tried.sort((a, b) => b.ms - a.ms).slice(0, finalists)
  return { slowest: first.map(({ attack }) => attack), ms: first[0]?.ms ?? 0 }
}

/** Whether it ends: V8 can abort a match. */
function ends(work: () => void, timeout: number): boolean {
  try {
    runInContext('work()', createContext({ work }), { timeout })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return false
    throw error
  }
}

/**
 * How much longer it takes on 16 times the text. If that seems too much by the clock, the CPU time of this thread decides.
 * A busy machine adds to that too (caches, page faults), so the least of several rounds counts: what grows faster than the
 * text does so in each of them.
 */
function growthOf(expression: RegExp, attack: Attack, length: number): number {
  const [short, long] = [textOf(attack, length / step), textOf(attack, length)]
  const longMs = wallTimeOf(expression, long)
  const growth = longMs / wallTimeOf(expression, short)
  if (longMs < floorMs || growth <= mostGrowth) return Math.min(growth, mostGrowth)
  let [shortCpu, longCpu] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  for (let round = 0; round < mostRounds; round++) {
    shortCpu = Math.min(shortCpu, cpuTimeOf(expression, short))
    longCpu = Math.min(longCpu, cpuTimeOf(expression, long))
    if (longCpu / shortCpu <= mostGrowth) break
  }
  return longCpu / shortCpu
}

function wallTimeOf(expression: RegExp, text: string): number {
  const from = performance.now()
  apply(expression, text)
  return performance.now() - from
}

/** Over several runs, because the kernel counts in ticks of up to 10 ms. */
function cpuTimeOf(expression: RegExp, text: string): number {
  const from = process.threadCpuUsage()
  for (let runs = 1; ; runs++) {
    apply(expression, text)
    // Not the kernel's time, which is that of memory for the stack of the expression.
    const { user } = process.threadCpuUsage(from)
    if (user > 100_000) return user / runs
  }
}

function apply(expression: RegExp, text: string): void {
  if (expression.global) text.replace(expression, '')
  else expression.test(text)
}
