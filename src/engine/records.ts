import { type AttemptFact, operationKey } from '../core/attempt.ts'
import { openOutage } from '../core/outage.ts'
import type { DecisionRecord } from '../core/plan.ts'
import { Problem } from '../core/problem.ts'
import type { Json, Task } from '../core/task.ts'
import { taskFields } from '../core/trace.ts'
import type { Removal } from '../stores/store.ts'
import type { Worker } from '../workers/worker.ts'
import { type EngineOptions, idleMs } from './options.ts'
import type { Outcomes } from './outcome.ts'

/** The run that made a decision. */
interface Decider {
  readonly task: Task
  readonly worker: Pick<Worker, 'name'>
  readonly abort: AbortController
}

/** A response of a provider while it is recorded: several entries may be tried before one of them is written. */
interface SpillState {
  /** The response is on disk, in the spill. */
  spilt: boolean
}

/**
 * Writes decisions. A decision that the store can't accept now is tried again: it may be the only trace of work that was
 * paid for. Between the tries this process claims nothing, so that it does not claim the same task. If the lease is lost
 * all the same, the decision is void, and only its fact is written.
 */
export interface Records {
  /** Returns the entry that was written: another one, if the store would never accept the given one. */
  record(by: Decider, entry: DecisionRecord): Promise<DecisionRecord | undefined>
  /** Returns whether the task was removed by this. */
  remove(by: Decider, removal: Removal): Promise<boolean>
  /** A decision waits for its next try. */
  readonly stuck: boolean
}

export function openRecords({ store, clock, log, spill }: EngineOptions, outcomes: Outcomes): Records {
  let waiting = 0
  const lines = { down: 'a decision could not be recorded', up: 'decisions are recorded again' }
  const outage = openOutage({ log, clock, ...lines })

  /** Tries until the store accepts the write. Returns undefined if the process ends before that. */
  async function retryUntilWritten(
    { task, abort }: Decider,
    write: () => Promise<boolean>,
  ): Promise<boolean | undefined> {
    for (;;) {
      try {
        const isWritten = await write()
        outage.worked()
        return isWritten
      } catch (error) {
        const isAway = Problem.from(error).code === 'storage_unavailable'
        if (isAway) outage.failed({ ...taskFields(task), error })
        else log.error(lines.down, { ...taskFields(task), error })
        if (abort.signal.aborted) return undefined
        if (!isAway) throw error
      }
      waiting += 1
      await clock.sleep(idleMs, abort.signal)
      waiting -= 1
    }
  }

  function keep(task: Task, fact: AttemptFact, state: SpillState): void {
    // What a lookup found can be found again, and must not replace a response that was spilled before.
    if (state.spilt || fact.adopted) return
    state.spilt = true
    try {
      spill.keep(fact)
    } catch (error) {
      // The disk of the spill may be full, too: then this line is the only trace outside of memory.
      const { id: attempt, operation } = fact
      log.error('a response could not be spilled to disk', { ...taskFields(task), attempt, operation, error })
    }
  }

  async function write(by: Decider, entry: DecisionRecord, state: SpillState): Promise<DecisionRecord | undefined> {
    const { fact } = entry
    const held = await retryUntilWritten(by, async () => {
      try {
        const record = () => store.record(entry)
        return await (fact ? recordFact({ store, clock, log }, by.task.account ?? '', fact, record) : record())
      } catch (error) {
        if (fact?.operation && Problem.from(error).code === 'storage_unavailable') keep(by.task, fact, state)
        throw error
      }
    })
    if (!fact || held === undefined) return held ? entry : undefined
    const forgotten = held || !fact.operation ? false : await retryUntilWritten(by, () => isForgotten(fact))
    if (forgotten) {
      // A fail-over may have lost the last commits: the operator has to check, and needs the operation for that.
      keep(by.task, fact, state)
      const { id: attempt, operation } = fact
      log.error('a response has no matching attempt', { ...taskFields(entry.task), attempt, operation })
    } else if (state.spilt && forgotten === false) spill.drop(fact.id)
    return held ? entry : undefined
  }

  /** An attempt is committed before it is sent, and stays until its outcome is known: a store without it has lost it. */
  async function isForgotten(fact: AttemptFact): Promise<boolean> {
    return (await store.attempt(fact.id)) === undefined
  }

  /**
   * The provider returned one operation for two attempts, and it is unknown which of them owns it. This task is held until
   * the operator decides, or its time is over.
   */
  function dispute(by: Decider, fact: AttemptFact, state: SpillState): Promise<DecisionRecord | undefined> {
    const { id: attempt, operation } = fact
    const { account } = by.task
    log.error('two attempts claim one operation', { ...taskFields(by.task), attempt, account, operation })
    return write(by, outcomes.disputed(by.task, fact), state)
  }

  return {
    get stuck() {
      return waiting > 0
    },
    async record(by, entry) {
      const state: SpillState = { spilt: false }
      try {
        return await write(by, entry, state)
      } catch (error) {
        if (Problem.from(error).code === 'operation_taken' && entry.fact) return dispute(by, entry.fact, state)
        const failing = await outcomes.failing(entry, by.task, by.worker, error)
        const giveUp = (cause: unknown) => write(by, outcomes.givingUp(failing, cause), state)
        return write(by, failing, state).catch(giveUp)
      }
    },
    async remove(by, removal) {
      return (await retryUntilWritten(by, () => store.remove(by.task, removal))) ?? false
    },
  }
}

