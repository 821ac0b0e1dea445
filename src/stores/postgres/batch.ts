import { Problem } from '../../core/problem.ts'

/** An answer for each item, in their order. */
export type Outcome<Result> = { value: Result } | { error: unknown }

interface Waiting<Item, Result> {
  item: Item
  resolve: (value: Result) => void
  reject: (error: unknown) => void
}

/**
 * What is asked within one turn of the loop goes to the database as one, or as two halves where there is enough for
 * both. Two batches are under way at most; what comes meanwhile makes the next. `weigh` says about how many bytes an item
 * has: long ones must not make a statement that outlasts everybody's patience.
 */
export function openBatches<Item, Result>(
  run: (items: readonly Item[]) => Promise<readonly Outcome<Result>[]>,
  weigh: (item: Item) => number = () => 0,
): (item: Item) => Promise<Result> {
  const waiting: Waiting<Item, Result>[] = []
  const underWay = new Set<readonly unknown[]>()
  let isPlanned = false

  const next = () => {
    const [other] = underWay
    if (underWay.size === 2 || waiting.length < Math.min(fullItems, other?.length ?? 0)) return []
    let weight = 0
    const end = waiting.findIndex(({ item }, at) => {
      weight += weigh(item)
      return at === mostItems || (at > 0 && weight > mostBytes)
    })
    const most = end < 0 ? waiting.length : end
    return waiting.splice(0, !other && most >= 2 * fullItems ? Math.ceil(most / 2) : most)
  }
  const send = async (batch: readonly Waiting<Item, Result>[]) => {
    underWay.add(batch)
    const outcomes = await run(batch.map(({ item }) => item)).catch((error) => batch.map(() => ({ error })))
    underWay.delete(batch)
    // Whoever waits behind a database that is away would wait as long again, and then longer and longer.
    const [first] = outcomes
    if (first && 'error' in first && Problem.from(first.error).code === 'storage_unavailable')
      for (const { reject } of waiting.splice(0)) reject(first.error)
    batch.forEach(({ resolve, reject }, at) => {
      const outcome = outcomes[at] ?? { error: new Error('the batch has no answer for it') }
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

/**
 * Of 16 clients that read, one batch of 16 serves more than two of 8, for what each batch costs by itself; of 64, two of
 * 32 serve more than one of 64, as one is read here while the other is made there.
 */
const fullItems = 16
const mostItems = 500
const mostBytes = 1_000_000
