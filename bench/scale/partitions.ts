import { startPostgres } from '../../test/services/postgres.ts'
import { median } from '../measure.ts'
import { storeLoad } from '../postgres-load.ts'
import { intoTasks, valuesOf } from '../postgres-rows.ts'
import {
  beginOf,
  fillShapes,
  idOf,
  indexesOf,
  isPossible,
  makeIndexes,
  newId,
  openShape,
  owners,
  partitionOf,
  type Shape,
  type Shaped,
  type Sizes,
  shapes,
} from './partition-shapes.ts'

/*
 * Tasks of many days in one table, and in a partition for each day, on one PostgreSQL: what a partition changes for polls,
 * lists, claims, inserts, vacuum and removal. The store does not use partitions yet.
 */
interface PartitionBench extends Sizes {
  rounds: number
  say: (part: string) => void
}

interface World extends PartitionBench {
  all: readonly [Shaped, Shaped]
}

/** Of one statement, as PostgreSQL counts it. */
interface Used {
  ms: number
  /** Pages of 8 KB that it looked at, and how many of them were not in memory. */
  pages: number
  missed: number
  walBytes: number
}

export async function benchPartitions(bench: PartitionBench): Promise<string[][]> {
  await using server = await startPostgres({
    // About a tenth of the rows fits, as in a large installation.
    shared_buffers: `${Math.max(16, Math.round(bench.rows / 15_000))}MB`,
    max_wal_size: '16GB',
    autovacuum: 'off',
    shared_preload_libraries: 'pg_stat_statements',
    'pg_stat_statements.track_planning': 'on',
  })
  // Opening the store creates its tables.
  await storeLoad({ url: server.url, kind: 'read', clients: 1, seconds: 0.1, tasks: 1 })
  const all = [await openShape(server.url, 'whole'), await openShape(server.url, 'daily')] as const
  const world: World = { ...bench, all }
  try {
    await all[0].client.query('CREATE EXTENSION pg_stat_statements SCHEMA public')
    bench.say(`${bench.rows} tasks of ${bench.days} days, twice`)
    await fillShapes(all, bench)
    return [
      ['what', 'one table', 'a partition for each day'],
      ...(await sizeRows(world)),
      ...(await readRows(world)),
      await insertRow(world),
      await vacuumRow(world),
      await removeRow(world),
      await attachRow(world),
    ]
  } finally {
    for (const { client } of all) await client.end()
  }
}

async function number({ client }: Shaped, select: string): Promise<number> {
  const { rows } = await client.query<{ value: string }>(`SELECT (${select}) AS value`)
  return Number(rows[0]?.value)
}

async function sizeRows({ all: [whole, daily], days }: World): Promise<string[][]> {
  const size = (kind: string) => number(whole, `pg_${kind}_size('tasks')`)
  const sum = (kind: string) =>
    number(daily, `SELECT sum(pg_${kind}_size(relid)) FROM pg_partition_tree('tasks') WHERE isleaf`)
  const newest = await number(daily, `pg_indexes_size('${partitionOf(days - 1)}')`)
  const keys = await number(daily, "pg_indexes_size('keys')")
  return [
    ['rows', mb(await size('table')), mb(await sum('table'))],
    ['indexes', mb(await size('indexes')), mb(await sum('indexes'))],
    ['indexes that new tasks change', mb(await size('indexes')), `${mb(newest)}, and ${mb(keys)} of keys`],
  ]
}

/** A statement, and the values of each of its calls. */
interface Reading {
  name: string
  text: string
  values: () => string[]
  calls: number
}

function readingsOf({ rows, days, ids }: World & { ids: (recent: boolean) => string }): Reading[] {
  const view = 'SELECT id, owner, model, prompt, state, progress, created_at FROM tasks'
  const page = `${view} WHERE owner = $1 AND id < $2 AND deleted_at IS NULL ORDER BY id DESC LIMIT 20`
  const owner = () => `owner ${Math.floor(Math.random() * Math.min(owners, rows))}`
  const many = () => [Array.from({ length: 64 }, () => ids(true)).join()]
  const end = beginOf(days)
  return [
    { name: 'poll, newest day', text: `${view} WHERE id = $1`, values: () => [ids(true)], calls: 2_000 },
    { name: 'poll, any day', text: `${view} WHERE id = $1`, values: () => [ids(false)], calls: 2_000 },
    {
      name: '64 polls in one statement, `id = ANY(…)`',
      text: `${view} WHERE id = ANY(string_to_array($1, ','))`,
      values: many,
      calls: 200,
    },
    {
      name: '64 polls in one statement, joined',
      text: `${view} JOIN unnest(string_to_array($1, ',')) AS asked (asked) ON id = asked COLLATE "C"`,
      values: many,
      calls: 200,
    },
    { name: 'first page of a list', text: page, values: () => [owner(), end], calls: 500 },
    { name: 'first page, an owner with 3 tasks', text: page, values: () => ['quiet', end], calls: 500 },
    {
      name: 'claim: first 64 of a queue',
      text: headsOf('tasks', "state = 'queued' AND"),
      values: () => [],
      calls: 200,
    },
  ]
}

