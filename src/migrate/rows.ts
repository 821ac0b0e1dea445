import { createHash } from 'node:crypto'
import { Problem } from '../core/problem.ts'
import type { Row } from '../core/row.ts'
import type { MoveTools, Progress } from '../migrate.ts'
import { type TableName, type Transfer, tableNames, tables } from '../stores/transfer/transfer.ts'
import { assetsOf } from './assets.ts'
import { patiently } from './patience.ts'

/** Few enough that a page of the longest prompts is no burden. */
const pageRows = 500

interface Sum {
  rows: number
  sha256: string
}
export type Sums = Record<TableName, Sum>

export interface Compared {
  table: TableName
  source: Sum
  target: Sum
  same: boolean
}

/** What there is to move. */
interface Survey {
  sums: Sums
  rows: number
  /** Of all objects that its tasks name. */
  bytes: number
}

type Stores = Record<'source' | 'target', Transfer>

/** Reads all rows once: how many they are, how many bytes they name, and what they add up to. */
export async function survey(source: Transfer, tools: MoveTools): Promise<Survey> {
  let [rows, bytes] = [0, 0]
  const sums = await sumUp(source, tools, (table, page) => {
    rows += page.length
    if (table === 'tasks') for (const task of page) for (const { asset } of assetsOf(task).assets) bytes += asset.bytes
    tools.report({ phase: 'counting', done: rows, total: null })
  })
  return { sums, rows, bytes }
}

/** Goes on behind the last row that is there: pages are written in the order of the key, each whole or not at all. */
export async function copyRows({ source, target }: Stores, { sums, rows }: Survey, tools: MoveTools): Promise<void> {
  const count = counter('rows', rows, tools)
  for (const table of tableNames) {
    const last = await patiently(() => target.last(table), tools)
    let copied = 0
    for await (const page of pagesOf(source, table, last, tools)) {
      await patiently(() => target.insert(table, page), tools).catch((error) => oneByOne(target, table, page, error))
      copied += page.length
      count(page.length)
    }
    count(sums[table].rows - copied)
  }
}

/** Whoever has to mend a row that is not taken must know which one it is. */
async function oneByOne(target: Transfer, table: TableName, page: readonly Row[], error: unknown): Promise<void> {
  if (error instanceof Problem) throw error
  for (const row of page) {
    await target.insert(table, [row]).catch((cause: Error) => {
      const { key }: { key: readonly string[] } = tables[table]
      const which = key.map((name) => `${name} ${row[name]}`).join(', ')
      const fix = 'mend it in the source, or remove it there, and run this again'
      throw new Error(`a row of ${table} is not taken (${which}): ${cause.message}; ${fix}`, { cause })
    })
  }
}

/** Reads both sides again and holds them against each other. */
export async function compare({ source, target }: Stores, { rows }: Survey, tools: MoveTools): Promise<Compared[]> {
  const count = counter('checking', 2 * rows, tools)
  const onPage = (_: TableName, page: readonly Row[]) => count(page.length)
  const sums = { source: await sumUp(source, tools, onPage), target: await sumUp(target, tools, onPage) }
  return tableNames.map((table) => {
    const [there, here] = [sums.source[table], sums.target[table]]
    return { table, source: there, target: here, same: there.rows === here.rows && there.sha256 === here.sha256 }
  })
}

/** One for all tables: equal only if all rows are. */
export function checksumOf(sums: Sums): string {
  const all = tableNames.map((table) => `${table} ${sums[table].rows} ${sums[table].sha256}`)
  return createHash('sha256').update(all.join('\n')).digest('hex')
}

/** Every row as JSON of its values in the order of the columns, a line each, in the order of the key. */
async function sumUp(
  store: Transfer,
  tools: MoveTools,
  onPage: (table: TableName, page: readonly Row[]) => void,
): Promise<Sums> {
  const sums: Partial<Sums> = {}
  for (const table of tableNames) {
    const digest = createHash('sha256')
    let rows = 0
    for await (const page of pagesOf(store, table, null, tools)) {
      for (const row of page) digest.update(`${JSON.stringify(tables[table].columns.map((name) => row[name]))}\n`)
      rows += page.length
      onPage(table, page)
    }
    sums[table] = { rows, sha256: digest.digest('hex') }
  }
  return sums as Sums
}

export async function* pagesOf(
  store: Transfer,
  table: TableName,
  from: Row | null,
  tools: MoveTools,
): AsyncGenerator<Row[], void> {
  let after = from
  for (;;) {
    tools.signal.throwIfAborted()
    const page = await patiently(() => store.read(table, after, pageRows), tools)
    if (page.length > 0) yield page
    if (page.length < pageRows) return
    after = page.at(-1) ?? null
  }
}

function counter(phase: Progress['phase'], total: number, { report }: MoveTools): (more: number) => void {
  let done = 0
  report({ phase, done, total })
  return (more) => {
    done += more
    report({ phase, done, total })
  }
}
