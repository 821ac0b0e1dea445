import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Costs } from './costs.ts'
import { machineOf } from './machine.ts'
import { holds, type Line, toTable } from './measure.ts'

/*
 * `npm run bench [-- --quick] [--store postgres] [--only polls]`: compares each figure with its limit. Both are measured
 * in turn, in the same run.
 *
 * `npm run bench -- --soak [200000] [--store postgres] [--quick]`: so many tasks through one process of the service.
 *
 * `npm run bench -- --profile [--quick]`: what the CPU is used for.
 *
 * `npm run bench -- --against ../older [--rounds 3] [--quick] [--store postgres] [--only polls]`: another checkout and this
 * one, in turn.
 */
const { values, positionals } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    store: { type: 'string', default: 'sqlite' },
    only: { type: 'string' },
    soak: { type: 'boolean', default: false },
    profile: { type: 'boolean', default: false },
    against: { type: 'string' },
    rounds: { type: 'string', default: '3' },
  },
  allowPositionals: true,
})
if (values.store !== 'sqlite' && values.store !== 'postgres')
  throw new Error(`--store is '${values.store}'. Use sqlite or postgres`)
if (values.only && (values.soak || values.profile || values.store === 'postgres'))
  throw new Error('--only selects a part of the bench of the service on SQLite. Leave it out')
const { rounds, seconds, tasks } = values.quick
  ? { rounds: 3, seconds: 1.5, tasks: 100_000 }
  : { rounds: values.store === 'postgres' ? 5 : 15, seconds: 2, tasks: 1_000_000 }
const soakTasks = Number(positionals[0] ?? (values.quick ? 2_000 : 200_000))
if (positionals.length > (values.soak ? 1 : 0) || !(soakTasks >= 40))
  throw new Error(`'${positionals.join(' ')}' is not understood. Only --soak accepts a number, from 40`)
const listening = values.quick
  ? { clients: 1_000, rounds: 1, changes: 100, idleSeconds: 3 }
  : { clients: 10_000, rounds: 5, changes: 500, idleSeconds: 20 }
const news = values.quick ? { videos: 10, seconds: 5 } : { videos: 100, seconds: 20 }
const engine = values.quick ? { rounds: 1, tasks: 100, floodSeconds: 3 } : { rounds: 3, tasks: 300, floodSeconds: 5 }
const inFlight = values.quick ? { tasks: 10_000, seconds: 5, rounds: 1 } : { tasks: 100_000, seconds: 20, rounds: 5 }
const workers = values.quick ? { workerRounds: 1, workerTasks: 200 } : { workerRounds: 3, workerTasks: 800 }

/** These take minutes and rarely change: they run only with `--only`. */
const onDemand: ReadonlySet<string> = new Set(['webhooks', 'consoles'])

interface Found {
  lines: Line[]
  text: string
  how: string
}

const compared = `Ratios are medians of usually ${rounds} repetitions, ours and the limit in turn`
const watched = 'Nothing is compared here: each figure is from one run'

