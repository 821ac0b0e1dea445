import { parseArgs } from 'node:util'
import { submitFaults } from '../../simulators/upstream.ts'
import { judgeCrowd, runCrowd } from './crowd.ts'
import { runKills } from './kills.ts'
import { runMatrix } from './matrix.ts'
import { runProviders } from './providers.ts'
import { pairsOf, runSimulations } from './simulations.ts'
import { runStarvation, type StoreName, starvationTable, stores } from './starvation.ts'
import { type DuelName, duels } from './starvation-duels/index.ts'
import { describeWindow, measureWindow, quantile } from './window.ts'

/*
 * `npm run faults [-- --quick]`: every fault that one machine can have, as tables: the matrix row by row, a hundred
 * thousand simulated crashes, hundreds of real kills, duels of two tokens. `--only` runs one part; `--store` and
 * `--duel` are for the duels of `starvation`. `node test/faults/planted.ts` plants bugs instead, and runs
 * the tests that have to catch them.
 */
const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    seed: { type: 'string', default: String(Math.floor(Date.now() / 1000)) },
    submits: { type: 'string' },
    runs: { type: 'string' },
    only: { type: 'string' },
    store: { type: 'string', default: 'sqlite' },
    duel: { type: 'string' },
  },
})
const seed = Number(values.seed)
const submits = Number(values.submits ?? (values.quick ? 5_000 : 100_000))
const runs = Number(values.runs ?? (values.quick ? 25 : 500))
const wanted = (part: string) => values.only === undefined || values.only === part
let failed = false

process.stdout.write(`Seed ${seed} (--seed ${seed} repeats it)\n`)
if (wanted('matrix')) failed = !(await runMatrix()) || failed
if (wanted('simulation')) failed = !(await showSimulations()) || failed
if (wanted('crowd')) failed = !(await showCrowd()) || failed
if (wanted('providers')) failed = !(await showProviders()) || failed
if (wanted('window')) failed = !(await showWindow()) || failed
if (wanted('kills')) failed = !(await showKills()) || failed
if (wanted('starvation')) failed = !(await showStarvation()) || failed
process.exitCode = failed ? 1 : 0

async function showSimulations(): Promise<boolean> {
  const begun = performance.now()
  let said = 0
  const onWorld = (done: number) => {
    if (done - said < submits / 10) return
    said = done
    process.stdout.write(`  ${done} simulated submits …\n`)
  }
  const summaries = await runSimulations({ submits, seed, onWorld })
  const rows = summaries.map((sum) => [
    sum.name,
    sum.tasks,
    sum.accepts,
    sum.crashes,
    sum.resubmits,
    sum.unknown,
    sum.orphans,
    (sum.stranded / Math.max(1, sum.crashes)).toFixed(2),
    sum.unaskedRepeats,
    sum.wrongBytes,
    sum.violations.length,
    `${sum.covered.size} of ${pairsOf(submitFaults.length)}`,
  ])
  const head = [
    'provider',
    'submits',
    'accepts',
    'crashes',
    'new attempts',
    'unknown',
    'orphans',
    'stranded per crash',
    'unasked repeats',
    'wrong bytes',
    'WRONG',
    'crash × fault',
  ]
  process.stdout.write(
    `\nSimulated in ${Math.round((performance.now() - begun) / 1000)} s\n${table([head, ...rows])}\n`,
  )
  const violations = summaries.flatMap((sum) => sum.violations)
  for (const violation of violations.slice(0, 20)) process.stdout.write(`  ${violation}\n`)
  return violations.length === 0
}

async function showCrowd(): Promise<boolean> {
  const report = await runCrowd(values.quick ? 1_000 : 10_000)
  const { crowd, aloneMs, besideMs, claimP50Ms, claimP99Ms, rssMb } = report
  process.stdout.write(`
${crowd} tasks in flight at an account that hangs
  50 tasks of a healthy account take ${Math.round(besideMs)} ms, without the crowd ${Math.round(aloneMs)} ms
  a claim takes ${claimP50Ms.toFixed(1)} ms, p99 ${claimP99Ms.toFixed(1)} ms; resident memory ${rssMb} MB
`)
  const violations = judgeCrowd(report)
  for (const violation of violations) process.stdout.write(`  ${violation}\n`)
  return violations.length === 0
}

