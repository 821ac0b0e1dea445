import type { AttemptFact } from '../core/attempt.ts'
import { Problem } from '../core/problem.ts'
import type { Task } from '../core/task.ts'
import type { Entry } from '../stores/store.ts'
import type { Worker } from '../workers/worker.ts'
import { type EngineOptions, idleMs } from './options.ts'
import type { Outcomes } from './outcome.ts'

/** Whose decision it is. */
export interface Decider {
  readonly task: Task
  readonly worker: Pick<Worker, 'name'>
  readonly abort: AbortController
}

/**
 * Writes decisions. One that the store can't take now is held on to: it may be the only trace of work that was paid for.
 * Until it is taken nothing may be claimed, so that its task can't be claimed from under it.
 */
export interface Records {
  /** The entry that was written, which may be another where the store would never take the one given. */
  record(by: Decider, entry: Entry): Promise<Entry | undefined>
  remove(by: Decider, options: { orphans?: boolean }): Promise<void>
  /** Something waits to be written. */
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

  function keep(fact: AttemptFact): void {
    try {
      spill.keep(fact)
    } catch (error) {
      // Its disk may be the one that is full: then this line is the only trace beside our memory.
      log.error('an answer could not be kept', { attempt: fact.id, operation: fact.operation, error })
    }
  }

  async function write(by: Decider, entry: Entry): Promise<Entry | undefined> {
    const { fact } = entry
    let spilt = false
    const held = await insist(by, async () => {
      try {
        return await store.record(entry)
      } catch (error) {
        if (fact?.operation && !spilt && Problem.from(error).code === 'storage_unavailable') {
          spilt = true
          keep(fact)
        }
        throw error
      }
    })
    if (spilt && fact && held !== undefined) spill.drop(fact.id)
    return held ? entry : undefined
  }

  return {
    get stuck() {
      return waiting > 0
    },
    async record(by, entry) {
      try {
        return await write(by, entry)
      } catch (error) {
        const failing = await outcomes.failing(entry, by.task, by.worker, error)
        if (Problem.from(error).code === 'operation_taken') return write(by, outcomes.givingUp(failing, error))
        return write(by, failing).catch((cause) => write(by, outcomes.givingUp(failing, cause)))
      }
    },
    async remove(by, options) {
      await insist(by, () => store.remove(by.task, options))
    },
  }
}
