import { createHash } from 'node:crypto'
import { Problem } from '../core/problem.ts'
import type { Row } from '../core/row.ts'
import type { Asset, TaskImage, TaskSource } from '../core/task.ts'
import type { MoveTools, Progress } from '../migrate.ts'
import { type TableName, type Transfer, tableNames, tables } from '../stores/transfer/transfer.ts'

/** Small enough that a page of the longest prompts fits into memory. */
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

/** The size of a move. */
interface Survey {
  sums: Sums
  rows: number
  /** Of all objects that the tasks name. */
  bytes: number
}

type Stores = Record<'source' | 'target', Transfer>

/** Reads all rows once: counts them and their objects, and computes the checksums. */
export async function survey(source: Transfer, tools: MoveTools): Promise<Survey> {
  let [rows, bytes] = [0, 0]
  const sums = await sumUp(source, tools, (table, page) => {
    rows += page.length
    if (table === 'tasks') for (const task of page) for (const { asset } of assetsOf(task).assets) bytes += asset.bytes
    tools.report({ phase: 'counting', done: rows, total: null })
  })
  return { sums, rows, bytes }
}

/** Continues after the last row of the target: pages are written in the order of the key, each as a whole. */
export async function copyRows({ source, target }: Stores, { sums, rows }: Survey, tools: MoveTools): Promise<void> {
  const count = counter('rows', rows, tools)
  for (const table of tableNames) {
    const last = await withRetries(() => target.last(table), tools)
    let copied = 0
    for await (const page of pagesOf(source, table, last, tools)) {
      await withRetries(() => target.insert(table, page), tools).catch((error) => oneByOne(target, table, page, error))
      copied += page.length
      count(page.length)
    }
    count(sums[table].rows - copied)
  }
}

/** Finds the row that the target refuses, so that the operator can fix it. */
async function oneByOne(target: Transfer, table: TableName, page: readonly Row[], error: unknown): Promise<void> {
  if (error instanceof Problem) throw error
  for (const row of page) {
    await target.insert(table, [row]).catch((cause: Error) => {
      const { key }: { key: readonly string[] } = tables[table]
      const rowKey = key.map((name) => `${name} ${row[name]}`).join(', ')
      const fix = 'fix it in the source, or remove it there, and run this command again'
      throw new Error(`the target refuses a row of ${table} (${rowKey}): ${cause.message}; ${fix}`, { cause })
    })
  }
}

/** Reads both sides again and compares them. */
export async function compare({ source, target }: Stores, { rows }: Survey, tools: MoveTools): Promise<Compared[]> {
  const count = counter('checking', 2 * rows, tools)
  const onPage = (_: TableName, page: readonly Row[]) => count(page.length)
  const sums = { source: await sumUp(source, tools, onPage), target: await sumUp(target, tools, onPage) }
  return tableNames.map((table) => {
    const [there, here] = [sums.source[table], sums.target[table]]
    return { table, source: there, target: here, same: there.rows === here.rows && there.sha256 === here.sha256 }
  })
}

/** One checksum of all tables. */
export function checksumOf(sums: Sums): string {
  const all = tableNames.map((table) => `${table} ${sums[table].rows} ${sums[table].sha256}`)
  return createHash('sha256').update(all.join('\n')).digest('hex')
}

/** The checksum covers one line per row, in the order of the key: its values as JSON, in the order of the columns. */
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
    const page = await withRetries(() => store.read(table, after, pageRows), tools)
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

const pausesMs = [500, 2_000, 8_000]

/** A short outage of a database or a bucket must not end a move of hours. All work here may be repeated. */
export async function withRetries<Result>(
  work: () => Promise<Result>,
  { sleep, signal }: Pick<MoveTools, 'sleep' | 'signal'>,
): Promise<Result> {
  for (const ms of pausesMs) {
    try {
      return await work()
    } catch (error) {
      if (signal.aborted || !(error instanceof Problem && error.retryable)) throw error
    }
    await sleep(ms, signal)
    signal.throwIfAborted()
  }
  return work()
}

export interface TaskAsset {
  task: string
  asset: Asset
}

/** The objects that the row of a task names. `broken`: the columns that can't be read. */
export function assetsOf(row: Row): { assets: TaskAsset[]; broken: string[] } {
  const task = String(row.id)
  const assets: TaskAsset[] = []
  const broken: string[] = []
  for (const column of ['image', 'video', 'source'] as const) {
    const text = row[column]
    if (typeof text !== 'string') continue
    try {
      const asset = assetIn(JSON.parse(text))
      if (asset) assets.push({ task, asset })
    } catch {
      broken.push(column)
    }
  }
  return { assets, broken }
}

function assetIn(value: TaskImage | TaskSource | Asset): Asset | null {
  // An image that is not fetched yet is not in the bucket, and neither is a source that is drawn again.
  const asset = 'url' in value ? null : 'asset' in value ? value.asset : value
  if (asset === null) return null
  const { key, bytes, sha256 } = asset
  if (typeof key !== 'string' || typeof bytes !== 'number' || typeof sha256 !== 'string') throw new Error('no asset')
  return { key, bytes, sha256 }
}