type RecordTools = Pick<EngineOptions, 'store' | 'clock' | 'log'>

/**
 * Writes a fact that may contradict an adoption. An operation that a provider returned for a submit beats an adopted one:
 * the attempt that adopted it loses it. May be repeated as a whole after any failure. Throws `operation_taken` if the
 * provider returned it for both attempts. `write` returns whether a decision was written with the fact.
 */
export async function recordFact(
  { store, clock, log }: RecordTools,
  account: string,
  fact: AttemptFact,
  write: () => Promise<boolean>,
): Promise<boolean> {
  const { id: attempt, operation, adopted } = fact
  if (operation === null) return write()
  if (adopted) return recordFound({ store, log }, fact, write)
  const disown = async (owner: string, wrong: Json) => {
    const loser = await store.disown(owner, wrong, clock.now())
    const about = { attempt, account: owner, operation, loser, adopted: wrong }
    if (loser !== undefined) log.error('a wrong operation was adopted', about)
    return loser !== undefined
  }
  // Whether the operation was taken, although no attempt had adopted it: then the provider returned it for another one, too.
  let isReturnedTwice = false
  // The operation that another response named for this attempt, before the last write.
  let first: Json = null
  for (let tries = 0; tries < mostWrites; tries += 1) {
    let held: boolean
    try {
      held = await write()
    } catch (error) {
      if (Problem.from(error).code !== 'operation_taken') throw error
      const isReturned = !(await disown(account, operation))
      if (isReturned && isReturnedTwice) throw error
      isReturnedTwice = isReturned
      continue
    }
    if (held) return held
    // The response came late: this attempt may have adopted another operation meanwhile, and again after it lost that.
    const known = await store.attempt(attempt)
    if (!known || operationKey(known.operation) === operationKey(operation)) return held
    if (known.adopted) await disown(known.account, known.operation)
    // Only a write that finds another named operation keeps this one, as an orphan.
    else if (known.operation !== null && operationKey(known.operation) === operationKey(first)) {
      log.error('a response named a second operation', { attempt, account: known.account, operation, first })
      return held
    } else first = known.operation
  }
  const message = `The response to attempt '${attempt}' is not recorded yet: lookups adopt operations meanwhile.`
  throw new Problem('storage_unavailable', message, { retryable: true })
}

/** How often a response is written again because lookups adopt its operation, or another one for its attempt. */
const mostWrites = 5

/** Writes what a lookup found. It never replaces an operation. */
async function recordFound(
  { store, log }: Pick<RecordTools, 'store' | 'log'>,
  { id: attempt, operation }: AttemptFact,
  write: () => Promise<boolean>,
): Promise<boolean> {
  const held = await write()
  const known = held ? undefined : await store.attempt(attempt)
  if (known && known.operation !== null && operationKey(known.operation) !== operationKey(operation)) {
    const about = { attempt, account: known.account, operation, first: known.operation }
    log.error('a lookup found a second operation', about)
  }
  return held
}
