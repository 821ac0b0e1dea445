import pg from 'pg'
import { manyTasks } from '../postgres-rows.ts'

/** The same rows twice, each in a schema of its own: `whole` has one table of tasks, `daily` a partition for each day. */
export const shapes = ['whole', 'daily'] as const
export type Shape = (typeof shapes)[number]

export interface Shaped {
  shape: Shape
  /** Finds `tasks` in its schema. */
  client: pg.Client
}

export interface Sizes {
  rows: number
  days: number
}

const dayMs = 86_400_000
const firstMs = 1_790_000_000_000 - (1_790_000_000_000 % dayMs)
export const owners = 1_000
/** How many of the newest tasks wait or run: the others are finished. */
const liveOf = ({ rows, days }: Sizes) => Math.floor(rows / days / 10)

/** The time at the beginning of an id is its day. */
const idAt = (ms: string) => `'video_' || lpad(to_hex((${ms})::bigint), 12, '0')`
export const beginOf = (day: number) => `video_${(firstMs + day * dayMs).toString(16).padStart(12, '0')}`
/** When task `n` was created: tasks are spread evenly over the days. */
const createdAt = ({ rows, days }: Sizes, n: string) => `${firstMs} + (${n} - 1)::bigint * ${days * dayMs} / ${rows}`
const digitsOf = (n: string) => `md5(${n}::text) || '0000'`
export const idOf = (sizes: Sizes, n: string) => `${idAt(createdAt(sizes, n))} || ${digitsOf(n)}`
/** Where new tasks are inserted: at the end of the last day. */
export const newId = ({ days }: Sizes) =>
  `${idAt(`${firstMs + days * dayMs - 1}`)} || replace(gen_random_uuid()::text, '-', '') || '0000'`

export async function openShape(url: string, shape: Shape): Promise<Shaped> {
  const client = new pg.Client({ connectionString: url, options: `-c search_path=${shape}` })
  await client.connect()
  return { shape, client }
}

/** `public` has the tables of the store. Rows first, and indexes after them, which takes less time. */
export async function fillShapes([whole, daily]: readonly [Shaped, Shaped], sizes: Sizes): Promise<void> {
  const indexes = await indexesOf(whole, 'public.tasks')
  await whole.client.query('CREATE SCHEMA whole; CREATE TABLE whole.tasks (LIKE public.tasks INCLUDING DEFAULTS)')
  await whole.client.query(manyTasks(sizes.rows, valuesOf(sizes)))
  await makeIndexes(whole, 'tasks', indexes)
  await daily.client.query(
    'CREATE SCHEMA daily; CREATE TABLE daily.tasks (LIKE public.tasks INCLUDING DEFAULTS) PARTITION BY RANGE (id)',
  )
  for (let day = 0; day < sizes.days; day += 1) await daily.client.query(partition(day))
  await daily.client.query('INSERT INTO tasks SELECT * FROM whole.tasks')
  await makeIndexes(daily, 'tasks', indexes.filter(isPossible))
  await daily.client.query(
    `CREATE TABLE keys (owner text COLLATE "C", idempotency_key text COLLATE "C", task text COLLATE "C" NOT NULL,
       PRIMARY KEY (owner, idempotency_key));
     INSERT INTO keys SELECT owner, idempotency_key, id FROM tasks WHERE idempotency_key IS NOT NULL;
     CREATE TABLE schedule AS SELECT id, card, owner, due_at FROM tasks WHERE state = 'queued';
     CREATE INDEX ON schedule (card, owner, due_at)`,
  )
  for (const { client } of [whole, daily]) await client.query('VACUUM ANALYZE tasks')
  await daily.client.query('VACUUM ANALYZE schedule')
}

export const partitionOf = (day: number) => `tasks_${day}`

function partition(day: number): string {
  const [from, to] = [beginOf(day), beginOf(day + 1)]
  return `CREATE TABLE ${partitionOf(day)} PARTITION OF tasks FOR VALUES FROM ('${from}') TO ('${to}')`
}

function valuesOf(sizes: Sizes): Record<string, string> {
  const quiet = [0.1, 0.5, 0.9].map((share) => Math.ceil(sizes.rows * share))
  return {
    id: idOf(sizes, 'n'),
    // Those that wait or run belong to few owners, so that a queue is long enough for a claim.
    owner: `CASE WHEN n IN (${quiet}) THEN 'quiet'
      WHEN n > ${sizes.rows - liveOf(sizes)} THEN 'owner ' || n % 4 ELSE 'owner ' || n % ${owners} END`,
    created_at: createdAt(sizes, 'n'),
    state: `CASE WHEN n <= ${sizes.rows - liveOf(sizes)} THEN 'completed' WHEN n % 2 = 0 THEN 'queued' ELSE 'running' END`,
    account: "'account ' || n % 4",
    due_at: createdAt(sizes, 'n'),
    idempotency_key: "CASE WHEN n % 10 = 0 THEN 'key ' || n END",
  }
}

/** A unique index of a partitioned table must contain the partition key. So keys have a table of their own. */
export const isPossible = (index: string) => !/UNIQUE INDEX .*idempotency_key/.test(index)

export async function indexesOf({ client }: Shaped, table: string): Promise<string[]> {
  const { rows } = await client.query<{ indexdef: string }>(
    'SELECT pg_get_indexdef(indexrelid) AS indexdef FROM pg_index WHERE indrelid = $1::regclass ORDER BY indexrelid',
    [table],
  )
  return rows.map(({ indexdef }) => indexdef)
}

export async function makeIndexes({ client }: Shaped, table: string, indexes: readonly string[]): Promise<void> {
  for (const index of indexes)
    await client.query(
      index.includes('tasks_pkey')
        ? `ALTER TABLE ${table} ADD PRIMARY KEY (id)`
        : index.replace(/INDEX \w+ ON (ONLY )?(\w+\.)?tasks /, `INDEX ON ${table} `),
    )
}
