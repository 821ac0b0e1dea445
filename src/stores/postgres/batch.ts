import { isConflict, isUnavailable } from './failures.ts'

/** The result of one item. */
export type ItemResult<Result> = { value: Result } | { error: unknown }

interface Waiting<Item, Result> {
  item: Item
  resolve: (value: Result) => void
  reject: (error: unknown) => void
}

/**
 * Items of one turn of the event loop go to the database in one batch, or in two halves if there are enough. At most
 * two batches are in flight; later items wait for the next one. `weigh` returns about how many bytes an item has: long
 * items must not make a statement that times out.
 */
export function openBatches<Item, Result>(
  run: (items: readonly Item[]) => Promise<readonly ItemResult<Result>[]>,
  weigh: (item: Item) => number = () => 0,
): (item: Item) => Promise<Result> {
  const waiting: Waiting<Item, Result>[] = []
  const inFlight = new Set<readonly unknown[]>()
  let isPlanned = false

  const next = () => {
    const [other] = inFlight
    if (inFlight.size === 2 || waiting.length < Math.min(fullItems, other?.length ?? 0)) return []
    let weight = 0
    const end = waiting.findIndex(({ item }, at) => {
      weight += weigh(item)
      return at === mostItems || (at > 0 && weight > mostBytes)
    })
    const most = end < 0 ? waiting.length : end
    return waiting.splice(0, !other && most >= 2 * fullItems ? Math.ceil(most / 2) : most)
  }
  const send = async (batch: readonly Waiting<Item, Result>[]) => {
    inFlight.add(batch)
    const outcomes = await run(batch.map(({ item }) => item)).catch((error) => batch.map(() => ({ error })))
    inFlight.delete(batch)
    // Items that wait for an unavailable database fail now: each further try would take as long again.
    const error = failureOfAll(outcomes)
    if (error !== undefined) for (const { reject } of waiting.splice(0)) reject(error)
    batch.forEach(({ resolve, reject }, at) => {
      const outcome = outcomes[at] ?? { error: new Error('the batch has no result for this item') }
      if ('value' in outcome) resolve(outcome.value)
      else reject(outcome.error)
    })
    plan()
  }
  const flush = () => {
    isPlanned = false
    for (let batch = next(); batch.length > 0; batch = next()) void send(batch)
  }
  const plan = () => {
    if (isPlanned || waiting.length === 0) return
    isPlanned = true
    setImmediate(flush)
  }
  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      plan()
    })
}

/** The error of an unavailable database. One or two locked rows say nothing about others. */
function failureOfAll(outcomes: readonly ItemResult<unknown>[]): unknown {
  const errors = outcomes.flatMap((outcome) =>
    'error' in outcome && isUnavailable(outcome.error) ? outcome.error : [],
  )
  if (errors.length < outcomes.length || (errors.length <= mostLocked && errors.some(isConflict))) return undefined
  return errors[0]
}

let rotation = 0

/**
 * Runs the items of a batch that failed one after the other, so that those that can succeed do. What is locked costs each
 * item with the same key a long wait, so they fail with the first of them; after a few such keys all others fail, too. Each
 * batch begins at another place: those that fail come again together.
 */
export async function runEach<Item, Result>(
  items: readonly Item[],
  keyOf: (item: Item) => string,
  run: (item: Item) => Promise<ItemResult<Result>>,
): Promise<ItemResult<Result>[]> {
  const failed = new Map<string, { error: unknown }>()
  const start = rotation++ % items.length
  const results = new Map<Item, ItemResult<Result>>()
  for (const item of [...items.slice(start), ...items.slice(0, start)]) {
    const known = failed.get(keyOf(item)) ?? (failed.size === mostLocked ? [...failed.values()][0] : undefined)
    const result = known ?? (await run(item))
    if (!known && 'error' in result && isUnavailable(result.error)) failed.set(keyOf(item), result)
    results.set(item, result)
  }
  return items.map((item) => results.get(item) ?? { error: new Error('the item was not run') })
}

/** Then, with the wait of the batch itself, an error response still comes within 2 s. */
const mostLocked = 3

/**
 * With 16 clients that read, one batch of 16 is faster than two of 8, because each batch has a cost of its own. With
 * 64, two of 32 are faster than one, because the database works on one while we read the other.
 */
const fullItems = 16
const mostItems = 500
const mostBytes = 1_000_000