const headsOf = (table: string, where: string) =>
  `SELECT id, due_at FROM ${table} WHERE ${where} card = 'studio' AND owner = 'owner 2' ORDER BY due_at LIMIT 64`

async function readRows(world: World): Promise<string[][]> {
  const { rows, days, rounds, all, say } = world
  const { rows: found } = await all[0].client.query<{ id: string }>(
    `SELECT ${idOf(world, 'n')} AS id FROM generate_series(1, ${rows}, greatest(1, ${rows} / 200000)) AS n`,
  )
  const today = Math.ceil(found.length / days)
  const ids = (recent: boolean) =>
    found[Math.floor(recent ? found.length - Math.random() * today : Math.random() * found.length)]?.id ?? ''
  const table: string[][] = []
  for (const reading of readingsOf({ ...world, ids })) {
    say(reading.name)
    const used = await inTurn(rounds, (shape) => read(world, shape, reading))
    table.push([reading.name, toRead(used.whole), toRead(used.daily)])
  }
  const apart = { name: 'the same, queued tasks in a table of their own', text: headsOf('schedule', '') }
  const [, daily] = all
  const used = await measured(daily, 200, () => daily.client.query({ ...apart, values: [] }))
  return [...table, [apart.name, '', toRead(used)]]
}

async function read({ all }: World, shape: Shape, { name, text, values, calls }: Reading): Promise<Used> {
  const one = all[shapes.indexOf(shape)] ?? all[0]
  // The server plans the first five calls each anew. The others are measured, as in a process that runs for weeks.
  for (let call = 0; call < 20; call += 1) await one.client.query({ name, text, values: values() })
  return measured(one, calls, () => one.client.query({ name, text, values: values() }))
}

/** The mean of so many calls, as the server counts them. */
async function measured({ client }: Shaped, calls: number, act: () => Promise<unknown>): Promise<Used> {
  await client.query('SELECT public.pg_stat_statements_reset()')
  for (let call = 0; call < calls; call += 1) await act()
  const { rows } = await client.query<Record<keyof Used, string>>(
    `SELECT sum(total_plan_time + total_exec_time) AS ms, sum(shared_blks_hit + shared_blks_read) AS pages,
       sum(shared_blks_read) AS missed, sum(wal_bytes) AS "walBytes"
     FROM public.pg_stat_statements WHERE query NOT LIKE '%pg_stat_statements%'`,
  )
  const each = (part: keyof Used) => Number(rows[0]?.[part]) / calls
  return { ms: each('ms'), pages: each('pages'), missed: each('missed'), walBytes: each('walBytes') }
}

/** Both shapes in turn; the median of each part. */
async function inTurn(rounds: number, act: (shape: Shape) => Promise<Used>): Promise<Record<Shape, Used>> {
  const found: Record<Shape, Used[]> = { whole: [], daily: [] }
  for (let round = 0; round < rounds; round += 1)
    for (const shape of round % 2 === 0 ? shapes : shapes.toReversed()) found[shape].push(await act(shape))
  const middle = (all: readonly Used[], part: keyof Used) => median(all.map((used) => used[part]))
  const used = (all: readonly Used[]): Used => ({
    ms: middle(all, 'ms'),
    pages: middle(all, 'pages'),
    missed: middle(all, 'missed'),
    walBytes: middle(all, 'walBytes'),
  })
  return { whole: used(found.whole), daily: used(found.daily) }
}

