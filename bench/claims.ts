import pg from 'pg'
import { watchLocks } from './lock-watch.ts'
import { type Line, median, middle } from './measure.ts'
import { type ClaimCards, type StoreResult, storeLoad } from './postgres-load.ts'
import { asQueued, manyTasks } from './postgres-rows.ts'

interface ClaimBench {
  url: string
  rounds: number
  seconds: number
  /** How many wait in the queue. */
  tasks: number
}

/**
 * How long a claim takes: `emptyMs` if it finds no task, `baseMs` if tasks wait in all `queues`; plus `taskMs` for each
 * claimed task, and `slotMs` for each slot in use.
 */
export interface ClaimCosts {
  emptyMs: number
  baseMs: number
  queues: number
  taskMs: number
  slotMs: number
}

const [owners, cards] = [50, 3]
const limit = 64
/** As many as three accounts run at 50 million tasks a day, if the provider needs a minute for each. */
const manySlots = 30_000

const cardOf = (at: number) => `card-${at}`
const claimCards: ClaimCards = Array.from({ length: cards }, (_, at) => ({ card: cardOf(at), account: cardOf(at) }))

/** Tasks of many owners on several models, in the order of their creation. */
export function fillQueue(tasks: number): string {
  return manyTasks(tasks, {
    ...asQueued,
    id: "'video_f' || lpad(to_hex(n), 47, '0')",
    owner: `'owner ' || n % ${owners}`,
    card: `'card-' || n % ${cards}`,
    due_at: 'n',
  })
}

export async function benchClaims(bench: ClaimBench): Promise<{ lines: Line[]; costs: ClaimCosts }> {
  const client = new pg.Client({ connectionString: bench.url })
  await client.connect()
  try {
    await refuseIfBlocked(client, bench.tasks)
    await client.query(manyTasks(cards, { ...asQueued, id: "'video_d' || n", card: "'no card-' || n - 1" }))
    await client.query("UPDATE tasks SET leased = true WHERE card LIKE 'no card-%'")
    const all: Rounds = { one: [], four: [], crowded: [], empty: [], single: [] }
    // In turn, so that a noisy minute affects all kinds.
    for (let round = 0; round < bench.rounds; round += 1)
      for (const kind of kinds) all[kind].push(await claim(bench, client, claimings[kind]))
    const { one, four, crowded, empty } = all
    const lines = [
      line('claim of 64, p99', one, `with ${bench.tasks} rows queued, of ${owners} owners on ${cards} models`, 50),
      line(
        'claim of 64, 4 at once, p99',
        four,
        `as above, four processes; ${waitingIn(four)} % of the time spent waiting`,
      ),
      line('claim of nothing, p99', empty, 'as above, for models whose tasks are all claimed'),
      line('claim of 64, p99, busy', crowded, `as above, one process, ${manySlots} running tasks`),
    ]
    return { lines, costs: costsOf(all) }
  } finally {
    await client.end()
  }
}

/** A row that can't be claimed would make the queue seem longer than it is. */
async function refuseIfBlocked(client: pg.Client, tasks: number): Promise<void> {
  const { rows } = await client.query<{ count: string }>(
    `SELECT count(*) FROM tasks WHERE state = 'queued' AND NOT leased AND deleted_at IS NULL AND card = ANY($1)
       AND due_at <= extract(epoch FROM now()) * 1000`,
    [claimCards.map(({ card }) => card)],
  )
  if (Number(rows[0]?.count) !== tasks) throw new Error(`${rows[0]?.count} of ${tasks} tasks can be claimed`)
}

interface Claiming {
  claimers: number
  /** For models whose tasks are all claimed. */
  empty?: boolean
  limit: number
  slots: number
}

interface Claimed {
  perSecond: number
  p99Ms: number
  /** Slots in use at half time: those before, and half of those that were claimed. */
  slots: number
  batch: number
  /** The share of the time in which a claimer waits for a lock of another. */
  waiting: number
}