const folder = mkdtempSync(join(tmpdir(), 'filmgate-bench-'))
let found: Found
try {
  if (values.against !== undefined) found = await benchOther(values.against)
  else if (values.soak) found = await benchLong()
  else if (values.profile) found = await benchParts()
  else {
    const lines = values.store === 'postgres' ? await benchShared() : await benchEmbedded()
    found = { lines, text: toTable(lines), how: values.only === 'listeners' ? watched : compared }
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function benchOther(other: string): Promise<Found> {
  const { benchAgainst } = await import('./against.ts')
  const flags = [...(values.quick ? ['--quick'] : []), '--store', values.store]
  // On PostgreSQL the bench has no parts.
  const parts =
    values.store === 'postgres'
      ? ['']
      : values.only
        ? [values.only]
        : ['starts', 'polls', 'submits', 'content', 'engine', 'in-flight']
  const text = await benchAgainst({ other, folder, rounds: Number(values.rounds), parts, flags, say })
  return { lines: [], text, how: `Medians and spread; rounds: ${values.rounds}, before and after in turn` }
}

async function benchLong(): Promise<Found> {
  const { benchSoak } = await import('./soak.ts')
  const store = values.store === 'postgres' ? 'postgres' : 'sqlite'
  const log = (row: string) => process.stdout.write(`${row}\n`)
  const { lines, course } = await benchSoak(folder, { tasks: soakTasks, store, say: log })
  return { lines, text: [toTable(lines), '', ...course].join('\n'), how: watched }
}

async function benchParts(): Promise<Found> {
  const { benchProfiles } = await import('./profiles.ts')
  const how = 'CPU is sampled by the profiler, which costs some itself'
  return { lines: [], text: await benchProfiles(folder, { seconds: 4 * seconds, tasks: 100_000 }), how }
}

async function benchShared(): Promise<Line[]> {
  const { benchPostgres } = await import('./postgres.ts')
  const { lines, costs } = await benchPostgres({ rounds, seconds, tasks, ...workers, say })
  const all: Costs = { machine: machineOf(), ...costs }
  if (!values.quick) writeFileSync(new URL('./costs.json', import.meta.url), `${JSON.stringify(all, null, 2)}\n`)
  return lines
}

/** A part is imported when it runs: on the source of another version some can't be. */
async function benchEmbedded(): Promise<Line[]> {
  const parts: Record<string, () => Promise<Line[]>> = {
    async starts() {
      const { benchLargeStart, benchStart } = await import('./starts.ts')
      const few = Math.min(rounds, 5)
      return [
        ...(await benchStart(folder, { rounds: few })),
        ...(await benchLargeStart(folder, { rounds: few, tasks })),
      ]
    },
    async polls() {
      const [{ benchPolls }, { fillStore }] = [await import('./polls.ts'), await import('./fill.ts')]
      const store = join(folder, 'polls')
      return benchPolls(store, fillStore(store, tasks), { rounds, seconds })
    },
    meters: async () =>
      (await import('./meters.ts')).benchMeters({
        rounds: Math.min(rounds, 5),
        polls: values.quick ? 200_000 : 1_000_000,
      }),
    submits: async () => (await import('./submits.ts')).benchSubmits(folder, { rounds, seconds }),
    content: async () =>
      (await import('./contents.ts')).benchContent(folder, { rounds, seconds, isQuick: values.quick }),
    async listeners() {
      const [{ benchListeners }, { benchNews }] = [await import('./listeners.ts'), await import('./news.ts')]
      return [
        ...(await benchListeners(join(folder, 'listeners'), listening)),
        ...(await benchNews(join(folder, 'news'), news)),
      ]
    },
    verification: async () =>
      (await import('./verification.ts')).benchVerification(join(folder, 'verification'), {
        rounds: Math.min(rounds, 5),
      }),
    engine: async () => (await import('./engine.ts')).benchEngine(join(folder, 'engine'), engine),
    'in-flight': async () => (await import('./in-flight.ts')).benchInFlight(folder, inFlight),
    consoles: async () =>
      (await import('./consoles.ts')).benchConsoles(folder, {
        rounds,
        seconds,
        tasks,
        watchSeconds: values.quick ? 6 : 15,
      }),
    webhooks: async () =>
      (await import('./webhooks.ts')).benchWebhooks(join(folder, 'webhooks'), { rounds, live: 400 }),
  }
  if (values.only && !parts[values.only])
    throw new Error(`--only is '${values.only}'. Use one of: ${Object.keys(parts).join(', ')}`)
  const lines: Line[] = []
  for (const [name, measure] of Object.entries(parts)) {
    if (values.only ? values.only !== name : onDemand.has(name)) continue
    say(name)
    lines.push(...(await measure()))
  }
  return lines
}

const given = [
  values.quick ? '--quick' : '',
  values.store === 'postgres' ? '--store postgres' : '',
  values.only ? `--only ${values.only}` : '',
  values.soak ? `--soak ${soakTasks}` : '',
  values.profile ? '--profile' : '',
  values.against === undefined ? '' : `--against ${basename(values.against)} --rounds ${values.rounds}`,
].filter(Boolean)
const flags = given.length > 0 ? ` -- ${given.join(' ')}` : ''
const report = `# Bench

Generated by \`npm run bench${flags}\`. ${found.how}; all processes
share the machine: ${machineOf()}.

${found.text}
`
process.stdout.write(`\n${report}`)
const isWhole = !values.only || values.against !== undefined
const kinds = [
  values.against !== undefined && 'against',
  values.soak && 'soak',
  values.profile && 'profile',
  values.only,
  isWhole && values.store === 'postgres' && 'postgres',
]
const results = `./${['results', ...kinds.filter(Boolean)].join('-')}.md`
if (!values.quick) writeFileSync(new URL(results, import.meta.url), report)
process.exitCode = found.lines.every(holds) ? 0 : 1

function say(part: string): void {
  process.stdout.write(`Measuring ${part} …\n`)
}
