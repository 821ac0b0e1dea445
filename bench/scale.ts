import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import type { Costs } from './costs.ts'
import { machineOf } from './machine.ts'
import { assumptions } from './scale/demand.ts'
import { benchPartitions } from './scale/partitions.ts'
import { decodersOfWorker, planSteps } from './scale/plan.ts'
import { assumptionRows, measuredRows, stepRows, table, taskRows, useRows } from './scale/tables.ts'

/*
 * `node bench/scale.ts [--decoders 8] [--write]`: what up to 100 million tasks a day need. The costs of one task are from
 * bench/costs.json, measured by `npm run bench -- --store postgres`. The rest is calculated. `--write` writes the tables
 * into docs/scaling.md.
 *
 * `node bench/scale.ts --partitions [--rows 2000000] [--write]`: measures one table of tasks against a partition for each
 * day, on a PostgreSQL that it starts.
 */
const days = [100_000, 1_000_000, 10_000_000, 100_000_000]
const widened = 8

const { values } = parseArgs({
  options: {
    decoders: { type: 'string', default: String(decodersOfWorker) },
    partitions: { type: 'boolean', default: false },
    rows: { type: 'string', default: '2000000' },
    write: { type: 'boolean', default: false },
  },
})
const costs = JSON.parse(readFileSync(new URL('./costs.json', import.meta.url), 'utf8')) as Costs
const planned = (decoders: number) => planSteps({ costs, given: assumptions, decoders }, days)

if (values.partitions) await comparePartitions()
else if (values.write) writeAll()
else {
  const decoders = Number(values.decoders)
  const steps = planned(decoders)
  show(`Measured on ${costs.machine}`, measuredRows(costs))
  show('Assumed', assumptionRows(assumptions))
  show('One task', taskRows(costs, assumptions))
  show(
    `At the peak; a worker has one core for each video that it decodes at once: ${decoders}`,
    stepRows(steps, assumptions),
  )
  show('What is used most', useRows(steps))
}

function show(title: string, rows: string[][]): void {
  process.stdout.write(`${title}:\n\n${table(rows)}\n\n`)
}

async function comparePartitions(): Promise<void> {
  const rows = Number(values.rows)
  if (!(rows >= 10_000)) throw new Error(`--rows is '${values.rows}'. Use a number from 10000`)
  const say = (part: string) => process.stdout.write(`Measuring ${part} …\n`)
  const found = await benchPartitions({ rows, days: 30, rounds: 3, say })
  const partitions = `Measured with ${rows} tasks of 30 days on ${machineOf()}, PostgreSQL and bench on one machine.\n\n${table(found)}`
  process.stdout.write(`\n${partitions}\n`)
  if (values.write) writeTables({ partitions })
}

function writeAll(): void {
  const from = `With what was measured on ${costs.machine}.\n\n`
  writeTables({
    measured: `Measured on ${costs.machine}.\n\n${table(measuredRows(costs))}`,
    assumed: table(assumptionRows(assumptions)),
    task: table(taskRows(costs, assumptions)),
    steps: `${from}${table(stepRows(planned(decodersOfWorker), assumptions))}`,
    widened: `${from}${table(stepRows(planned(widened), assumptions))}`,
  })
}

/** Replaces the text between `<!-- name -->` and `<!-- /name -->` in docs/scaling.md. */
function writeTables(tables: Record<string, string>): void {
  const page = new URL('../docs/scaling.md', import.meta.url)
  let text = readFileSync(page, 'utf8')
  for (const [name, table] of Object.entries(tables)) {
    const between = new RegExp(`(<!-- ${name} -->\n).*?(<!-- /${name} -->)`, 's')
    if (!between.test(text)) throw new Error(`docs/scaling.md has no <!-- ${name} -->`)
    text = text.replace(between, (_, from: string, to: string) => `${from}${table}\n${to}`)
  }
  writeFileSync(page, text)
}