const waitingIn = (results: readonly Claimed[]) => (100 * median(results.map(({ waiting }) => waiting))).toFixed(1)

const claimings = {
  one: { claimers: 1, limit, slots: 0 },
  four: { claimers: 4, limit, slots: 0 },
  crowded: { claimers: 1, limit, slots: manySlots },
  empty: { claimers: 1, limit, slots: 0, empty: true },
  single: { claimers: 1, limit: 1, slots: 0 },
} satisfies Record<string, Claiming>
const kinds = Object.keys(claimings) as (keyof typeof claimings)[]
type Rounds = Record<keyof typeof claimings, Claimed[]>

async function claim({ url, seconds, tasks }: ClaimBench, client: pg.Client, claiming: Claiming): Promise<Claimed> {
  const wanted = claiming.empty ? claimCards.map(({ account }) => ({ card: `no ${account}`, account })) : claimCards
  await client.query('TRUNCATE slots')
  await client.query(
    `INSERT INTO slots SELECT 'account:card-' || n % ${cards}, 'other ' || n FROM generate_series(1, $1::int) AS n`,
    [claiming.slots],
  )
  await client.query('VACUUM ANALYZE slots')
  const load = { url, kind: 'claim', clients: 1, seconds, tasks, limit: claiming.limit, cards: wanted } as const
  const watch = await watchLocks(url)
  const each = await Promise.all(Array.from({ length: claiming.claimers }, () => storeLoad(load)))
  const waiting = (await watch.end()) / claiming.claimers
  return { ...(await merge(client, each, claiming.slots)), waiting }
}

async function merge(
  client: pg.Client,
  each: readonly StoreResult[],
  before: number,
): Promise<Omit<Claimed, 'waiting'>> {
  const total = (read: (one: StoreResult) => number) => each.reduce((sum, one) => sum + read(one), 0)
  const { rows } = await client.query<{ count: string }>('SELECT count(*) FROM slots')
  const taken = Number(rows[0]?.count) - before
  const [claims, earlier] = [total(({ count }) => count), total(({ warmUps }) => warmUps)]
  const batch = taken / (claims + earlier)
  const p99Ms = Math.max(...each.map((result) => result.p99Ms))
  return {
    perSecond: total(({ perSecond }) => perSecond),
    p99Ms,
    slots: before + batch * (earlier + claims / 2),
    batch,
  }
}

function line(name: string, results: readonly Claimed[], detail: string, atMost?: number): Line {
  const rate = Math.round(median(results.map(({ perSecond, batch }) => perSecond * batch)))
  return {
    name,
    unit: ' ms',
    ...middle(results.map(({ p99Ms }) => p99Ms)),
    ...(atMost !== undefined && { must: { atMost } }),
    detail: rate > 0 ? `${detail}; ${rate} tasks a second` : detail,
  }
}

/** The rate of a single process that only claims tells how long a claim takes. */
function costsOf(all: Rounds): ClaimCosts {
  const middleOf = (results: readonly Claimed[], read: (one: Claimed) => number) => median(results.map(read))
  const holdOf = ({ perSecond }: Claimed) => 1000 / perSecond
  /** The median of the differences within each round. */
  const more = (over: readonly Claimed[], under: readonly Claimed[], read: (one: Claimed) => number) =>
    median(over.map((one, round) => read(one) - read(under[round] ?? one)))
  const slotMs = Math.max(0, more(all.crowded, all.one, holdOf) / more(all.crowded, all.one, ({ slots }) => slots))
  const bareOf = (one: Claimed) => holdOf(one) - slotMs * one.slots
  const taskMs = Math.max(0, more(all.one, all.single, bareOf) / (limit - 1))
  const baseMs = middleOf(all.one, bareOf) - limit * taskMs
  return {
    // A claim that finds nothing does less: a larger value is noise.
    emptyMs: Math.min(baseMs, middleOf(all.empty, bareOf)),
    baseMs,
    queues: owners * cards,
    taskMs,
    slotMs,
  }
}
