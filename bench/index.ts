import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { arch, cpus, release, tmpdir, totalmem, type } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { benchContent } from './contents.ts'
import type { Costs } from './costs.ts'
import { fillStore } from './fill.ts'
import { benchListeners } from './listeners.ts'
import { holds, type Line, toTable } from './measure.ts'
import { benchNews } from './news.ts'
import { benchPolls } from './polls.ts'
import { benchPostgres } from './postgres.ts'
import { benchStart } from './starts.ts'
import { benchSubmits } from './submits.ts'
import { benchWebhooks } from './webhooks.ts'

/*
 * `npm run bench [-- --quick] [--store postgres] [--only polls]`: each figure beside its limit, both measured in turn in
 * this one run.
 */
const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    store: { type: 'string', default: 'sqlite' },
    only: { type: 'string' },
  },
})
const { rounds, seconds, tasks } = values.quick
  ? { rounds: 3, seconds: 1.5, tasks: 100_000 }
  : { rounds: values.store === 'postgres' ? 5 : 15, seconds: 2, tasks: 1_000_000 }
const listening = values.quick
  ? { clients: 1_000, rounds: 1, changes: 100, idleSeconds: 3 }
  : { clients: 10_000, rounds: 5, changes: 500, idleSeconds: 20 }
const news = values.quick ? { films: 10, seconds: 5 } : { films: 100, seconds: 20 }
const workers = values.quick ? { workerRounds: 1, workerTasks: 200 } : { workerRounds: 3, workerTasks: 800 }

/** Those that take minutes and do not change with most commits: they are measured when they are asked for. */
const alone: ReadonlySet<string> = new Set(['webhooks'])

const folder = mkdtempSync(join(tmpdir(), 'filmgate-bench-'))
const lines: Line[] = []
try {
  if (values.store === 'postgres') {
    const found = await benchPostgres({ rounds, seconds, tasks, ...workers, say })
    lines.push(...found.lines)
    const costs: Costs = { machine: machineOf(), ...found.costs }
    if (!values.quick) writeFileSync(new URL('./costs.json', import.meta.url), `${JSON.stringify(costs, null, 2)}\n`)
  } else await benchEmbedded()
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function benchEmbedded(): Promise<void> {
  const parts: Record<string, () => Promise<Line[]>> = {
    starts: () => benchStart(folder, { rounds: Math.min(rounds, 5) }),
    polls() {
      const store = join(folder, 'polls')
      return benchPolls(store, fillStore(store, tasks), { rounds, seconds })
    },
    submits: () => benchSubmits(folder, { rounds, seconds }),
    content: () => benchContent(folder, { rounds, seconds }),
    listeners: async () => [
      ...(await benchListeners(join(folder, 'listeners'), listening)),
      ...(await benchNews(join(folder, 'news'), news)),
    ],
    webhooks: () => benchWebhooks(join(folder, 'webhooks'), { rounds, live: 400 }),
  }
  if (values.only && !parts[values.only]) throw new Error(`--only knows ${Object.keys(parts).join(', ')}`)
  for (const [name, measure] of Object.entries(parts)) {
    if (values.only ? values.only !== name : alone.has(name)) continue
    say(name)
    lines.push(...(await measure()))
  }
}

function machineOf(): string {
  return `${type()} ${release().split('-')[0]} ${arch()}, ${cpus().length} × ${cpus()[0]?.model.trim() || 'unknown processor'}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}`
}
const given = [
  values.quick ? '--quick' : '',
  values.store === 'postgres' ? '--store postgres' : '',
  values.only ? `--only ${values.only}` : '',
].filter(Boolean)
const asked = given.length > 0 ? ` -- ${given.join(' ')}` : ''
const compared = `Ratios are medians of ${rounds} repetitions, ours and the limit in turn`
const watched = 'Nothing is compared here: each figure is what one run found'
const report = `# Bench

Made by \`npm run bench${asked}\`. ${values.only === 'listeners' ? watched : compared}; all processes
share the machine: ${machineOf()}.

${toTable(lines)}
`
process.stdout.write(`\n${report}`)
const results = values.only
  ? `./results-${values.only}.md`
  : values.store === 'postgres'
    ? './results-postgres.md'
    : './results.md'
if (!values.quick) writeFileSync(new URL(results, import.meta.url), report)
process.exitCode = lines.every(holds) ? 0 : 1

function say(what: string): void {
  process.stdout.write(`Measuring ${what} …\n`)
}