/** The keys of the second shape are inserted by the same statement. */
async function insertRow(world: World): Promise<string[]> {
  const { all, rounds, say } = world
  say('inserts')
  const values = valuesOf({
    id: newId(world),
    owner: `'owner ' || n % ${owners}`,
    state: "'queued'",
    idempotency_key: 'CASE WHEN n % 10 = 0 THEN gen_random_uuid()::text END',
  })
  const insert = `${intoTasks} SELECT ${values} FROM generate_series(1, 64) AS n`
  const text = {
    whole: insert,
    daily: `WITH made AS (${insert} RETURNING owner, idempotency_key, id)
      INSERT INTO keys SELECT * FROM made WHERE idempotency_key IS NOT NULL`,
  }
  const used = await inTurn(rounds, (shape) => {
    const one = all[shapes.indexOf(shape)] ?? all[0]
    return measured(one, 200, () => one.client.query({ name: 'insert', text: text[shape] }))
  })
  const cell = ({ ms, walBytes }: Used) =>
    `${ms.toFixed(1)} ms, ${(walBytes / 64 / 1024).toFixed(1)} KB of log for each`
  return ['64 submits in one statement, a tenth with a key', cell(used.whole), cell(used.daily)]
}

interface Took {
  seconds: number
  walBytes: number
}

/** The log of the whole server: nothing else runs. */
async function took(one: Shaped, act: () => Promise<unknown>): Promise<Took> {
  const position = () => number(one, "pg_current_wal_lsn() - '0/0'::pg_lsn")
  await one.client.query('CHECKPOINT')
  const [walBefore, begun] = [await position(), performance.now()]
  await act()
  return { seconds: (performance.now() - begun) / 1000, walBytes: (await position()) - walBefore }
}

/** Tasks of the newest day end, and vacuum follows, as it does all day. */
async function vacuumRow({ all, days, say }: World): Promise<string[]> {
  say('vacuum')
  const cells: string[] = []
  for (const one of all) {
    await one.client.query(
      `UPDATE tasks SET state = 'completed', due_at = due_at + 1 WHERE id >= '${beginOf(days - 1)}'`,
    )
    const table = one.shape === 'whole' ? 'tasks' : partitionOf(days - 1)
    cells.push(toTook(await took(one, () => one.client.query(`VACUUM (INDEX_CLEANUP ON) ${table}`))))
  }
  return ['vacuum after each task of the newest day changed', ...cells]
}

const step = 1_000

/** The rows of the oldest day: deleted in steps and vacuumed, or dropped. Both without files of videos. */
async function removeRow({ all, say }: World): Promise<string[]> {
  say('removal of a day')
  const [whole, daily] = all
  const text = `DELETE FROM tasks WHERE id IN (SELECT id FROM tasks WHERE id < '${beginOf(1)}' ORDER BY id LIMIT ${step})`
  const deleted = await took(whole, async () => {
    while (((await whole.client.query({ name: 'delete', text })).rowCount ?? 0) > 0);
    await whole.client.query('VACUUM tasks')
  })
  const dropped = await took(daily, () => daily.client.query(`DROP TABLE ${partitionOf(0)}`))
  return ['removal of the oldest day', toTook(deleted), toTook(dropped)]
}

/** The table of today becomes the first partition: no row moves. */
async function attachRow({ all: [whole], days, say }: World): Promise<string[]> {
  say('the old table as a partition')
  const bound = beginOf(days)
  await whole.client.query(
    `CREATE TABLE later (LIKE tasks INCLUDING DEFAULTS) PARTITION BY RANGE (id);
     ALTER TABLE tasks ADD CONSTRAINT before CHECK (id < '${bound}') NOT VALID`,
  )
  await makeIndexes(whole, 'later', (await indexesOf(whole, 'tasks')).filter(isPossible))
  const checked = await took(whole, () => whole.client.query('ALTER TABLE tasks VALIDATE CONSTRAINT before'))
  const attach = `ALTER TABLE later ATTACH PARTITION tasks FOR VALUES FROM (MINVALUE) TO ('${bound}')`
  const attached = await took(whole, () => whole.client.query(attach))
  const cell = `${(attached.seconds * 1000).toFixed(0)} ms under a lock, after a check of ${checked.seconds.toFixed(1)} s without one`
  return ['the old table becomes the first partition', '', cell]
}

function toRead({ ms, pages, missed }: Used): string {
  const fromDisk = missed < 0.05 ? '' : `, ${missed.toFixed(1)} from disk`
  return `${ms.toFixed(ms < 1 ? 3 : 1)} ms, ${Math.round(pages)} pages${fromDisk}`
}

function toTook({ seconds, walBytes }: Took): string {
  return `${seconds < 1 ? `${(seconds * 1000).toFixed(0)} ms` : `${seconds.toFixed(1)} s`}, ${mb(walBytes)} of log`
}

function mb(bytes: number): string {
  return `${bytes < 10e6 ? (bytes / 1e6).toFixed(1) : Math.round(bytes / 1e6)} MB`
}