async function showProviders(): Promise<boolean> {
  const say = (line: string) => void process.stdout.write(`${line}\n`)
  const { ends, accepts, attempts, unaskedRepeats, wrongBytes, violations } = await runProviders({
    tasks: values.quick ? 1_000 : 10_000,
    seed,
    say,
  })
  const codes = [...new Set(Object.values(ends).flatMap(Object.keys))].sort()
  const rows = Object.entries(ends).map(([name, counts]) => [
    name,
    ...codes.map((code) => counts[code] ?? 0),
    unaskedRepeats[name] ?? 0,
    wrongBytes[name] ?? 0,
  ])
  say(
    `\n${table([['provider', ...codes, 'unasked repeats', 'wrong bytes'], ...rows])}\n${attempts} attempts, ${accepts} accepts`,
  )
  for (const violation of violations.slice(0, 20)) say(`  ${violation}`)
  return violations.length === 0
}

/** The time in which a crash leaves a task unknown that was never sent. */
async function showWindow(): Promise<boolean> {
  const crowd = { clients: 16, tasks: values.quick ? 160 : 600 }
  const windows = await measureWindow(crowd)
  const alone = { clients: 1, tasks: 100 }
  process.stdout.write(`\n${describeWindow(crowd, windows)}\n${describeWindow(alone, await measureWindow(alone))}\n`)
  const isShort = quantile(windows, 0.5) <= 5
  if (!isShort) process.stdout.write('  the p50 of 16 clients is more than 5 ms\n')
  return isShort
}

async function showKills(): Promise<boolean> {
  const { violations, byTarget, ...counts } = await runKills({ runs, seed })
  process.stdout.write(`\nReal kills\n${table([Object.keys(counts), Object.values(counts).map(String)])}\n`)
  const rows = Object.entries(byTarget).map(([name, columns]) => [name, ...Object.values(columns)])
  process.stdout.write(`\n${table([['provider', ...Object.keys(Object.values(byTarget)[0] ?? {})], ...rows])}\n`)
  for (const violation of violations) process.stdout.write(`  ${violation}\n`)
  return violations.length === 0
}

/** How much the worst behaviour of one token slows down another. */
async function showStarvation(): Promise<boolean> {
  const say = (line: string) => void process.stdout.write(`${line}\n`)
  const chosen = values.store === 'both' ? stores : [storeNamed(values.store)]
  const names = values.duel === undefined ? {} : { names: [duelNamed(values.duel)] }
  const rows = await runStarvation({ stores: chosen, quick: values.quick, say, ...names })
  say(`\nOne token attacks, another works: its times in ms\n${table(starvationTable(rows))}`)
  const outcomes = rows.filter((row) => 'isKept' in row)
  for (const { store, measure, alone, attacked } of outcomes)
    for (const failure of [...alone.failures, ...attacked.failures]) say(`  ${store}: ${measure}: ${failure}`)
  return outcomes.length > 0 && outcomes.every(({ isKept }) => isKept)
}

function storeNamed(name: string): StoreName {
  const store = stores.find((one) => one === name)
  if (!store) throw new Error(`--store must be one of ${stores.join(', ')}, both`)
  return store
}

function duelNamed(name: string): DuelName {
  if (!Object.hasOwn(duels, name)) throw new Error(`--duel must be one of ${Object.keys(duels).join(', ')}`)
  return name as DuelName
}

function table(rows: (string | number)[][]): string {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => String(row[at]).length)))
  return rows.map((row) => `  ${row.map((cell, at) => String(cell).padEnd(widths[at] ?? 0)).join('  ')}`).join('\n')
}
