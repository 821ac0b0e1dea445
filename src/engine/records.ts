import type { AttemptFact } from '../core/attempt.ts'
import type { Entry } from '../core/plan.ts'
import { Problem } from '../core/problem.ts'
import type { Task } from '../core/task.ts'
import type { Worker } from '../workers/worker.ts'
import { recordAnswer } from './answers.ts'
import { type EngineOptions, idleMs } from './options.ts'
import type { Outcomes } from './outcome.ts'

/** Whose decision it is. */
interface Decider {
  readonly task: Task
  readonly worker: Pick<Worker, 'name'>
  readonly abort: AbortController
}

/** What becomes of an answer, whichever of the entries that carry it, or what was made of it, is written in the end. */
interface Answer {
  /** It is on disk. */
  spilt: boolean
}

/**
 * Writes decisions. One that the store can't take now is held on to: it may be the only trace of work that was paid for.
 * Between its tries nothing may be claimed here, so that this process hardly ever claims its task from under it. Should
 * it do so in a try, or another process at any time, the decision is void, and what was learnt is written all the same.
 */
export interface Records {
  /** The entry that was written, which may be another where the store would never take the one given. */
  record(by: Decider, entry: Entry): Promise<Entry | undefined>
  remove(by: Decider, options: { orphans?: boolean }): Promise<void>
  /** Something waits for its next try to be written. */
  readonly stuck: boolean
}

export function openRecords({ store, clock, log, spill }: EngineOptions, outcomes: Outcomes): Records {
  let waiting = 0

  /** Undefined if the process ends before the store comes back. */
  async function insist({ task, abort }: Decider, write: () => Promise<boolean>): Promise<boolean | undefined> {
    for (;;) {
      try {
        return await write()
      } catch (error) {
        log.error('a decision could not be recorded', { task: task.id, error })
        if (abort.signal.aborted) return undefined
        if (Problem.from(error).code !== 'storage_unavailable') throw error
      }
      waiting += 1
      await clock.sleep(idleMs, abort.signal)
      waiting -= 1
    }
  }

  function keep(fact: AttemptFact, answer: Answer): void {
    if (answer.spilt) return
    answer.spilt = true
    try {
      spill.keep(fact)
    } catch (error) {
      // Its disk may be the one that is full: then this line is the only trace beside our memory.
      log.error('an answer could not be kept', { attempt: fact.id, operation: fact.operation, error })
    }
  }

  async function write(by: Decider, entry: Entry, answer: Answer): Promise<Entry | undefined> {
    const { fact } = entry
    const held = await insist(by, async () => {
      try {
        const record = () => store.record(entry)
        return await (fact ? recordAnswer({ store, clock, log }, by.task.account ?? '', fact, record) : record())
      } catch (error) {
        if (fact?.operation && Problem.from(error).code === 'storage_unavailable') keep(fact, answer)
        throw error
      }
    })
    if (!fact || held === undefined) return held ? entry : undefined
    const forgotten = held || !fact.operation ? false : await insist(by, () => isForgotten(fact))
    if (forgotten) {
      // As after a fail-over that lost the last moments: an operator has to look, and needs to know what it was.
      keep(fact, answer)
      log.error('an answer belongs to no attempt', { task: entry.task.id, attempt: fact.id, operation: fact.operation })
    } else if (answer.spilt && forgotten === false) spill.drop(fact.id)
    return held ? entry : undefined
  }

  /** The attempt was committed before it was sent, and stays while its outcome is unknown: a store without it lost it. */
  async function isForgotten(fact: AttemptFact): Promise<boolean> {
    return (await store.attempt(fact.id)) === undefined
  }

  /**
   * Two attempts were answered with one operation. It can't be told whose it is: this task is held until the operator
   * decides, or its time is over.
   */
  function dispute(by: Decider, fact: AttemptFact, answer: Answer): Promise<Entry | undefined> {
    const { id: attempt, operation } = fact
    log.error('two attempts claim one operation', { task: by.task.id, attempt, account: by.task.account, operation })
    return write(by, outcomes.disputed(by.task, fact), answer)
  }

  return {
    get stuck() {
      return waiting > 0
    },
    async record(by, entry) {
      const answer: Answer = { spilt: false }
      try {
        return await write(by, entry, answer)
      } catch (error) {
        if (Problem.from(error).code === 'operation_taken' && entry.fact) return dispute(by, entry.fact, answer)
        const failing = await outcomes.failing(entry, by.task, by.worker, error)
        const giveUp = (cause: unknown) => write(by, outcomes.givingUp(failing, cause), answer)
        return write(by, failing, answer).catch(giveUp)
      }
    },
    async remove(by, options) {
      await insist(by, () => store.remove(by.task, options))
    },
  }
}
